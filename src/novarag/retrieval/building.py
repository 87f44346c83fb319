"""Filling an index: only what is missing is encoded and added, so a killed build goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from novarag.errors import StorageError, UsageError
from novarag.retrieval.manifest import differences
from novarag.retrieval.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from novarag.records import Passage
    from novarag.retrieval.encoding import Encoder
    from novarag.retrieval.milvus import MilvusIndex

BATCH = 1000  # documents that are encoded and written at a time
_Row = TypeVar("_Row")


@dataclass(slots=True)
class IndexProgress:
    """How far a build is: passages seen, and those of them that were added now."""

    seen: int = 0
    added: int = 0


async def fill(
    index: MilvusIndex,
    passages: Iterable[Passage],
    *,
    encoder: Encoder | None = None,
    batch: int = BATCH,
    on_event: Callable[[IndexProgress], None] | None = None,
) -> IndexProgress:
    """Add every passage that the index lacks, in batches that are whole or not there."""
    check_encoder(index, encoder)
    growth, before = IndexProgress(), await in_thread(index.count)
    for block in blocks(passages, batch):
        new = await in_thread(index.missing, block)
        vectors = None if encoder is None else await encoder.encode([p.text for p in new])
        await in_thread(index.add, new, vectors)
        growth.seen += len(block)
        growth.added += len(new)
        if on_event is not None:
            on_event(growth)
    await in_thread(index.settle)
    after = await in_thread(index.count)
    if after != before + growth.added:
        raise StorageError(
            f"{index.uri} holds {after:,} passages where {before + growth.added:,} were expected:"
            " did another process write to it? Make it anew, one writer at a time."
        )
    return growth


def check_encoder(index: MilvusIndex, encoder: Encoder | None) -> None:
    """Refuse an encoder that did not make the vectors of an index."""
    ours = None if encoder is None else encoder.identity
    theirs = index.manifest.encoder
    if ours == theirs:
        return
    if theirs is None:
        raise UsageError.saying("{} has no vectors: it was made without `encoder`", index.uri)
    if ours is None:
        raise UsageError.saying(
            "{} was made with the encoder {}: give `encoder`", index.uri, theirs.name
        )
    other = differences(index.manifest, replace(index.manifest, encoder=ours))
    raise UsageError(f"{index.uri} was made with another encoder ({'; '.join(other)})")


def blocks(rows: Iterable[_Row], size: int) -> Iterator[list[_Row]]:
    """Hand rows out so many at a time."""
    rest = iter(rows)
    while block := list(islice(rest, size)):
        yield block
