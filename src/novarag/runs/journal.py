"""What happened to the requests of one shard, written as it happens.

Four events tell everything: `sent` before a request leaves, `lost` when an attempt failed, `reply`
when one was answered, `dead` when a request was given up. The first reply to a request wins. Money
is counted from here: every attempt that left has its `sent`, whatever became of us afterwards.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Any

import orjson

from novarag.calls import Outcome
from novarag.errors import StorageError
from novarag.runs import crash_points
from novarag.runs.log_frames import Scratch, frame, scan

if TYPE_CHECKING:
    from novarag.runs.store import Log, Store


def journal_name(shard: int) -> str:
    """Name the journal of a shard."""
    return f"journal/{shard:05}.log"


@dataclass(slots=True)
class Entry:
    """One attempt, as far as the journal knows it."""

    key: str
    endpoint: str = ""
    sent: float | None = None
    settled: float | None = None
    outcome: Outcome = Outcome.UNKNOWN
    detail: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(slots=True)
class JournalState:
    """What a journal tells."""

    replies: dict[str, dict[str, Any]] = field(default_factory=dict)
    dead: dict[str, tuple[Outcome, str]] = field(default_factory=dict)
    attempts: dict[str, Entry] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    run: str | None = None
    shard: int | None = None

    def note(self, event: dict[str, Any]) -> None:
        """Take in one event."""
        match event["event"]:
            case "open":
                self.run, self.shard = event["run"], event["shard"]
            case "sent":
                entry = self._entry(event)
                entry.sent, entry.endpoint = event["at"], event["endpoint"]
            case "lost":
                entry = self._entry(event)
                entry.settled, entry.detail = event["at"], event["detail"]
                entry.outcome = Outcome(event["outcome"])
            case "reply":
                entry = self._entry(event)
                entry.settled, entry.outcome = event["at"], Outcome.ANSWERED
                entry.detail = "; ".join(event.get("remarks", ()))
                if event["usage"] is not None:
                    entry.prompt_tokens, entry.completion_tokens = event["usage"]
                self.replies.setdefault(event["key"], event)
                self.dead.pop(event["key"], None)
            case "dead":
                self.dead[event["key"]] = Outcome(event["outcome"]), event["detail"]
            case "revived":
                self.dead.pop(event["key"], None)
            case _:
                pass

    def _entry(self, event: dict[str, Any]) -> Entry:
        return self.attempts.setdefault(event["attempt"], Entry(event["key"]))


def replay(content: bytes, *, synced: int = 0) -> JournalState:
    """Read a journal; what is damaged is named, and everything else stands."""
    past = JournalState()
    known: set[int] = set()
    scratches: list[Scratch] = []
    following: dict[str, int] = {}  # by writer, the number that comes next
    position, broken = 0, False
    for piece in scan(content):
        if isinstance(piece, Scratch):
            scratches.append(piece)
            position, broken = piece.offset + piece.length, True
            continue
        event = orjson.loads(piece)
        writer, number = event["writer"], event["number"]
        awaited = following.get(writer, 0)
        if number < awaited:
            past.damage.append(f"a record is there twice, near byte {position:,}")
        else:
            if number > awaited and not broken:
                past.damage.append(f"{number - awaited} records are missing near byte {position:,}")
            following[writer] = number + 1
            if event["event"] == "damage":
                known.update(event["offsets"])
            past.note(event)
        broken = False
        position += 19 + len(piece)
    new = [s for s in scratches if s.offset not in known]
    past.damage += [f"{s.length:,} bytes are damaged at byte {s.offset:,}" for s in new]
    past.offsets = [s.offset for s in new]
    if len(content) < synced:
        past.damage.append(f"its last {synced - len(content):,} bytes are missing")
    return past


class Journal:
    """The journal of a shard, open for more."""

    def __init__(self, store: Store, shard: int, past: JournalState, *, run: str) -> None:
        self.past = past
        self._writer, self._number = os.urandom(4).hex(), 0
        self._log: Log = store.log(journal_name(shard))
        try:
            if past.run is None:
                self._write({"event": "open", "run": run, "shard": shard})
            if past.offsets:
                self._write({"event": "damage", "offsets": past.offsets})
        except StorageError:
            self._log.close()
            raise

    def _write(self, event: dict[str, Any]) -> None:
        event |= {"writer": self._writer, "number": self._number, "at": round(time(), 6)}
        self._log.append(frame(orjson.dumps(event)))
        self._number += 1
        self.past.note(event)

    def sent(self, key: str, attempt: str, endpoint: str) -> None:
        """Note that an attempt is about to leave."""
        self._write({"event": "sent", "key": key, "attempt": attempt, "endpoint": endpoint})
        crash_points.reached("request journaled")

    def lost(self, key: str, attempt: str, outcome: Outcome, detail: str) -> None:
        """Note that an attempt failed."""
        what = {"event": "lost", "key": key, "attempt": attempt, "outcome": outcome}
        self._write(what | {"detail": detail})

    def reply(self, key: str, attempt: str, content: dict[str, Any]) -> None:
        """Note a reply."""
        crash_points.reached("reply received")
        event = {"event": "reply", "key": key, "attempt": attempt, **content}
        self._write(event)
        del event["completions"]  # they are on the disk, and with who asked
        crash_points.reached("reply journaled")

    def dead(self, key: str, outcome: Outcome, detail: str) -> None:
        """Note that a request was given up."""
        self._write({"event": "dead", "key": key, "outcome": outcome, "detail": detail})

    def revive(self, key: str) -> None:
        """Note that a request that was given up is to be asked again."""
        self._write({"event": "revived", "key": key})

    def sync(self) -> int:
        """Make it last; return how many bytes are safe."""
        size = self._log.sync()
        crash_points.reached("journal synced")
        return size

    def close(self) -> None:
        """Sync and let go."""
        self._log.close()
