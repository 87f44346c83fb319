"""From one trial to what a caller acts on: confidence, interval, decision and its reason."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from novarag.calibration.gate import STATED, needed, percent
from novarag.calibration.graded import UNKNOWN
from novarag.errors import UsageError
from novarag.flows.access import simulated_note
from novarag.flows.gate import check_score
from novarag.texts import plain_text
from novarag.uncertainty.signals import TOKEN_SIGNALS, token_signal

if TYPE_CHECKING:
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.calibration.graded import Source
    from novarag.records import Flaw, Reading, Trial
    from novarag.taxonomy import EvidenceState, Utility

_MOST_KNOWN = 4096  # stated confidences whose worth is kept
NO_GATE = "no gate was given, so nothing says whether this confidence is enough to answer"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """One answered question: the answer, how far to trust it, and whether to give it.

    `stated` is the confidence in the model's own words. `confidence` is what it is worth: the
    calibrated probability with its 90 % `interval`, or, where no calibration was given
    (`calibrated` is false), the stated one again. A reply that could not be read has neither an
    answer nor a confidence, a `flaw` that says why, and the decision "abstain"; else there is a
    decision where there is a gate. `trial` is the whole record.
    """

    question: str
    answer: str | None
    stated: float | None
    confidence: float | None
    calibrated: bool
    interval: tuple[float, float] | None
    evidence: EvidenceState | None
    judgments: tuple[Utility, ...] | None
    decision: Literal["answer", "abstain"] | None
    reason: str
    flaw: Flaw | None
    notes: tuple[str, ...]
    trial: Trial = field(compare=False)

    def __repr__(self) -> str:
        """Show the answer, its confidence, the evidence and the decision, a line each."""
        found = "unread" if self.answer is None else repr(plain_text(self.answer))
        lines = [
            found,
            *self._confidence(),
            *([] if self.evidence is None else [f"evidence {self.evidence}"]),
            f"{self.decision or 'no decision'}: {self.reason}",
            *(f"note: {plain_text(note)}" for note in self.notes[:3]),
        ]
        text = "\n  ".join(lines)
        return f"Answer({text})"

    def _confidence(self) -> list[str]:
        if self.confidence is None or self.stated is None:
            return []
        if self.interval is None:
            return [f"confidence {self.stated:.0%} as stated, not calibrated"]
        low, high = self.interval
        return [
            f"confidence {self.confidence:.0%} ({low:.0%} to {high:.0%}), stated {self.stated:.0%}"
        ]


class _Worth(NamedTuple):
    """What a stated confidence is worth beside one evidence state."""

    confidence: float
    interval: tuple[float, float] | None
    decision: Literal["answer", "abstain"] | None
    reason: str
    note: str | None


class Scoring:
    """A calibration and a gate, held against each other and against who answers.

    `source` is the model that answers and the hash of its prompt. What was made from answers of
    another is refused unless `other_source` says that it is meant. A gate decides by the score that
    it was set on: the stated confidence, or that of the one calibration it was set with.
    """

    def __init__(
        self,
        source: Source,
        calibration: Calibration | None = None,
        gate: Gate | None = None,
        *,
        other_source: bool = False,
    ) -> None:
        self._calibration, self._gate = calibration, gate
        self._by_stated = gate is not None and gate.score == STATED
        self._because = "" if gate is None else _because(gate)
        if gate is not None and not self._by_stated:
            check_score(gate, calibration)
        self._other_source, self._source = other_source, source
        scale = None if calibration is None else calibration.signal
        self._signal = None if scale is None else scale.name
        self._token_signal = self._signal if self._signal in TOKEN_SIGNALS else None
        self._notes = {source.model: self._about(source)}
        self._known: dict[tuple[float, EvidenceState | None, float | None], _Worth] = {}

    @property
    def needs_logprobs(self) -> bool:
        """Whether replies should come with log-probabilities, for the calibration's signal."""
        return self._token_signal is not None

    def answer(
        self, trial: Trial, *, signal: float | None = None, reading: Reading | None = None
    ) -> Answer:
        """Say what a trial is worth.

        `signal` is the calibration's second signal, if it has one; what follows from the reply's
        tokens is taken from them, and `reading` saves reading the reply again for that.
        """
        response, notes = trial.response, self._about_model(trial.completion.model)
        if response is None:
            return _unread(trial, notes)
        judgment, stated = response.judgment, response.confidence
        state = None if judgment is None else judgment.group
        if self._calibration is not None:
            if signal is None and self._token_signal is not None:
                signal = token_signal(self._token_signal, trial, reading)
            notes = self._about_signal(signal, notes)
        worth = self._worth(stated, state, signal)
        return Answer(
            question=trial.group.question.text,
            answer=response.answer,
            stated=stated,
            confidence=worth.confidence,
            calibrated=worth.interval is not None,
            interval=worth.interval,
            evidence=state,
            judgments=None if judgment is None else judgment.passages,
            decision=worth.decision,
            reason=worth.reason,
            flaw=None,
            notes=notes if worth.note is None else (*notes, worth.note),
            trial=trial,
        )

    def _worth(self, stated: float, state: EvidenceState | None, signal: float | None) -> _Worth:
        """Say what a stated confidence is worth; models state the same few again and again."""
        asked = (stated, state, signal)
        known = self._known.get(asked)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[asked] = self._work_out(stated, state, signal)
        return known

    def _work_out(self, stated: float, state: EvidenceState | None, signal: float | None) -> _Worth:
        confidence, interval, note = stated, None, None
        if self._calibration is not None:
            confidence, low, high, note = self._calibration.one(stated, state, signal)
            interval = (low, high)
        decision, reason = self._decide(stated if self._by_stated else confidence, state)
        return _Worth(confidence, interval, decision, reason, note)

    def _about_signal(self, signal: float | None, notes: tuple[str, ...]) -> tuple[str, ...]:
        """Add a word on a signal that is missing, or that nothing uses."""
        if self._signal is None:
            return notes if signal is None else (*notes, "the calibration uses no `signal`")
        if signal is not None:
            return notes
        missing = _missing(self._signal)
        gated = self._gate is not None and not self._by_stated
        return (*notes, f"{missing}, which the gate's promise does not cover" if gated else missing)

    def _decide(
        self, score: float, state: EvidenceState | None
    ) -> tuple[Literal["answer", "abstain"] | None, str]:
        if self._gate is None:
            return None, NO_GATE
        answers, reason = self._gate.decide(score, state)
        if self._gate.state in {None, state}:
            reason += self._because
        return "answer" if answers else "abstain", reason

    def _about_model(self, named: str) -> tuple[str, ...]:
        """Return the notes on the model; one that had no name may have got it from its reply."""
        name = named or UNKNOWN if self._source.model == UNKNOWN else self._source.model
        if name not in self._notes:
            self._notes[name] = self._about(replace(self._source, model=name))
        return self._notes[name]

    def _about(self, source: Source) -> tuple[str, ...]:
        """Say what is to be known of who answers beside the parts, or refuse them."""
        notes = simulated_note(source.model)
        for made_from, what in self._parts().items():
            differs = made_from.differs_from(source)
            if differs is None:
                notes += _not_known(made_from, source, what)
                continue
            said = (
                f"the {what} made from answers of another {differs}"
                f" ({_short(made_from, differs)}, not {_short(source, differs)})"
            )
            if not self._other_source:
                raise UsageError(
                    f"{said}; make it from answers of this {differs}, or pass `other_source=True`"
                )
            notes.append(said)
        if self._by_stated and self._calibration is not None:
            notes.append("the gate was set on stated confidences, and decides by them")
        return tuple(notes)

    def _parts(self) -> dict[Source, str]:
        """Name the parts by what they were made from, with their verb."""
        calibration, gate = self._calibration, self._gate
        if calibration is not None and gate is not None and calibration.source == gate.source:
            return {gate.source: "calibration and the gate were"}
        parts = {} if calibration is None else {calibration.source: "calibration was"}
        return parts if gate is None else {**parts, gate.source: "gate was"}


