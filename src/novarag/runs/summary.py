"""What `show` says of a run: counts, failures with their reasons, and a few replies."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Any

from novarag.calls import Outcome
from novarag.prose import say
from novarag.runs.finished import add_up, count_up
from novarag.runs.lease import read_lease
from novarag.runs.past import damages
from novarag.runs.reader import Run, open_run
from novarag.runs.shard import Job, peek

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import polars as pl

    from novarag.ports import Asking
    from novarag.runs.journal import JournalState
    from novarag.runs.manifest import Manifest
    from novarag.runs.store import Store

_LIVELY = 5.0  # seconds since the last heartbeat of somebody at work


@dataclass(slots=True, kw_only=True)
class Summary:
    """What one sees of a run from outside."""

    run: Run
    job: Job
    counts: dict[str, Any] = field(default_factory=dict)
    unfinished: list[int] = field(default_factory=list)
    peopled: list[int] = field(default_factory=list)  # shards that have trials
    settled: int = 0  # requests that have a reply or were given up
    given_up: Counter[tuple[str, str]] = field(default_factory=Counter)
    flaws: Counter[str] = field(default_factory=Counter)
    owners: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)  # of the journals of unfinished shards

    @property
    def manifest(self) -> Manifest:
        """Return what the run is."""
        return self.job.manifest

    @property
    def left(self) -> int:
        """Return how many requests are neither answered nor given up."""
        return max(self.manifest.requests - self.settled, 0)


def summarize(place: str | Path | Store, strategy: Asking) -> Summary:
    """Sum a run up; of unfinished shards, what their journals hold is read."""
    run = open_run(place)
    job = Job(store=run.store, manifest=run.manifest, strategy=strategy)
    seen = Summary(run=run, job=job)
    counts = []
    for shard in range(len(run.manifest.parts)):
        if shard in run.finished:
            counts.append(_whole(run, shard, seen))
        else:
            seen.unfinished.append(shard)
            counts.append(_halfway(job, shard, seen))
        if counts[-1]["trials"]:
            seen.peopled.append(shard)
    seen.counts = add_up(counts)
    return seen


def _whole(run: Run, shard: int, seen: Summary) -> dict[str, Any]:
    counts = run.counts_of(shard)
    seen.settled += counts["requests"]
    seen.flaws.update(run.table(shard, ["flaw"])["flaw"].drop_nulls().to_list())
    given_up = ["outcome", "detail"]
    seen.given_up.update(run.table(shard, given_up, kind="dead").select(given_up).rows())
    return counts


def _halfway(job: Job, shard: int, seen: Summary) -> dict[str, Any]:
    trials, past, settled = peek(job, shard)
    counts = count_up(trials, len(past.dead), past)
    seen.settled += settled
    seen.damage += _damage_lines(shard, past)
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


def _damage_lines(shard: int, past: JournalState) -> list[str]:
    return [
        say("{}; the same `ask(...)` asks for what it held", line) for line in damages(shard, past)
    ]


def trial_tables(
    job: Job, on_event: Callable[[str], None] = lambda _: None
) -> Iterator[pl.DataFrame]:
    """Yield the trials of every shard, finished or not; `on_event` hears of a journal's damages."""
    run = Run(job.store, job.manifest)
    for shard in range(len(job.manifest.parts)):
        if shard in run.finished:
            yield run.table(shard)
        else:
            trials, past, _ = peek(job, shard)
            for line in _damage_lines(shard, past):
                on_event(line)
            yield trials


def some_trials(seen: Summary, count: int) -> list[dict[str, Any]]:
    """Pick trials evenly spread over a run."""
    rows: list[dict[str, Any]] = []
    if count and seen.peopled:
        chosen = seen.peopled[:: max(len(seen.peopled) // count, 1)][:count]
        each = -(-count // len(chosen))
        for shard in chosen:
            whole = shard in seen.run.finished
            table = seen.run.table(shard) if whole else peek(seen.job, shard)[0]
            rows += table.gather_every(max(len(table) // each, 1)).head(each).to_dicts()
    return rows[:count]
