"""What a finished shard leaves: its tables, and a marker that says so with their checksums."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from novarag.checksums import Checksum, checksum, digest
from novarag.errors import StorageError
from novarag.prose import say
from novarag.rows import lay_out, parquet_bytes
from novarag.runs import crash_points
from novarag.runs.journal import journal_name
from novarag.runs.tables import ATTEMPTS, DEAD, attempt_rows
from novarag.sealed_json import parse_files, seal, unseal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from novarag.runs.journal import JournalState
    from novarag.runs.requests import Request
    from novarag.runs.store import Store

TABLES = ("trials", "attempts", "dead")


def shard_name(shard: int) -> str:
    """Name the file that says a shard is finished."""
    return f"shards/{shard:05}.json"


def table_name(kind: str, shard: int) -> str:
    """Name a table of a shard: trials, attempts or dead."""
    return f"{kind}/{shard:05}.parquet"


class DamagedMarker(StorageError):  # noqa: N818 - a state, not an accident
    """A shard's marker is there, but is not what was written; `what` says so in words."""

    def __init__(self, what: str, place: str) -> None:
        super().__init__(say("{}; run `recover({})`", what, place))
        self.what, self.place = what, place

    def __reduce__(self) -> tuple[object, ...]:
        return DamagedMarker, (self.what, self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """That a shard is finished: the checksums of its tables and its journal, and its counts.

    `before` is there while trials are exchanged: the checksum of the old table, and its counts.
    """

    run: str
    files: Mapping[str, Checksum]
    journal: str
    counts: dict[str, Any]
    before: tuple[Checksum, dict[str, Any]] | None = None


def read_marker(store: Store, shard: int, run: str) -> Marker | None:
    """Read a shard's marker; None when there is none, `DamagedMarker` when it is damaged."""
    raw = store.read(shard_name(shard))
    if raw is None:
        return None
    marker = _parse(unseal(raw))
    names = {table_name(kind, shard) for kind in TABLES}
    if marker is None or marker.files.keys() != names:
        raise DamagedMarker(f"{shard_name(shard)} is damaged", store.place)
    if marker.run != run:
        raise DamagedMarker(f"{shard_name(shard)} belongs to another run", store.place)
    return marker


def run_in_marker(store: Store, shard: int) -> tuple[str | None, str]:
    """Return the run that a shard's marker is of, as far as it tells, and the marker's name."""
    name = shard_name(shard)
    marker = _parse(unseal(store.read(name) or b""))
    return None if marker is None else marker.run, name


def _parse(content: dict[str, Any] | None) -> Marker | None:
    if content is None or "journal" not in content:  # or sealed, but something else
        return None
    old = content.get("before")
    files = parse_files(content["files"])
    kept = parse_files({} if old is None else {"file": old["file"]})
    if files is None or kept is None:  # another version's
        return None
    return Marker(
        run=content["run"],
        files=files,
        journal=content["journal"],
        counts=content["counts"],
        before=None if old is None else (kept["file"], old["counts"]),
    )


def _write_marker(store: Store, shard: int, marker: Marker) -> None:
    content = {key: value for key, value in asdict(marker).items() if key != "before"}
    if marker.before is not None:
        old, counts = marker.before
        content["before"] = {"file": asdict(old), "counts": counts}
    store.write(shard_name(shard), seal(content))


def whole_counts(store: Store, shard: int, run: str) -> dict[str, Any] | None:
    """Return the counts of a finished shard of which every file is as it was; writes nothing."""
    try:
        marker = read_marker(store, shard, run)
    except DamagedMarker:
        return None
    if marker is None or marker.before is not None:
        return None
    log = store.read_log(journal_name(shard))
    whole = log is not None and digest(log) == marker.journal
    whole = whole and all(_is_whole(store, name, known) for name, known in marker.files.items())
    return marker.counts if whole else None


def check_finished(store: Store, shard: int, run: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the counts of a shard whose tables are as they were, and what was found damaged."""
    try:
        marker = read_marker(store, shard, run)
    except DamagedMarker as error:
        return None, [f"{error.what}; the shard is put together again from its journal"]
    if marker is None:
        return None, []
    damage = []
    if marker.before is not None:
        marker = settled(store, shard, marker)
        _write_marker(store, shard, marker)
        damage.append(f"{shard_name(shard)}: reading again was cut short; nothing is lost")
    torn = [name for name, known in marker.files.items() if not _is_whole(store, name, known)]
    again = "what the journal holds of it is written again"
    damage += [f"{name} is damaged or missing; {again}" for name in torn]
    log = store.read_log(journal_name(shard))
    if log is None or digest(log) != marker.journal:
        then = "what both lost is asked again" if torn else "its tables are whole"
        damage.append(f"{journal_name(shard)} is damaged; {then}")
        if not torn:  # told once: nothing depends on it as long as the tables are whole
            _write_marker(store, shard, replace(marker, journal=digest(log or b"")))
    return None if torn else marker.counts, damage


def _is_whole(store: Store, name: str, known: Checksum) -> bool:
    content = store.read(name)
    return content is not None and digest(content) == known.sha256 and known.vouches_for(content)


def settled(store: Store, shard: int, marker: Marker) -> Marker:
    """Make the marker of an exchange that was cut short say which of the two tables is there."""
    if marker.before is None:
        return marker
    name, (old, counts) = table_name("trials", shard), marker.before
    if old.vouches_for(store.read(name) or b""):
        marker = replace(marker, files={**marker.files, name: old}, counts=counts)
    return replace(marker, before=None)


def exchange_trials(store: Store, shard: int, run: str, trials: pl.DataFrame) -> dict[str, Any]:
    """Put other trials in the place of a finished shard's, and return its new counts.

    The marker vouches for the new table before it is there, and remembers the old one until it is:
    a kill at any instant leaves a table that the marker knows. Nothing is taken from the journal,
    which may be damaged by now.
    """
    marker = read_marker(store, shard, run)
    if marker is None:
        raise StorageError(f"shard {shard} of {store.place} is not finished")
    name, content = table_name("trials", shard), parquet_bytes(trials)
    after = replace(
        marker,
        files={**marker.files, name: checksum(content)},
        counts=marker.counts | count_trials(trials),
    )
    _write_marker(store, shard, replace(after, before=(marker.files[name], marker.counts)))
    store.write(name, content)
    _write_marker(store, shard, after)
    return after.counts


def write_finished(
    store: Store,
    shard: int,
    run: str,
    requests: list[Request],
    trials: pl.DataFrame,
    past: JournalState,
) -> dict[str, Any]:
    """Write the tables of a shard, then the marker; return its counts."""
    dead = [
        (r.key, r.group.question.id, r.group.id, r.first, r.sampling.n, *past.dead[r.key])
        for r in requests
        if r.key in past.dead
    ]
    tables = {
        "trials": trials,
        "attempts": lay_out(attempt_rows(past.attempts), ATTEMPTS),
        "dead": lay_out(dead, DEAD),
    }
    counts = count_up(trials, len(dead), past) | {"requests": len(requests)}
    write_tables(store, shard, run, tables, counts)
    return counts


def write_tables(
    store: Store, shard: int, run: str, tables: Mapping[str, pl.DataFrame], counts: dict[str, Any]
) -> None:
    """Write the tables of a shard, one for each of `TABLES`, then the marker that vouches."""
    contents = {table_name(kind, shard): parquet_bytes(tables[kind]) for kind in TABLES}
    for name, content in contents.items():
        store.write(name, content)
    crash_points.reached("tables written")
    marker = Marker(
        run=run,
        files={name: checksum(content) for name, content in contents.items()},
        journal=digest(store.read_log(journal_name(shard)) or b""),
        counts=counts,
    )
    _write_marker(store, shard, marker)


def count_up(trials: pl.DataFrame, dead: int, past: JournalState) -> dict[str, Any]:
    """Count the trials and attempts of a shard."""
    entries = past.attempts.values()
    return count_trials(trials) | {
        "dead": dead,
        "attempts": len(past.attempts),
        "outcomes": dict(Counter(str(e.outcome) for e in entries)),
        "prompt_tokens": sum(e.prompt_tokens or 0 for e in entries),
        "completion_tokens": sum(e.completion_tokens or 0 for e in entries),
    }


def count_trials(trials: pl.DataFrame) -> dict[str, Any]:
    """Count the trials of a shard."""
    return {
        "trials": len(trials),
        "unread": len(trials) - trials["flaw"].null_count(),
        "right": int(trials["correct"].sum()),
        "graded": len(trials) - trials["correct"].null_count(),
    }


def add_up(counts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Add the counts of shards."""
    outcomes: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for count in counts:
        outcomes.update(count.get("outcomes", {}))
        sums.update({k: v for k, v in count.items() if k != "outcomes"})
    return dict(sums) | {"outcomes": dict(outcomes)}
