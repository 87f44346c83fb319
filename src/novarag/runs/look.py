"""What is in a run: counts, failures with their reasons, and a few replies to look at."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.calls import Outcome
from novarag.errors import StorageError, UsageError
from novarag.runs.drive import add_up, unfinished
from novarag.runs.finished import count_up, shard_name, table_name
from novarag.runs.lease import read_lease
from novarag.runs.manifest import read_manifest
from novarag.runs.seal import unseal
from novarag.runs.shard import Job, peek
from novarag.runs.store import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.ports import Asking
    from novarag.runs.manifest import Manifest
    from novarag.runs.store import Store

_LIVELY = 5.0  # seconds since the last heartbeat of somebody at work


@dataclass(slots=True, kw_only=True)
class Look:
    """What one sees of a run from outside."""

    job: Job
    counts: dict[str, Any] = field(default_factory=dict)
    unfinished: list[int] = field(default_factory=list)
    peopled: list[int] = field(default_factory=list)  # shards that have trials
    settled: int = 0  # requests that have a reply or were given up
    given_up: Counter[tuple[str, str]] = field(default_factory=Counter)
    flaws: Counter[str] = field(default_factory=Counter)
    owners: list[str] = field(default_factory=list)

    @property
    def manifest(self) -> Manifest:
        """Return what the run is."""
        return self.job.manifest

    @property
    def left(self) -> int:
        """Return how many requests are neither answered nor given up."""
        return max(self.manifest.requests - self.settled, 0)


def open_run(store: Store) -> Manifest:
    """Read the manifest of a run that must be there."""
    manifest = read_manifest(store)
    if manifest is None:
        inner = f"{store.place}/run"
        hint = f"; did you mean {inner}?" if Path(inner, "manifest.json").is_file() else ""
        raise UsageError(f"{store.place} is not a run: it has no manifest{hint}")
    return manifest


def look(store: Store, strategy: Asking) -> Look:
    """Look a run over; of unfinished shards, what their journals hold is read."""
    manifest = open_run(store)
    job = Job(store=store, manifest=manifest, strategy=strategy)
    seen = Look(job=job, unfinished=unfinished(store, manifest))
    counts = []
    for shard in range(len(manifest.parts)):
        if shard in set(seen.unfinished):
            counts.append(_halfway(job, shard, seen))
        else:
            counts.append(_whole(store, shard, seen))
        if counts[-1]["trials"]:
            seen.peopled.append(shard)
    seen.counts = add_up(counts)
    return seen


def _whole(store: Store, shard: int, seen: Look) -> dict[str, Any]:
    marker = unseal(store.read(shard_name(shard)) or b"")
    counts: dict[str, Any] = {} if marker is None else marker["counts"]
    seen.settled += counts["requests"]
    trials = read_shard(store, "trials", shard, ["flaw"])
    seen.flaws.update(trials["flaw"].drop_nulls().to_list())
    seen.given_up.update(read_shard(store, "dead", shard, ["outcome", "detail"]).rows())
    return counts


def _halfway(job: Job, shard: int, seen: Look) -> dict[str, Any]:
    trials, past, settled = peek(job, shard)
    counts = count_up(trials, len(past.dead), past)
    seen.settled += settled
    seen.flaws.update(trials["flaw"].drop_nulls().to_list())
    seen.given_up.update((str(outcome), detail) for outcome, detail in past.dead.values())
    beat = read_lease(job.store, shard)
    if beat is not None and not beat["released"]:
        silent = time() - beat["at"]
        if silent < _LIVELY and Outcome.UNKNOWN in counts["outcomes"]:
            counts["outcomes"]["in flight"] = counts["outcomes"].pop(Outcome.UNKNOWN)
        word = "is at work" if silent < _LIVELY else f"was at work {silent:,.0f} s ago"
        seen.owners.append(f"{beat['owner'].rpartition(':')[0]} {word}")
    return counts


def read_shard(
    store: Store, kind: str, shard: int, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Read a table of a finished shard, or some columns; say what is missing or damaged."""
    name = table_name(kind, shard)
    table = open_table(store, name)
    if table is None:
        raise StorageError(f"{name} is missing; run `novarag recover {store.place}`")
    try:
        return pl.read_parquet(table, columns=None if columns is None else list(columns))
    except pl.exceptions.ColumnNotFoundError:
        raise UsageError(
            f"{store.place} was read by an older reader: some columns are missing. Run"
            f" `novarag reread {store.place}` first."
        ) from None
    except pl.exceptions.PolarsError:
        problem = f"{name} is damaged; run `novarag recover {store.place}`"
        raise StorageError(problem) from None


def trial_tables(job: Job) -> Iterator[pl.DataFrame]:
    """Yield the trials of every shard, finished or not."""
    missing = set(unfinished(job.store, job.manifest))
    for shard in range(len(job.manifest.parts)):
        yield peek(job, shard)[0] if shard in missing else read_shard(job.store, "trials", shard)


def some_trials(seen: Look, count: int) -> list[dict[str, Any]]:
    """Pick trials evenly spread over a run."""
    rows: list[dict[str, Any]] = []
    if count and seen.peopled:
        chosen = seen.peopled[:: max(len(seen.peopled) // count, 1)][:count]
        each = -(-count // len(chosen))
        missing = set(seen.unfinished)
        for shard in chosen:
            whole = shard not in missing
            table = (
                read_shard(seen.job.store, "trials", shard) if whole else peek(seen.job, shard)[0]
            )
            rows += table.gather_every(max(len(table) // each, 1)).head(each).to_dicts()
    return rows[:count]
