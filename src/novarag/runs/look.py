"""What is in a run: counts, failures with their reasons, and a few replies to look at."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.errors import UsageError
from novarag.runs.drive import add_up
from novarag.runs.finished import shard_name, table_name
from novarag.runs.journal import journal_name, replay
from novarag.runs.lease import read_lease
from novarag.runs.manifest import read_manifest
from novarag.runs.seal import unseal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.runs.manifest import Manifest
    from novarag.runs.store import Store


@dataclass(slots=True, kw_only=True)
class Look:
    """What one sees of a run from outside."""

    manifest: Manifest
    counts: dict[str, Any] = field(default_factory=dict)
    unfinished: list[int] = field(default_factory=list)
    answered: int = 0  # requests of unfinished shards that have a reply
    given_up: Counter[tuple[str, str]] = field(default_factory=Counter)
    flaws: Counter[str] = field(default_factory=Counter)
    owners: list[str] = field(default_factory=list)


def open_run(store: Store) -> Manifest:
    """Read the manifest of a run that must be there."""
    manifest = read_manifest(store)
    if manifest is None:
        raise UsageError(f"{store.place} is not a run: it has no manifest")
    return manifest


def look(store: Store) -> Look:
    """Look a run over; its tables are not loaded, only counted."""
    seen = Look(manifest=open_run(store))
    markers, attempts = [], Counter[str]()
    for shard in range(len(seen.manifest.parts)):
        raw = store.read(shard_name(shard))
        marker = unseal(raw) if raw is not None else None
        if marker is not None:
            markers.append(marker["counts"])
            _tables(store, shard, seen)
            continue
        seen.unfinished.append(shard)
        past = replay(store.read_log(journal_name(shard)) or b"")
        seen.answered += len(past.replies)
        seen.given_up.update((str(o), d) for o, d in past.dead.values())
        attempts.update(str(entry.outcome) for entry in past.attempts.values())
        beat = read_lease(store, shard)
        if beat is not None and not beat["released"]:
            seen.owners.append(beat["owner"])
    seen.counts = add_up([*markers, {"outcomes": attempts, "attempts": attempts.total()}])
    return seen


def _tables(store: Store, shard: int, seen: Look) -> None:
    trials = _table(store, "trials", shard, ["flaw"])
    seen.flaws.update(flaw for flaw in trials["flaw"].to_list() if flaw is not None)
    dead = _table(store, "dead", shard, ["outcome", "detail"])
    seen.given_up.update(dead.rows())


def _table(store: Store, kind: str, shard: int, columns: list[str] | None = None) -> pl.DataFrame:
    content = store.read(table_name(kind, shard))
    if content is None:
        raise UsageError(f"{table_name(kind, shard)} is missing; run `novarag recover`")
    try:
        return pl.read_parquet(io.BytesIO(content), columns=columns)
    except pl.exceptions.PolarsError:
        problem = f"{table_name(kind, shard)} is damaged; run `novarag recover`"
        raise UsageError(problem) from None


def trial_tables(store: Store, manifest: Manifest) -> Iterator[pl.DataFrame]:
    """Yield the trials of every finished shard."""
    for shard in range(len(manifest.parts)):
        if store.read(shard_name(shard)) is not None:
            yield _table(store, "trials", shard)


def some_trials(store: Store, seen: Look, count: int) -> list[dict[str, Any]]:
    """Pick trials evenly spread over the finished shards."""
    finished = [s for s in range(len(seen.manifest.parts)) if s not in set(seen.unfinished)]
    if not finished or not count:
        return []
    step = max(len(finished) // count, 1)
    chosen = finished[::step][:count]
    each = -(-count // len(chosen))
    rows: list[dict[str, Any]] = []
    for shard in chosen:
        table = _table(store, "trials", shard)
        rows += table.gather_every(max(len(table) // each, 1)).head(each).to_dicts()
    return rows[:count]


def requests_left(seen: Look) -> int:
    """Return how many requests are neither answered nor given up."""
    settled = seen.counts.get("requests", 0) + seen.answered
    dead = sum(seen.given_up.values()) - seen.counts.get("dead", 0)
    return max(seen.manifest.requests - int(settled) - int(dead), 0)
