"""What a finished shard leaves: its tables, and a marker that says so with their checksums."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from novarag.rows import lay_out, parquet_bytes
from novarag.runs import points
from novarag.runs.journal import journal_name
from novarag.runs.seal import digest, seal, unseal
from novarag.runs.tables import ATTEMPTS, DEAD, attempt_rows

if TYPE_CHECKING:
    import polars as pl

    from novarag.runs.journal import Past
    from novarag.runs.requests import Request
    from novarag.runs.store import Store


def shard_name(shard: int) -> str:
    """Name the file that says a shard is finished."""
    return f"shards/{shard:05}.json"


def table_name(kind: str, shard: int) -> str:
    """Name a table of a shard: trials, attempts or dead."""
    return f"{kind}/{shard:05}.parquet"


def check_finished(store: Store, shard: int, run: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the counts of a shard whose tables are as they were, and what was found damaged."""
    raw = store.read(shard_name(shard))
    if raw is None:
        return None, []
    marker = unseal(raw)
    if marker is None or marker["run"] != run:
        again = "the shard is put together again from its journal"
        return None, [f"{shard_name(shard)} is damaged; {again}"]
    damage = []
    if "before" in marker:
        marker = _settle_exchange(store, shard, marker)
        damage.append(f"{shard_name(shard)}: reading again was cut short; nothing is lost")
    names = [table_name(kind, shard) for kind in ("trials", "attempts", "dead")]
    torn = [name for name in names if _checksum(store, name) != marker["files"].get(name)]
    again = "what the journal holds of it is written again"
    damage += [f"{name} is damaged or missing; {again}" for name in torn]
    log = store.read_log(journal_name(shard))
    if log is None or digest(log) != marker["journal"]:
        then = "what both lost is asked again" if torn else "its tables are whole"
        damage.append(f"{journal_name(shard)} is damaged; {then}")
        if not torn:  # told once: nothing depends on it as long as the tables are whole
            store.write(shard_name(shard), seal(marker | {"journal": digest(log or b"")}))
    return None if torn else marker["counts"], damage


def exchange_trials(
    store: Store, shard: int, marker: dict[str, Any], trials: pl.DataFrame
) -> dict[str, Any]:
    """Put other trials in the place of a finished shard's, and return its new counts.

    The marker vouches for the new table before it is there, and remembers the old one until it is:
    a kill at any instant leaves a table that the marker knows. Nothing is taken from the journal,
    which may be damaged by now.
    """
    name, content = table_name("trials", shard), parquet_bytes(trials)
    after = marker | {
        "files": marker["files"] | {name: digest(content)},
        "counts": marker["counts"] | count_trials(trials),
    }
    before = {"file": marker["files"][name], "counts": marker["counts"]}
    store.write(shard_name(shard), seal(after | {"before": before}))
    store.write(name, content)
    store.write(shard_name(shard), seal(after))
    counts: dict[str, Any] = after["counts"]
    return counts


def _settle_exchange(store: Store, shard: int, marker: dict[str, Any]) -> dict[str, Any]:
    """Make the marker of an exchange that was cut short say which of the two tables is there."""
    name, before = table_name("trials", shard), marker["before"]
    settled = {key: value for key, value in marker.items() if key != "before"}
    if _checksum(store, name) == before["file"]:
        files = settled["files"] | {name: before["file"]}
        settled |= {"files": files, "counts": before["counts"]}
    store.write(shard_name(shard), seal(settled))
    return settled


def _checksum(store: Store, name: str) -> str | None:
    content = store.read(name)
    return None if content is None else digest(content)


def write_finished(
    store: Store, shard: int, run: str, requests: list[Request], trials: pl.DataFrame, past: Past
) -> dict[str, Any]:
    """Write the tables of a shard, then the marker; return its counts."""
    dead = [
        (r.key, r.group.question.id, r.group.id, r.first, r.sampling.n, *past.dead[r.key])
        for r in requests
        if r.key in past.dead
    ]
    tables = {
        table_name("trials", shard): parquet_bytes(trials),
        table_name("attempts", shard): parquet_bytes(
            lay_out(attempt_rows(past.attempts), ATTEMPTS)
        ),
        table_name("dead", shard): parquet_bytes(lay_out(dead, DEAD)),
    }
    for name, content in tables.items():
        store.write(name, content)
    points.reached("tables written")
    counts = count_up(trials, len(dead), past) | {"requests": len(requests)}
    marker = {
        "run": run,
        "files": {name: digest(content) for name, content in tables.items()},
        "journal": digest(store.read_log(journal_name(shard)) or b""),
        "counts": counts,
    }
    store.write(shard_name(shard), seal(marker))
    return counts


def count_up(trials: pl.DataFrame, dead: int, past: Past) -> dict[str, Any]:
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
