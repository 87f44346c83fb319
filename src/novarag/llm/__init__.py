"""Models, real and pretended."""

from __future__ import annotations

from novarag.llm.chat import ChatLLM, Patience
from novarag.llm.endpoint import Endpoint, parse_endpoint
from novarag.llm.scripted import ScriptedLLM

__all__ = ["ChatLLM", "Endpoint", "Patience", "ScriptedLLM", "parse_endpoint"]
