"""What a `Scorer` takes and gives: what was said to a question, and the answer made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypedDict

from novarag.errors import UsageError
from novarag.formatting import span, whole_percent
from novarag.records import Reading
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.ports import Asking
    from novarag.records import Completion, Flaw, PassageGroup, Trial
    from novarag.scoring.policy import Action
    from novarag.taxonomy import EvidenceState, Utility

    GateWord = Literal["answer", "abstain"]
    Decided = GateWord | Literal["clarify"]

VERSION = 1
"""The version of the object that `Answer.to_dict` returns; it changes with a field's meaning."""


class PassageMeta(NamedTuple):
    """A passage as its sender gave it: its text, and what the sender calls it."""

    text: str
    source: str | None = None
    date: str | None = None
    id: str | None = None


class NamedPassage(Protocol):
    """Whatever says where a passage comes from and what its sender calls it."""

    @property
    def source(self) -> str | None:
        """Where the passage comes from."""

    @property
    def id(self) -> str | None:
        """What its sender calls it."""


class AnswerObject(TypedDict):
    """An answer as JSON: the gateway's object and every adapter's.

    `confidence` and `stated` are None where the reply could not be read, and `flaw` says why; then
    `decision` is "abstain" unless a policy says otherwise. Without a gate and a policy there is no
    decision on what was read: it is None. `action` is what a policy did, None where there is none.
    """

    version: int
    answer: str | None
    confidence: float | None
    interval: list[float] | None
    stated: float | None
    calibrated: bool
    evidence: str | None
    decision: str | None
    action: str | None
    reason: str
    passages: list[dict[str, Any]]
    flaw: str | None
    notes: list[str]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """One answered question: the answer, how far to trust it, and whether to give it.

    `stated` is the confidence in the model's own words. `confidence` is what it is worth: the
    calibrated probability with its 90 % `interval`, or, where no calibration was given
    (`calibrated` is false), the stated one again. A reply that could not be read has neither an
    answer nor a confidence, a `flaw` that says why, and the decision "abstain"; else there is a
    decision where there is a gate or a policy, and `reason` says what decided. `action` is what
    the policy wants done. `trial` is the whole record.
    """

    question: str
    answer: str | None
    stated: float | None
    confidence: float | None
    calibrated: bool
    interval: tuple[float, float] | None
    evidence: EvidenceState | None
    judgments: tuple[Utility, ...] | None
    decision: Decided | None
    reason: str
    flaw: Flaw | None
    notes: tuple[str, ...]
    trial: Trial = field(compare=False)
    action: Action | None = None

    def __repr__(self) -> str:
        """Show the answer, its confidence, the evidence and the decision, a line each."""
        found = "unread" if self.answer is None else repr(plain_text(self.answer))
        lines = [
            found,
            *self.confidence_lines(),
            *([] if self.evidence is None else [f"evidence {self.evidence}"]),
            f"{self.decision or 'no decision'}: {self.reason}",
            *(f"note: {plain_text(note)}" for note in self.notes[:3]),
        ]
        text = "\n  ".join(lines)
        return f"Answer({text})"

    def _repr_html_(self) -> str:
        from novarag.report.fragments import show_answer

        return show_answer(self)

    def confidence_lines(self) -> list[str]:
        """Say how far to trust the answer, in a line; nothing of a reply that could not be read."""
        if self.confidence is None or self.stated is None:
            return []
        if self.interval is None:
            return [f"confidence {whole_percent(self.stated)} as stated, not calibrated"]
        low, high = self.interval
        return [
            f"confidence {whole_percent(self.confidence)} ({span(low, high, whole_percent)}),"
            f" stated {whole_percent(self.stated)}"
        ]

    def to_dict(
        self,
        passages: Sequence[NamedPassage] | None = None,
        shown: Sequence[int] | None = None,
    ) -> AnswerObject:
        """Lay the answer out as values of JSON, for a reply, a log or another tool.

        Args:
            passages: The passages as they were given, with the ids of their sender; None takes
                those of the record, which have no ids.
            shown: The numbers of the passages that this answer rests on, where it was asked for
                with some of them alone; None means all.
        """
        return {
            "version": VERSION,
            "answer": self.answer,
            "confidence": _rounded(self.confidence),
            "interval": None
            if self.interval is None
            else [round(float(x), 4) for x in self.interval],
            "stated": _rounded(self.stated),
            "calibrated": self.calibrated,
            "evidence": None if self.evidence is None else str(self.evidence),
            "decision": self.decision,
            "action": None if self.action is None else str(self.action),
            "reason": plain_text(self.reason, longest=500),
            "passages": self._passages(passages, shown),
            "flaw": None if self.flaw is None else str(self.flaw),
            "notes": [plain_text(note, longest=300) for note in self.notes],
        }

    def _passages(
        self, given: Sequence[NamedPassage] | None, shown: Sequence[int] | None
    ) -> list[dict[str, Any]]:
        if given is None:
            given = [PassageMeta(p.text, p.source) for p in self.trial.group.passages]
        places = range(len(given)) if shown is None else shown
        judged = dict(zip(places, map(str, self.judgments or ()), strict=False))
        return [
            {"judgment": judged.get(i), "source": p.source, "id": p.id, "shown": i in places}
            for i, p in enumerate(given)
        ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A group and the completion that answers it.

    The completion is a whole reply, which is read as the scorer's strategy lays replies out, or as
    `asking` does, which is that strategy with labels of this one prompt. A `reading` saves reading
    it. `signal` is the value of the calibration's second signal, where its tokens do not give it;
    `signals` are the scores, by name, of a calibration that takes several.
    """

    group: PassageGroup
    completion: Completion
    asking: Asking | None = None
    reading: Reading | None = None
    signal: float | None = None
    signals: Mapping[str, float] | None = None


def stated_exchange(group: PassageGroup, completion: Completion, confidence: float) -> Exchange:
    """Make the exchange of an answer, not a reply, beside which a confidence was stated.

    Args:
        group: The question with its passages.
        completion: The answer alone, and who gave it.
        confidence: The stated confidence, from 0 to 1.
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise UsageError.saying(
            "`confidence` is a number from 0 to 1, not {}", type(confidence).__name__
        )
    if not 0 <= confidence <= 1:
        raise UsageError.saying(
            "`confidence` is from 0 to 1, not {}; divide percents by 100", confidence
        )
    reading = Reading(answer=completion.text, confidence=float(confidence), spans={})
    return Exchange(group=group, completion=completion, reading=reading)
