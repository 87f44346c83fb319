"""Index a corpus for search by words and, with an encoder, by vectors."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.flows.encoders import open_encoder
from novarag.flows.events import StepProgress, silent
from novarag.flows.sync import synchronous
from novarag.retrieval.manifest import IndexManifest
from novarag.retrieval.milvus import COLLECTION, create_index
from novarag.retrieval.threads import in_thread, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.flows.events import EventListener
    from novarag.records import Document
    from novarag.retrieval.encoding import Encoder

    Corpus = str | Path | Iterable[str | Path]

TOKEN_ENV = "MILVUS_TOKEN"  # noqa: S105 - the name of a variable
_ENCODED = 250  # passages encoded together: what a kill costs, and how often progress shows
_DEFAULT = IndexManifest()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBuild:
    """What a build put into an index: passages seen, added now, and held in all.

    `documents` were cut into the passages seen. `manifest` says what the index was made with;
    `seconds` is the time that adding took.
    """

    uri: str
    collection: str
    manifest: IndexManifest
    documents: int
    seen: int
    added: int
    held: int
    seconds: float

    def __str__(self) -> str:
        """Say how documents were cut, and what was added, in a line each."""
        speed = f" ({self.added / self.seconds:,.0f} a second)" if self.added else ""
        longest = self.manifest.words
        cut = (
            f"cut into {self.seen:,} passages of at most {longest} words"
            if longest
            else "kept whole"
        )
        return (
            f"{self.documents:,} documents, {cut}\n"
            f"{self.added:,} passages added{speed}, {self.seen - self.added:,} already there;"
            f" the index has {self.held:,}"
        )


async def build_index_async(
    corpus: Corpus,
    uri: str | Path,
    *,
    encoder: str | Encoder | None = None,
    words: int = _DEFAULT.words,
    analyzer: str = _DEFAULT.analyzer,
    k1: float = _DEFAULT.k1,
    b: float = _DEFAULT.b,
    vectors: str = _DEFAULT.vectors,
    collection: str = COLLECTION,
    limit: int | None = None,
    key_env: str | None = None,
    token_env: str = TOKEN_ENV,
    on_event: EventListener = silent,
) -> IndexBuild:
    """Index a corpus for BM25 and, with an encoder, for vectors; called again, it goes on.

    Args:
        corpus: Files or folders with documents: tables (JSONL, Parquet, CSV) with `text`, and
            `id` and `title` where there are any; or pages (.txt, .md, .html), a document each.
        uri: A file such as `index.db`, or `http://HOST:PORT` of a Milvus server.
        encoder: A folder, a model of the hub, `package:NAME/FOLDER`, `URL=NAME` of a server, or an
            `Encoder`.
        words: Most words of a passage; 0 keeps documents whole.
        analyzer: How words are found: "english" (stop words go, stems stay) or "plain".
        k1: BM25's weight of repetition.
        b: BM25's weight of length.
        vectors: "exact" compares every vector; "graph" (HNSW) needs a server.
        collection: The collection's name.
        limit: Take only so many documents.
        key_env: Environment variable that holds the key of the encoder's server.
        token_env: Environment variable that holds the token of the Milvus server.
        on_event: Hears `Note` and `StepProgress`.
    """
    from novarag.datasets.corpus import find_files, iter_documents
    from novarag.retrieval.building import BATCH, fill
    from novarag.retrieval.chunks import cut

    paths = _paths(corpus)
    for path in paths:
        find_files(path)  # before an index is made for a corpus that is not there
    found = (
        None if encoder is None else await open_encoder(encoder, key_env=key_env, on_event=on_event)
    )
    manifest = IndexManifest(
        analyzer=analyzer, k1=k1, b=b, words=words, vectors=vectors,
        encoder=None if found is None else found.identity,
    )  # fmt: skip
    token = os.environ.get(token_env)
    taken = _CountedDocuments(islice(iter_documents(paths), limit))
    opens = partial(create_index, str(uri), manifest, name=collection, token=token)
    async with opened(opens) as index:
        began = monotonic()
        growth = await fill(
            index, cut(taken, words=words), encoder=found,
            batch=BATCH if found is None else _ENCODED,
            on_event=lambda g: on_event(StepProgress("passages", g.seen, g.added)),
        )  # fmt: skip
        seconds = monotonic() - began
        held = await in_thread(index.count)
    if not growth.seen:
        raise UsageError(f"{', '.join(map(str, paths))} has no documents")
    return IndexBuild(
        uri=str(uri), collection=collection, manifest=manifest, documents=taken.count,
        seen=growth.seen, added=growth.added, held=held, seconds=seconds,
    )  # fmt: skip


build_index = synchronous(build_index_async)


class _CountedDocuments:
    """Documents, counted as they are taken."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents, self.count = documents, 0

    def __iter__(self) -> Iterator[Document]:
        for document in self._documents:
            self.count += 1
            yield document


def _paths(corpus: Corpus) -> list[Path]:
    given: list[object] = [corpus]
    if isinstance(corpus, Iterable) and not isinstance(corpus, str):
        given = list(corpus)
    paths = [Path(one) for one in given if isinstance(one, (str, Path))]
    if len(paths) < len(given):
        raise TypeError(
            "corpus must be the path of a file or folder, or several of them, not"
            f" {type(corpus).__name__}"
        )
    if not paths:
        raise UsageError.saying("name a file or folder with documents: `corpus` is empty")
    return paths
