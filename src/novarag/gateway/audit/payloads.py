"""Rows as the spool holds them, and as the database takes them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import orjson

from novarag.gateway.audit.codes import CODES
from novarag.gateway.audit.rows import AuditRow, FeedbackRow, read_id_time

VERSION = 1
"""The form of payloads; one that this code does not know is set aside, never guessed at."""

SOURCE = ("model", "answered", "served", "upstream", "prompt", "settings")
"""What tells one source of answers from another."""
_VALUES = (
    "route", "mode", "status", "decision", "action", "evidence", "flaw", "stated", "confidence",
    "low", "high", "calibrated", "shown", "judgments", "prompt_tokens", "reply_tokens",
    "latency_ms", "question_digest", "passages_digest", "answer_digest", "question_length",
    "passages_length", "answer_length", "question", "passages", "answer",
)  # fmt: skip
DECISION_COLUMNS = ("id", "time", "day", "tenant", "source", *_VALUES)
"""The columns of a decision, in the order of `DecisionRecord.record`."""
FEEDBACK_COLUMNS = ("id", "time", "day", "tenant", "verdict")
"""The columns of feedback, in the order of `FeedbackRecord.record`."""

_ROUTE, _MODE, _DECISION = CODES["route"], CODES["mode"], CODES["decision"]
_ACTION, _EVIDENCE, _FLAW = CODES["action"], CODES["evidence"], CODES["flaw"]


class IdMaps(NamedTuple):
    """The numbers that the database gave to tenants and sources."""

    tenants: dict[str, int]
    sources: dict[tuple[str, ...], int]


class DecisionRecord(NamedTuple):
    """A decision out of the spool."""

    id: str
    time: datetime
    day: date
    tenant: str
    source: tuple[str, ...]
    values: list[Any]

    def record(self, known: IdMaps) -> tuple[Any, ...]:
        """Return its columns."""
        tenant, source = known.tenants[self.tenant], known.sources[self.source]
        return (self.id, self.time, self.day, tenant, source, *self.values)


class FeedbackRecord(NamedTuple):
    """Feedback out of the spool; its day is that of the answer it is about."""

    id: str
    time: datetime
    day: date
    tenant: str
    verdict: int

    def record(self, known: IdMaps) -> tuple[Any, ...]:
        """Return its columns."""
        return (self.id, self.time, self.day, known.tenants[self.tenant], self.verdict)


def to_payload(row: AuditRow | FeedbackRow) -> bytes:
    """Write a row as one line of JSON: its kind, the version of its form, and its fields."""
    if isinstance(row, FeedbackRow):
        verdict = CODES["verdict"][row.verdict]
        return orjson.dumps(["f", VERSION, row.id, row.time_ms, row.tenant, verdict])
    texts = row.texts
    values = (
        "d", VERSION, row.id, row.tenant,
        (row.model, row.answered, row.served, row.upstream, row.prompt, row.settings),
        _ROUTE[row.route], _MODE[row.mode] if row.mode else 0, row.status, _DECISION[row.decision],
        None if row.action is None else _ACTION[row.action],
        None if row.evidence is None else _EVIDENCE[row.evidence],
        None if row.flaw is None else _FLAW[row.flaw],
        row.stated, row.confidence, row.low, row.high, row.calibrated, row.shown, row.judgments,
        row.prompt_tokens, row.reply_tokens, row.latency_ms,
        texts.question_digest, texts.passages_digest, texts.answer_digest,
        texts.question_length, texts.passages_length, texts.answer_length,
        texts.question, texts.passages, texts.answer,
    )  # fmt: skip
    return orjson.dumps(values)


def from_payload(payload: bytes) -> DecisionRecord | FeedbackRecord:
    """Read a payload; ValueError where it is none that this code knows."""
    try:
        kind, version, *rest = orjson.loads(payload)
        if version != VERSION or kind not in {"d", "f"}:
            raise ValueError(f"a record of form {kind!r} {version!r}")
        identity = rest[0]
        made = read_id_time(identity)
        if kind == "f":
            _, millis, tenant, verdict = rest
            said = datetime.fromtimestamp(millis / 1000, UTC)
            return FeedbackRecord(identity, said, made.date(), tenant, verdict)
        _, tenant, source, *values = rest
        if len(source) != len(SOURCE) or len(values) != len(_VALUES):
            raise ValueError("a decision of another length")
        return DecisionRecord(identity, made, made.date(), tenant, tuple(source), values)
    except (orjson.JSONDecodeError, TypeError, LookupError, OverflowError) as error:
        raise ValueError("no record") from error
