"""Search in an index as a `Retriever`: by words, by vectors, or by both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.errors import UnknownNameError, UsageError
from novarag.retrieval.building import check_encoder
from novarag.retrieval.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.records import Passage
    from novarag.retrieval.encoding import Encoder
    from novarag.retrieval.milvus import MilvusIndex

MODES = ("bm25", "dense", "hybrid")


class MilvusRetriever:
    """An open index, searched in one of three ways."""

    def __init__(
        self, index: MilvusIndex, *, mode: str = "bm25", encoder: Encoder | None = None
    ) -> None:
        if mode not in MODES:
            raise UnknownNameError(mode, MODES)
        if mode != "bm25":
            check_encoder(index, encoder)
            if encoder is None:
                raise UsageError(f"{index.uri} has no vectors: search it by bm25")
        if not index.count():
            raise UsageError.saying("{} is empty: `build_index(CORPUS)` fills it", index.uri)
        self.index, self.mode, self.encoder = index, mode, encoder

    async def search(self, queries: Sequence[str], *, k: int) -> list[list[Passage]]:
        """Return at most `k` passages for each query, best first."""
        if k < 1:
            raise UsageError(f"cannot look for {k} passages")
        if not queries:
            return []
        if self.mode == "bm25" or self.encoder is None:
            return await in_thread(self.index.by_words, queries, k=k)
        vectors = await self.encoder.encode(queries, query=True)
        if self.mode == "dense":
            return await in_thread(self.index.by_vectors, vectors, k=k)
        return await in_thread(self.index.by_both, queries, vectors, k=k)
