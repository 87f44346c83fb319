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

from novarag.rows import COMPLETION, TRIALS, lay_out, to_completion, to_row, truth_of
from novarag.runs import Memory, Run, add_up, everywhere, rewrite_trials, write_manifest
from novarag.trials import make_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from novarag.ports import Asking
    from novarag.records import PassageGroup

_KEPT = ("sample", "request", "prompt_hash", *COMPLETION)
_READ = [name for name in TRIALS if name not in {*_KEPT, "question", "group", "strategy"}]


@dataclass(slots=True, kw_only=True)
class RereadCounts:
    """What came of reading again: how many trials, how many of them changed, and in what."""

    trials: int = 0
    changed: int = 0
    columns: Counter[str] = field(default_factory=Counter)
    counts: dict[str, Any] = field(default_factory=dict)
    mended: list[str] = field(default_factory=list)
    missing: int = 0  # shards that are not finished, and were not read

    def add(self, other: RereadCounts) -> None:
        """Add what came of another shard."""
        self.trials += other.trials
        self.changed += other.changed
        self.columns.update(other.columns)
        self.mended += other.mended


def reread_run(
    run: Run,
    strategy: Asking,
    *,
    workers: int = 1,
    on_event: Callable[[int], None] = lambda _: None,
) -> RereadCounts:
    """Read every finished shard again; `on_event` hears of each one that is done."""
    total, counts = RereadCounts(missing=run.missing), []
    for found in _spread(run, strategy, workers):
        total.add(found)
        counts.append(found.counts)
        on_event(1)
    if counts and run.is_finished:
        total.counts = add_up(counts)
        write_manifest(run.store, run.manifest, total.counts)
    return total


def _spread(run: Run, strategy: Asking, workers: int) -> Iterator[RereadCounts]:
    alone = workers == 1 or len(run.finished) < 2 or isinstance(run.store, Memory)
    if alone:
        yield from map(partial(reread_shard, run, strategy), run.finished)
        return
    shared = Run(everywhere(run.store), run.manifest, run.name)
    context = get_context("spawn")  # a fork would inherit the locks of Polars' threads
    with ProcessPoolExecutor(min(workers, len(run.finished)), mp_context=context) as pool:
        yield from pool.map(partial(reread_shard, shared, strategy), run.finished)


def reread_shard(run: Run, strategy: Asking, shard: int) -> RereadCounts:
    """Read one finished shard again; its table is written only where something changed."""
    found = RereadCounts()

    def make(old: pl.DataFrame) -> pl.DataFrame | None:
        new = _read_again(old, {group.id: group for group in run.groups(shard)}, strategy)
        found.add(_compare(old, new))
        return new if list(old.columns) != list(TRIALS) or found.changed else None

    found.counts, mended = rewrite_trials(run, shard, make)
    found.mended += mended
    return found


def _read_again(
    old: pl.DataFrame, groups: dict[str | None, PassageGroup], strategy: Asking
) -> pl.DataFrame:
    rows = []
    truths = {name: truth_of(group) for name, group in groups.items()}
    for name, sample, key, prompt_hash, *cells in old.select("group", *_KEPT).iter_rows():
        trial = make_trial(groups[name], strategy, sample, to_completion(cells))
        rows.append(to_row(trial, truth=truths[name], request=key, prompt_hash=prompt_hash))
    return lay_out(rows, TRIALS)


def _compare(old: pl.DataFrame, new: pl.DataFrame) -> RereadCounts:
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
    return RereadCounts(
        trials=new.height,
        changed=int(differs.select(pl.any_horizontal(pl.all()).sum()).item()),
        columns=Counter({name: count for name, count in counts.items() if count}),
    )