def _unread(trial: Trial, notes: tuple[str, ...]) -> Answer:
    return Answer(
        question=trial.group.question.text,
        answer=None,
        stated=None,
        confidence=None,
        calibrated=False,
        interval=None,
        evidence=None,
        judgments=None,
        decision="abstain",
        reason=f"the reply could not be read: {trial.flaw}",
        flaw=trial.flaw,
        notes=notes,
        trial=trial,
    )


def _because(gate: Gate) -> str:
    """Say what a gate's threshold is for, or what it would take to have one."""
    if gate.threshold is None:
        return f": {needed(gate)}"
    score = "stated" if gate.score == STATED else "calibrated"
    return (
        f" {score}, from where at most {percent(gate.risk)} of answers are wrong"
        f" ({percent(gate.sure)} sure)"
    )


def _missing(signal: str) -> str:
    if signal in TOKEN_SIGNALS:
        why = "no log-probabilities of the answer's tokens came with the reply"
        return f"{why}: calibrated without its {signal}"
    return f"no `signal` was given: calibrated without its {plain_text(signal, longest=60)}"


def _not_known(made_from: Source, source: Source, what: str) -> list[str]:
    """Say what could not be compared because one side does not name it."""
    notes = []
    missing = [name for name in ("model", "prompt") if getattr(made_from, name) == UNKNOWN]
    if missing:
        notes.append(f"the {what} made from answers of an unknown {' and '.join(missing)}")
    if source.model == UNKNOWN != made_from.model:
        model = _short(made_from, "model")
        notes.append(f"the {what} made from answers of {model}; this model has no name")
    return notes


def _short(source: Source, name: str) -> str:
    """Show a model's name, or the first digits of a prompt's hash."""
    value = str(getattr(source, name))
    return plain_text(value[:12] if name == "prompt" else value, longest=60)
