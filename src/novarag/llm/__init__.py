"""Models, real and pretended."""

from __future__ import annotations

from novarag.llm.chat import ChatLLM
from novarag.llm.scripted import ScriptedLLM
from novarag.web.endpoint import Endpoint, parse_endpoint
from novarag.web.sending import Patience

__all__ = ["ChatLLM", "Endpoint", "Patience", "ScriptedLLM", "parse_endpoint"]
