"""Read and grade the stored replies of a run again, for when the reader has changed.

Nothing is asked. Shards go in parallel, each in a process; a table is put in place whole, with its
marker, so that a kill at any instant leaves a run that another `reread`, or `recover`, mends.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.calls import Sampling
from novarag.errors import StorageError
from novarag.rows import COMPLETION, TRIALS, to_completion, truth_of
from novarag.runs.drive import add_up, unfinished
from novarag.runs.finished import check_finished, exchange_trials, shard_name
from novarag.runs.group_table import read_groups
from novarag.runs.lease import Lease
from novarag.runs.look import read_shard
from novarag.runs.manifest import write_manifest
from novarag.runs.requests import Request
from novarag.runs.seal import unseal
from novarag.runs.sources import read_groups_file
from novarag.runs.store import everywhere
from novarag.runs.tables import trial_row, trials_frame
from novarag.trials import make_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from novarag.ports import Asking
    from novarag.records import PassageGroup
    from novarag.runs.manifest import Manifest
    from novarag.runs.store import Store

_KEPT = ("sample", "request", "prompt_hash", *COMPLETION)
_READ = [name for name in TRIALS if name not in {*_KEPT, "question", "group", "strategy"}]


@dataclass(slots=True, kw_only=True)
class Reread:
    """What came of reading again: how many trials, how many of them changed, and in what."""

    trials: int = 0
    changed: int = 0
    columns: Counter[str] = field(default_factory=Counter)
    counts: dict[str, Any] = field(default_factory=dict)
    mended: list[str] = field(default_factory=list)

    def add(self, other: Reread) -> None:
        """Add what came of another shard."""
        self.trials += other.trials
        self.changed += other.changed
        self.columns.update(other.columns)
        self.mended += other.mended


def reread(
    store: Store,
    manifest: Manifest,
    strategy: Asking,
    *,
    workers: int = 1,
    tell: Callable[[int], None] = lambda _: None,
) -> Reread:
    """Read every finished shard again; `tell` hears of each one that is done."""
    missing = set(unfinished(store, manifest))
    shards = [shard for shard in range(len(manifest.parts)) if shard not in missing]
    work = partial(reread_shard, everywhere(store), manifest, strategy)
    total, counts = Reread(), []
    for found in _spread(work, shards, workers):
        total.add(found)
        counts.append(found.counts)
        tell(1)
    if shards and not missing:
        total.counts = add_up(counts)
        write_manifest(store, manifest, total.counts)
    return total


def _spread(work: partial[Reread], shards: list[int], workers: int) -> Iterator[Reread]:
    if workers == 1 or len(shards) < 2:
        yield from map(work, shards)
        return
    context = get_context("spawn")  # a fork would inherit the locks of Polars' threads
    with ProcessPoolExecutor(min(workers, len(shards)), mp_context=context) as pool:
        yield from pool.map(work, shards)


def reread_shard(store: Store, manifest: Manifest, strategy: Asking, shard: int) -> Reread:
    """Read one finished shard again; its table is written only where something changed."""
    lease = Lease(store, shard)
    if not lease.take():
        raise StorageError(f"shard {shard} of {store.place} is being worked on; wait for it")
    try:
        counts, mended = check_finished(store, shard, manifest.run)
        if counts is None:
            raise StorageError(
                f"shard {shard} of {store.place} is damaged; run `novarag recover {store.place}`"
            )
        old = read_shard(store, "trials", shard)
        groups = {g.id: g for g in read_groups(read_groups_file(store, manifest, shard))}
        new = _read_again(old, groups, strategy)
        found = _compare(old, new)
        if list(old.columns) != list(TRIALS) or found.changed:
            marker = unseal(store.read(shard_name(shard)) or b"") or {}
            counts = exchange_trials(store, shard, marker, new)
        found.counts, found.mended = counts, mended
        return found
    finally:
        lease.end()


def _read_again(
    old: pl.DataFrame, groups: dict[str | None, PassageGroup], strategy: Asking
) -> pl.DataFrame:
    rows = []
    truths = {name: truth_of(group) for name, group in groups.items()}
    columns = old.select("group", *_KEPT).iter_rows()
    for place, (name, sample, key, prompt_hash, *told) in enumerate(columns):
        completion = to_completion(told)
        request = Request(
            key=key, group=groups[name], first=sample, prompt="", prompt_hash=prompt_hash,
            sampling=Sampling(), place=place, truth=truths[name],
        )  # fmt: skip
        rows.append(trial_row(request, make_trial(groups[name], strategy, sample, completion)))
    return trials_frame(rows).drop("place")


def _compare(old: pl.DataFrame, new: pl.DataFrame) -> Reread:
    """Count the trials that changed, and in which columns; a new column was empty before."""
    empty = pl.Series([None] * old.height, dtype=pl.Null)
    before = {name: old[name] if name in old.columns else empty for name in _READ}
    differs = pl.DataFrame(
        [
            new[name].ne_missing(column.cast(TRIALS[name])).alias(name)
            for name, column in before.items()
        ]
    )
    counts = {name: int(differs[name].sum()) for name in _READ}
    return Reread(
        trials=new.height,
        changed=int(differs.select(pl.any_horizontal(pl.all()).sum()).item()),
        columns=Counter({name: count for name, count in counts.items() if count}),
    )
