"""What is known of a shard when somebody comes to it: its journal, held against its heartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from novarag.errors import StorageError
from novarag.runs.finished import shard_name
from novarag.runs.journal import VERSION, JournalState, journal_name, replay
from novarag.runs.lease import is_damaged, lease_name, mark_in, read_lease
from novarag.runs.log_frames import Chain, Frame, Mark, first_line, is_unlinked

if TYPE_CHECKING:
    from novarag.runs.store import Store


def read_past(store: Store, shard: int, run: str) -> JournalState:
    """Replay the journal of a shard; what is damaged is told, what is another's is refused."""
    name = journal_name(shard)
    beat, content = _read(store, shard)
    if beat is None and content:  # somebody may have begun the shard between our two reads
        beat, content = _read(store, shard)
    safe = None if beat is None else mark_in(beat)
    _check_origin(f"{store.place}/{name}", content, run, shard)
    overlapping = store.overlapping
    past = replay(content, run=run, shard=shard, safe=safe, overlapping=overlapping)
    past.safe, past.unsaid = safe, [] if beat is None else beat.get("unsaid", [])
    if safe is None and not content and not is_damaged(store, shard):
        past.safe = Mark(0, Chain(run, shard).root.decode())
    elif safe is None and store.read(shard_name(shard)) is not None:
        past.safe = Mark(past.size, past.head.decode())  # its marker says what is damaged
    elif safe is None:
        past.damage.append(
            f"{lease_name(shard)} is missing or damaged, so how far the journal was safe is not"
            " known; if replies are missing, put both back from a copy before you ask again"
        )
    return past


def _read(store: Store, shard: int) -> tuple[dict[str, Any] | None, bytes]:
    """Read heartbeat and journal, in this order: a journal is never behind its heartbeat."""
    return read_lease(store, shard), store.read_log(journal_name(shard)) or b""


def damages(shard: int, past: JournalState) -> list[str]:
    """Say what is damaged in the journal of a shard, and what was found by one who was killed."""
    found = [f"{journal_name(shard)}: {what}" for what in past.damage]
    return list(dict.fromkeys([*past.unsaid, *found]))


def _check_origin(place: str, content: bytes, run: str, shard: int) -> None:
    """Refuse a journal of another version, run or shard."""
    if is_unlinked(content):
        raise StorageError(
            f"{place} was written by an older version, which did not link its records: finish this"
            " run with that version, or begin another folder"
        )
    opened = _opened(content)
    if opened is None:
        return
    if opened["version"] != VERSION:
        raise StorageError(
            f"{place} was written by another version: finish this run with that version, or begin"
            " another folder"
        )
    if opened["run"] != run:
        equal = opened["run"].partition("-")[0] == run.partition("-")[0]
        which = "another run of the same settings" if equal else "another run"
        raise StorageError(f"{place} belongs to {which}; put it back there, and the right one here")
    if opened["shard"] != shard:
        raise StorageError(
            f"{place} belongs to shard {opened['shard']}; put it back in its place, or take it away"
            " and what it held is asked again"
        )


def run_in_journal(store: Store, shard: int) -> tuple[str | None, str]:
    """Return the run that a shard's journal is of, as far as it tells, and the journal's name."""
    name = journal_name(shard)
    opened = _opened(store.read_log(name) or b"")
    return None if opened is None else opened["run"], name


def _opened(content: bytes) -> dict[str, Any] | None:
    """Return the first record, of whatever journal; None where it is damaged."""
    try:
        event = orjson.loads(first_line(content) or b"")
        chain = Chain(event["run"], event["shard"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    first = next(chain.scan(content))
    return event if isinstance(first, Frame) and "version" in event else None
