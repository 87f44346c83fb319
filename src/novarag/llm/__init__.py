"""Models, real and pretended."""

from __future__ import annotations

from novarag.llm.scripted import ScriptedLLM

__all__ = ["ScriptedLLM"]
