"""Passages for requests that bring none: from an HTTP search, or from an index in Milvus."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from novarag.calls import CallError
from novarag.gateway.http.requests import BadRequest, GivenPassage
from novarag.gateway.upstream import Unavailable
from novarag.retrieval.http import HttpRetriever
from novarag.web.sending import Patience

if TYPE_CHECKING:
    from novarag.gateway.settings import SearchSettings
    from novarag.ports import Retriever

_ATTEMPTS = 2


class PassageSearch:
    """A search of the settings file; `close` when it is no longer needed."""

    def __init__(self, name: str, settings: SearchSettings) -> None:
        self._name, self._k = name, settings.k
        self._stack = ExitStack()
        self._retriever = _open_retriever(settings, self._stack)

    async def find(self, question: str) -> list[GivenPassage]:
        """Return the passages that the search finds for a question; finding none is no failure."""
        try:
            (found,) = await self._retriever.search([question], k=self._k)
        except CallError as error:
            raise Unavailable(
                f"the search {self._name!r} gave no passages ({error.outcome})"
            ) from None
        if not found:
            raise BadRequest("the search found no passages for this question", status=422)
        return [GivenPassage(text=p.text, source=p.source) for p in found if p.text]

    def close(self) -> None:
        """Close an index that was opened."""
        self._stack.close()


def _open_retriever(settings: SearchSettings, stack: ExitStack) -> Retriever:
    if settings.url is not None:
        patience = Patience(timeout=settings.timeout, attempts=_ATTEMPTS)
        return HttpRetriever(settings.url, key_env=settings.key_env, batch=1, patience=patience)
    from novarag.retrieval.milvus import open_index
    from novarag.retrieval.searching import MilvusRetriever

    return MilvusRetriever(stack.enter_context(open_index(str(settings.index))))
