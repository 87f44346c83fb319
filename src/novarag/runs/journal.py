"""What happened to the requests of one shard, written as it happens.

Four events tell everything: `sent` before a request leaves, `lost` when an attempt failed, `reply`
when one was answered, `dead` when a request was given up. The first reply to a request wins. Money
is counted from here: every attempt that left has its `sent`, whatever became of us afterwards.

Each record carries a link to the one before it, so what was taken out, put in, doubled or moved
shows. An end that is gone shows by the heartbeat, which says how far the journal was safe.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Any

import orjson

from novarag.calls import Outcome
from novarag.errors import StorageError
from novarag.records import Completion
from novarag.runs import crash_points
from novarag.runs.log_frames import Chain, ChainCheck, Mark, Scratch

if TYPE_CHECKING:
    from novarag.calls import Reply
    from novarag.runs.store import Log, Store


VERSION = 2
"""The layout of a journal, in its first record; 1 had no links."""


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
    unsaid: list[str] = field(default_factory=list)  # lines of one who was killed before they said
    marks: list[str] = field(default_factory=list)  # of damage that is not written down yet
    head: bytes = b""  # the link of the last record
    size: int = 0
    safe: Mark | None = None  # how far it was safe before we came; None where nobody knows
    opened: bool = False

    def note(self, event: dict[str, Any]) -> None:
        """Take in one event."""
        match event["event"]:
            case "open":
                self.opened = True
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


def replay(
    content: bytes,
    *,
    run: str,
    shard: int,
    safe: Mark | None = None,
    overlapping: bool = False,
) -> JournalState:
    """Read a journal; what is damaged is named, and everything else stands.

    `safe` is how far it was safe when its last heartbeat was written; None where nobody knows.
    `overlapping` is for places without locks, where one may still write while another takes over.
    """
    chain, past = Chain(run, shard), JournalState(size=len(content))
    check = ChainCheck(chain.root, overlapping=overlapping)
    for piece in chain.scan(content):
        if isinstance(piece, Scratch):
            check.scratched(piece)
            continue
        event = orjson.loads(piece.payload)
        if check.is_new(piece, event["writer"], event["number"]):
            if event["event"] == "damage":
                check.known.update(event["marks"])
            past.note(event)
    past.head = check.tip
    past.damage, past.marks = check.damage(len(content), safe)
    return past


class Journal:
    """The journal of a shard, open for more."""

    def __init__(self, store: Store, shard: int, past: JournalState, *, run: str) -> None:
        self.past = past
        self._writer, self._number = os.urandom(4).hex(), 0
        self._chain = Chain(run, shard)
        self._tip = past.head or self._chain.root
        self._log: Log = store.log(journal_name(shard))
        self._mark = self._log.size, self._tip
        try:
            if not past.opened:
                opened = {"event": "open", "version": VERSION, "run": run, "shard": shard}
                self._write(opened)
            if past.marks:
                self._write({"event": "damage", "marks": past.marks})
        except StorageError:
            self._log.close()
            raise

    def _write(self, event: dict[str, Any]) -> None:
        event |= {"writer": self._writer, "number": self._number, "at": round(time(), 6)}
        record, link = self._chain.frame(orjson.dumps(event), self._tip)
        self._log.append(record)
        self._tip = link
        self._mark = self._log.size, link  # one assignment: it is read in another thread
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

    def sync(self) -> Mark:
        """Make it last; return how far it is safe."""
        size, head = self._mark
        self._log.sync()
        crash_points.reached("journal synced")
        return Mark(size, head.decode())

    def close(self) -> None:
        """Sync and let go."""
        self._log.close()


def reply_content(reply: Reply) -> dict[str, Any]:
    """Lay out what the journal keeps of a reply."""
    usage = reply.usage
    return {
        "usage": None if usage is None else [usage.prompt, usage.completion],
        "completions": [
            {
                "text": c.text, "truncated": c.truncated, "reasoning": c.reasoning,
                "tokens": c.tokens, "logprobs": c.logprobs, "alternatives": c.alternatives,
            }
            for c in reply.completions
        ],
    } | ({"remarks": list(reply.remarks)} if reply.remarks else {})  # fmt: skip


def completion_in(content: dict[str, Any], model: str) -> Completion:
    """Return a completion as the journal kept it."""
    return Completion(
        text=content["text"],
        model=model,
        truncated=content["truncated"],
        reasoning=content["reasoning"],
        tokens=tuple(content["tokens"]),
        logprobs=tuple(content["logprobs"]),
        alternatives=tuple((token, value) for token, value in content["alternatives"]),
    )
