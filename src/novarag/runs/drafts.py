"""What a finished run of noise brings in: every passage with its fate, a pool for each question.

`passages/` holds one row for each passage that was written, rejected ones with their reason.
`pool/` holds one row for each question, its gold passage and the passages that were kept, in the
layout of groups, so that `novarag group` can draw from it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.errors import UsageError
from novarag.records import PassageGroup
from novarag.rows import Columns, lay_out, parquet_bytes
from novarag.runs.drive import unfinished
from novarag.runs.finished import table_name
from novarag.runs.group_table import read_groups, write_groups
from novarag.runs.look import read_shard
from novarag.runs.sources import read_groups_file
from novarag.taxonomy import PassageKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.noise import Draft, Noising
    from novarag.runs.manifest import Manifest
    from novarag.runs.store import Store

PASSAGES: Columns = {
    "question": pl.String, "noise": pl.String, "kind": pl.String, "facet": pl.String,
    "sample": pl.Int32, "number": pl.Int32, "text": pl.String, "claim": pl.String,
    "probability": pl.Float64, "words": pl.Int32, "kept": pl.Boolean, "reason": pl.String,
}  # fmt: skip
"""One row for each passage that a model wrote."""

KEPT, SPARE = "kept", "spare"
Tally = Counter[tuple[str, str]]


def sort_drafts(store: Store, manifest: Manifest, noising: Noising) -> Tally:
    """Write `passages/` and `pool/`, shard by shard; count each noise's passages by their fate.

    The same run gives the same bytes, so what was cut off is simply done again.
    """
    missing = unfinished(store, manifest)
    if missing:
        raise UsageError(f"{store.place} is not finished: run the same `novarag noise` to go on")
    tally: Tally = Counter()
    for shard in range(len(manifest.parts)):
        groups = read_groups(read_groups_file(store, manifest, shard))
        replies = _replies(store, shard)
        drafts = [d for g in groups for d in noising.drafts(g, replies.get(str(g.id), []))]
        tally.update((draft.noise, _fate(draft)) for draft in drafts)
        _put(
            store,
            table_name("passages", shard),
            parquet_bytes(lay_out(map(_row, drafts), PASSAGES)),
        )
        pools = [(pool.question.id, pool) for pool in _pools(groups, drafts)]
        _put(store, table_name("pool", shard), write_groups(pools))
    return tally


def iter_pools(store: Store, manifest: Manifest) -> Iterator[PassageGroup]:
    """Yield each question with its pool of passages."""
    for shard in range(len(manifest.parts)):
        content = store.read(table_name("pool", shard))
        if content is None:
            raise UsageError(f"{store.place} has no pools yet: run the same `novarag noise` again")
        yield from read_groups(content)


def _put(store: Store, name: str, content: bytes) -> None:
    if store.read(name) != content:
        store.write(name, content)


def _replies(store: Store, shard: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, reply in read_shard(store, "trials", shard, ["group", "reply"]).rows():
        found.setdefault(name, []).append(reply)
    return found


def _pools(groups: list[PassageGroup], drafts: list[Draft]) -> Iterator[PassageGroup]:
    kept: dict[str, list[Draft]] = {}
    for draft in drafts:
        if draft.reason is None:
            kept.setdefault(draft.question, []).append(draft)
    seen: set[str] = set()
    for group in groups:
        question = group.question
        if question.id not in seen:
            seen.add(question.id)
            gold = tuple(p for p in group.passages if p.kind is PassageKind.GOLD)
            written = tuple(draft.passage for draft in kept.get(question.id, []))
            yield PassageGroup(question=question, passages=gold + written, id=question.id)


def _fate(draft: Draft) -> str:
    return SPARE if draft.spare else draft.reason or KEPT


def _row(draft: Draft) -> tuple[Any, ...]:
    p = draft.passage
    return (
        draft.question, draft.noise, p.kind, p.facet, draft.sample, draft.number, p.text, p.claim,
        draft.probability, len(p.text.split()), draft.reason is None, draft.reason,
    )  # fmt: skip
