"""One request as the audit keeps it: numbers and digests; texts only where the operator says so."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from novarag.gateway.audit.codes import CODES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.calls import Usage
    from novarag.gateway.decisions import ModelRespondent, PolicyDecision
    from novarag.gateway.http.requests import ParsedQuestion

_LONGEST_NAME = 256  # characters of a name that comes from settings
_INTEGER = 2**31 - 1  # the most that PostgreSQL's `integer` holds


def read_id_time(identity: str) -> datetime:
    """Return the time that an id holds (UUID version 7)."""
    millis = int(identity[:8] + identity[9:13], 16)
    return datetime.fromtimestamp(millis / 1000, UTC)


@dataclass(frozen=True, slots=True)
class TextRecord:
    """What is kept of texts: how long they are, digests of them, and they themselves if wanted."""

    question_digest: int | None = None
    passages_digest: int | None = None
    answer_digest: int | None = None
    question_length: int | None = None
    passages_length: int | None = None
    answer_length: int | None = None
    question: str | None = None
    passages: tuple[str, ...] | None = None
    answer: str | None = None


class TextPolicy:
    """Says what is kept of texts: digests with the operator's key, and no texts unless `keep`."""

    def __init__(self, *, keep: bool = False, key: bytes = b"") -> None:
        self._keep, self._key = keep, key[: blake2b.MAX_KEY_SIZE]

    def record(self, question: str, passages: Sequence[str], answer: str | None) -> TextRecord:
        """Sum up the texts of one request."""
        joined = "\0".join(passages)
        return TextRecord(
            question_digest=self.digest(question),
            passages_digest=self.digest(joined),
            answer_digest=None if answer is None else self.digest(answer),
            question_length=len(question),
            passages_length=sum(map(len, passages)),
            answer_length=None if answer is None else len(answer),
            question=_clean_text(question) if self._keep else None,
            passages=tuple(map(_clean_text, passages)) if self._keep else None,
            answer=_clean_text(answer) if self._keep and answer is not None else None,
        )

    def digest(self, text: str) -> int:
        """Return 64 bits of a keyed hash, as PostgreSQL's bigint holds them."""
        hashed = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key)
        return int.from_bytes(hashed.digest(), "big", signed=True)


def _clean_text(text: str) -> str:
    """Take out what PostgreSQL and JSON cannot hold."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


class AuditRow(NamedTuple):
    """One request and its outcome.

    `model` is the name that the client asked for, `answered` that of the model of the settings file
    whose answer it is, `served` its name at its `upstream`, `prompt` the hash of its template.
    All of these and `mode` are empty where the request named no model of the settings file.
    `decision` is "none" for what was passed on, "failed" for what never got an answer; `shown` says
    whether the user saw the model's answer.
    """

    id: str
    tenant: str
    model: str
    answered: str
    served: str
    upstream: str
    prompt: str
    settings: str
    route: str
    mode: str
    status: int
    decision: str
    action: str | None = None
    evidence: str | None = None
    flaw: str | None = None
    stated: float | None = None
    confidence: float | None = None
    low: float | None = None
    high: float | None = None
    calibrated: bool = False
    shown: bool = False
    judgments: tuple[int, ...] | None = None
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    latency_ms: float | None = None
    texts: TextRecord = TextRecord()


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRow:
    """What a user said of an answer, and when."""

    id: str
    tenant: str
    verdict: str
    time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """What is known of a request beside its outcome, and how its texts are kept.

    `respondent` is missing where the request named no model of ours; `began` is when it came, by
    `time.perf_counter`.
    """

    id: str
    tenant: str
    route: str
    respondent: ModelRespondent | None
    settings: str
    began: float
    text_policy: TextPolicy

    def make_decision_row(
        self,
        asked: ParsedQuestion,
        made: PolicyDecision,
        *,
        shown: bool,
        by: ModelRespondent | None = None,
    ) -> AuditRow:
        """Write the row of a decision; `by` is the model that answered, if not the one asked."""
        answer = made.answer
        low, high = answer.interval or (None, None)
        codes, judged = CODES["judgment"], answer.judgments
        return self._make_row(
            by=by,
            prompt=made.prompt,
            status=200,
            decision=answer.decision,
            action=str(answer.action),
            evidence=answer.evidence and str(answer.evidence),
            flaw=answer.flaw and str(answer.flaw),
            stated=answer.stated,
            confidence=answer.confidence,
            low=low,
            high=high,
            calibrated=answer.calibrated,
            shown=shown,
            judgments=None if judged is None else tuple(codes[word] for word in judged),
            **_count_tokens(made.usage),
            texts=self._record_texts(asked, answer.answer),
        )

    def make_failure_row(self, status: int, asked: ParsedQuestion | None = None) -> AuditRow:
        """Write the row of a request without an answer, by the status that the client was sent."""
        texts = TextRecord() if asked is None else self._record_texts(asked, None)
        return self._make_row(status=status, decision="failed", texts=texts)

    def make_passed_row(self, status: int, usage: Usage | None = None) -> AuditRow:
        """Write the row of a request that was passed on as it came."""
        return self._make_row(status=status, decision="none", shown=True, **_count_tokens(usage))

    def _make_row(
        self,
        *,
        by: ModelRespondent | None = None,
        prompt: str | None = None,
        **more: Any,  # noqa: ANN401 - fields of the row
    ) -> AuditRow:
        """Write the row of this request, with what its outcome adds."""
        return AuditRow(
            id=self.id,
            tenant=self.tenant[:_LONGEST_NAME],
            settings=self.settings,
            route=self.route,
            latency_ms=(time.perf_counter() - self.began) * 1000,
            **self._name_source(by, prompt),
            **more,
        )

    def _name_source(self, by: ModelRespondent | None, prompt: str | None) -> dict[str, Any]:
        """Name who was asked and who answered."""
        asked = self.respondent
        if asked is None:
            return dict.fromkeys(("model", "answered", "served", "upstream", "prompt", "mode"), "")
        answered = by or asked
        return {
            "model": asked.name,
            "answered": answered.name,
            "served": answered.settings.name[:_LONGEST_NAME],
            "upstream": answered.settings.upstream,
            "prompt": answered.strategy.template.hash if prompt is None else prompt,
            "mode": str(asked.settings.mode),
        }

    def _record_texts(self, asked: ParsedQuestion, answer: str | None) -> TextRecord:
        passages = [passage.text for passage in asked.given]
        return self.text_policy.record(asked.group.question.text, passages, answer)


def _count_tokens(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {"prompt_tokens": None, "reply_tokens": None}
    return {
        "prompt_tokens": min(usage.prompt, _INTEGER),
        "reply_tokens": min(usage.completion, _INTEGER),
    }
