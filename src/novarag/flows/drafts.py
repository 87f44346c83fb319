"""What a finished run of noise brings in: every passage with its fate, a pool for each question.

`passages/` holds one row for each passage that was written, rejected ones with their reason.
`pool/` holds one row for each question, its gold passage and the passages that were kept, in the
layout of groups, so that `novarag train group` can draw from it. The source of a passage that was
kept is the model that wrote it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.checksums import checksum
from novarag.errors import StorageError, UsageError
from novarag.records import PassageGroup
from novarag.rows import ColumnTypes, lay_out, parquet_bytes
from novarag.runs import read_groups, table_name, write_groups
from novarag.sealed_json import seal_files, unseal_files
from novarag.taxonomy import PassageKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.checksums import Checksum
    from novarag.noise import NoiseDraft, NoisePlan
    from novarag.runs import Run, Store

PASSAGES: ColumnTypes = {
    "question": pl.String, "noise": pl.String, "kind": pl.String, "facet": pl.String,
    "sample": pl.Int32, "number": pl.Int32, "text": pl.String, "claim": pl.String,
    "probability": pl.Float64, "words": pl.Int32, "kept": pl.Boolean, "reason": pl.String,
}  # fmt: skip
"""One row for each passage that a model wrote."""

SEAL = "drafts.json"
"""What vouches for the files of `passages/` and `pool/`."""

KEPT, SPARE = "kept", "spare"
DropCounts = Counter[tuple[str, str]]


def sort_drafts(run: Run, noising: NoisePlan) -> DropCounts:
    """Write `passages/` and `pool/`, shard by shard; count each noise's passages by their fate.

    The same run gives the same bytes, so what was cut off is simply done again.
    """
    if not run.is_finished:
        raise UsageError.saying(
            "{} is not finished: run the same `make_noise(...)` to go on", run.place
        )
    tally: DropCounts = Counter()
    files: dict[str, Checksum] = {}
    for shard in run.finished:
        groups = list(run.groups(shard))
        replies = _replies(run, shard)
        drafts = [d for g in groups for d in noising.drafts(g, replies.get(str(g.id), []))]
        tally.update((draft.noise, _fate(draft)) for draft in drafts)
        passages = parquet_bytes(lay_out(map(_row, drafts), PASSAGES))
        pools = write_groups(
            [(pool.question.id, pool) for pool in _pools(groups, drafts, run.settings.model)]
        )
        for kind, content in (("passages", passages), ("pool", pools)):
            name = table_name(kind, shard)
            _put(run.store, name, content)
            files[name] = checksum(content)
    _put(run.store, SEAL, seal_files(files, run=run.manifest.run))
    return tally


def iter_pools(run: Run) -> Iterator[PassageGroup]:
    """Yield each question with its pool of passages; all that was written must be there whole."""
    raw = run.store.read(SEAL)
    if raw is None:
        raise UsageError.saying(
            "{} has no pools yet: run the same `make_noise(...)` again", run.place
        )
    files = unseal_files(raw, run=run.manifest.run)
    if files is None:
        raise _damaged(run, SEAL)
    for shard in range(len(run.manifest.parts)):
        _, pool = (_vouched(run, files, table_name(kind, shard)) for kind in ("passages", "pool"))
        yield from read_groups(pool)


def _vouched(run: Run, files: dict[str, Checksum], name: str) -> bytes:
    content = run.store.read(name)
    if content is None or name not in files or not files[name].vouches_for(content):
        raise _damaged(run, name)
    return content


def _damaged(run: Run, name: str) -> StorageError:
    return StorageError.saying(
        "{}/{} is damaged or missing; run the same `make_noise(...)` again: it writes it anew",
        run.place,
        name,
    )


def _put(store: Store, name: str, content: bytes) -> None:
    if store.read(name) != content:
        store.write(name, content)


def _replies(run: Run, shard: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    columns = ["group", "reply"]
    for name, reply in run.table(shard, columns).select(columns).rows():
        found.setdefault(name, []).append(reply)
    return found


def _pools(
    groups: list[PassageGroup], drafts: list[NoiseDraft], writer: str
) -> Iterator[PassageGroup]:
    kept: dict[str, list[NoiseDraft]] = {}
    for draft in drafts:
        if draft.reason is None:
            kept.setdefault(draft.question, []).append(draft)
    seen: set[str] = set()
    for group in groups:
        question = group.question
        if question.id not in seen:
            seen.add(question.id)
            gold = tuple(p for p in group.passages if p.kind is PassageKind.GOLD)
            drafted = kept.get(question.id, [])
            written = tuple(replace(draft.passage, source=writer) for draft in drafted)
            yield PassageGroup(question=question, passages=gold + written, id=question.id)


def _fate(draft: NoiseDraft) -> str:
    return SPARE if draft.spare else draft.reason or KEPT


def _row(draft: NoiseDraft) -> tuple[Any, ...]:
    p = draft.passage
    return (
        draft.question, draft.noise, p.kind, p.facet, draft.sample, draft.number, p.text, p.claim,
        draft.probability, len(p.text.split()), draft.reason is None, draft.reason,
    )  # fmt: skip
