"""Finding passages: engines, encoders, and the user's own search."""

from __future__ import annotations

from novarag.retrieval.adapters import from_callable, from_langchain, from_llamaindex
from novarag.retrieval.http import HttpRetriever

__all__ = ["HttpRetriever", "from_callable", "from_langchain", "from_llamaindex"]
