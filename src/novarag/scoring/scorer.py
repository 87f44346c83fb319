"""What a reply is worth, by a strategy, a calibration, a gate and a policy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Self

from novarag.calibration.calibration_file import check_score
from novarag.calibration.gate import STATED, needed
from novarag.calibration.graded_answers import UNKNOWN, AnswerSource
from novarag.calibration.signal_fusion import FUSED_DIGITS, STATED_SIGNAL, is_missing
from novarag.formatting import short_percent
from novarag.prose import say
from novarag.scoring.answer import Answer
from novarag.scoring.decisions import decide_by_gate
from novarag.scoring.policy import rule
from novarag.scoring.provenance import source_notes
from novarag.strategies import STRATEGIES
from novarag.texts import plain_text
from novarag.trials import trial_of
from novarag.uncertainty.token_likelihood import TOKEN_SIGNALS, token_signal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.records import Reading, Trial
    from novarag.scoring.answer import Exchange, GateWord
    from novarag.scoring.policy import Policy
    from novarag.strategies import Strategy
    from novarag.taxonomy import EvidenceState

_ScoreKey = tuple[float, "EvidenceState | None", float | None, float | None]
_MOST_KNOWN = 4096  # stated confidences whose score is kept
NO_GATE = "no gate was given, so nothing says whether this confidence is enough to answer"


class _ScoredConfidence(NamedTuple):
    """What a stated confidence is worth with one evidence state."""

    confidence: float
    interval: tuple[float, float] | None
    decision: GateWord | None
    reason: str
    note: str | None


class Scorer:
    """Reads what was said, and tells how far to trust it and whether to give it.

    Its parts are held against each other and against who answers. What was made from answers of
    another model or prompt is refused unless `other_source` says that it is meant. A gate decides
    by the score that it was set on: the stated confidence, or that of the one calibration it was
    set with. Threads may share a scorer.

    Args:
        strategy: The strategy that reads replies, and made the prompt they answer.
        calibration: What makes a stated confidence a probability; None leaves it as stated.
        gate: What decides whether an answer may be given; None leaves that open.
        policy: What is done by the state of the evidence, where the gate says no or there is none;
            None leaves it at the gate's decision.
        source: The model that answers, by its name; None for one that has no name.
        other_source: Take a calibration or a gate made from answers of another model or prompt.
    """

    def __init__(
        self,
        strategy: Strategy,
        calibration: Calibration | None = None,
        gate: Gate | None = None,
        policy: Policy | None = None,
        *,
        source: str | None = None,
        other_source: bool = False,
    ) -> None:
        self.strategy, self.gate, self._policy = strategy, gate, policy
        self._calibration = calibration
        self._by_stated = gate is not None and gate.score == STATED
        self._because = "" if gate is None else _because(gate)
        if gate is not None and not self._by_stated:
            check_score(gate, calibration)
        self._other_source = other_source
        self._source = AnswerSource(model=source or UNKNOWN, prompt=strategy.template.hash)
        scale = None if calibration is None else calibration.signal
        self._signal = None if scale is None else scale.name
        self._token_signal = self._signal if self._signal in TOKEN_SIGNALS else None
        # Past replies, on which a calibration was fitted, are read by the strategies of the table.
        self._reads_as_fitted = STRATEGIES.get(strategy.name) is strategy
        self._notes = {self._source.model: self._notes_on(self._source)}
        self._known: dict[_ScoreKey, _ScoredConfidence] = {}

    @property
    def needs_logprobs(self) -> bool:
        """Whether replies should come with log-probabilities, for the calibration's signal."""
        return self._token_signal is not None

    def without_policy(self) -> Self:
        """Return a scorer that leaves its answers at the gate's decision."""
        bare = type(self).__new__(type(self))
        bare.__dict__.update(self.__dict__, _policy=None)
        return bare

    def score(self, exchange: Exchange) -> Answer:
        """Read what was said, and tell what it is scored.

        Args:
            exchange: The question with its passages, and what was said to it.
        """
        group, completion = exchange.group, exchange.completion
        asking, reading = exchange.asking or self.strategy, exchange.reading
        if reading is None:
            reading = asking.read(completion.text, group=group, truncated=completion.truncated)
        trial = trial_of(reading, group, asking, 0, completion)
        known = reading if self._reads_as_fitted else None
        return self.score_trial(
            trial, signal=exchange.signal, signals=exchange.signals, reading=known
        )

    def score_trial(
        self,
        trial: Trial,
        *,
        signal: float | None = None,
        signals: Mapping[str, float] | None = None,
        reading: Reading | None = None,
    ) -> Answer:
        """Tell what a reply is worth that was read already.

        Args:
            trial: The question asked once, with what was read.
            signal: Value of the calibration's second signal, where it has one that the tokens of
                the reply do not give.
            signals: Values of the scores that a calibration of several takes, by their names. One
                that is missing counts as the worst, and is named in a note.
            reading: How the reply was read, which saves reading it again for its tokens.
        """
        answer = self._gated(trial, signal, signals or {}, reading)
        return answer if self._policy is None else rule(answer, self._policy)

    def _gated(
        self,
        trial: Trial,
        signal: float | None,
        signals: Mapping[str, float],
        reading: Reading | None,
    ) -> Answer:
        response, notes = trial.response, self._model_notes(trial.completion.model)
        if response is None:
            return _unread(trial, notes)
        judgment, stated = response.judgment, response.confidence
        state = None if judgment is None else judgment.group
        if self._calibration is not None:
            if signal is None and self._token_signal is not None:
                signal = token_signal(self._token_signal, trial, reading)
            notes = self._signal_notes(signal, notes)
        fused, missing = self._fused(stated, signals)
        notes = (*notes, *missing)
        scored = self._score_of(stated, state, signal, fused)
        return Answer(
            question=trial.group.question.text,
            answer=response.answer,
            stated=stated,
            confidence=scored.confidence,
            calibrated=scored.interval is not None,
            interval=scored.interval,
            evidence=state,
            judgments=None if judgment is None else judgment.passages,
            decision=scored.decision,
            reason=scored.reason,
            flaw=None,
            notes=notes if scored.note is None else (*notes, scored.note),
            trial=trial,
        )

    def _fused(
        self, stated: float, signals: Mapping[str, float]
    ) -> tuple[float | None, tuple[str, ...]]:
        """Fuse signals where the calibration does, and say which were missing, or used by none."""
        fusion = None if self._calibration is None else self._calibration.fusion
        taken = () if fusion is None else fusion.names
        notes = [
            say("the calibration uses no signal {!r}", plain_text(name, longest=60))
            for name in signals
            if name not in taken or name == STATED_SIGNAL
        ]
        if fusion is None:
            return None, tuple(notes)
        given = {**signals, STATED_SIGNAL: stated}
        notes += [
            say("no signal {!r} was given: it counts as the worst", plain_text(name, longest=60))
            for name in taken
            if is_missing(given.get(name))
        ]
        return round(fusion.one(given), FUSED_DIGITS), tuple(notes)

    def _score_of(
        self,
        stated: float,
        state: EvidenceState | None,
        signal: float | None,
        fused: float | None = None,
    ) -> _ScoredConfidence:
        """Say what a stated confidence is worth; models state the same few again and again."""
        asked = (stated, state, signal, fused)
        known = self._known.get(asked)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[asked] = self._work_out(stated, state, signal, fused)
        return known

    def _work_out(
        self,
        stated: float,
        state: EvidenceState | None,
        signal: float | None,
        fused: float | None,
    ) -> _ScoredConfidence:
        confidence, interval, note = stated, None, None
        if self._calibration is not None:
            asked = stated if fused is None else fused
            confidence, low, high, note = self._calibration.one(asked, state, signal)
            interval = (low, high)
        decision, reason = self._decide(stated if self._by_stated else confidence, state)
        return _ScoredConfidence(confidence, interval, decision, reason, note)

    def _signal_notes(self, signal: float | None, notes: tuple[str, ...]) -> tuple[str, ...]:
        """Add a word on a signal that is missing, or that nothing uses."""
        if self._signal is None:
            return notes if signal is None else (*notes, say("the calibration uses no `signal`"))
        if signal is not None:
            return notes
        missing = _missing(self._signal)
        gated = self.gate is not None and not self._by_stated
        return (*notes, f"{missing}, which the gate's promise does not cover" if gated else missing)

    def _decide(self, score: float, state: EvidenceState | None) -> tuple[GateWord | None, str]:
        if self.gate is None:
            return None, NO_GATE
        decision, reason = decide_by_gate(self.gate, score, state)
        if self.gate.state in {None, state}:
            reason += self._because
        return decision, reason

    def _model_notes(self, named: str) -> tuple[str, ...]:
        """Return the notes on the model; one that had no name may have got it from its reply."""
        name = named or UNKNOWN if self._source.model == UNKNOWN else self._source.model
        if name not in self._notes:
            self._notes[name] = self._notes_on(replace(self._source, model=name))
        return self._notes[name]

    def _notes_on(self, source: AnswerSource) -> tuple[str, ...]:
        return source_notes(
            source, self._calibration, self.gate,
            by_stated=self._by_stated, other_source=self._other_source,
        )  # fmt: skip


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
        f" on the {score} confidence: at or above it, at most {short_percent(gate.risk)} of answers"
        f" are wrong, with {short_percent(gate.confidence_level)} probability"
    )


def _missing(signal: str) -> str:
    if signal in TOKEN_SIGNALS:
        why = "no log-probabilities of the answer's tokens came with the reply"
        return f"{why}: calibrated without its {signal}"
    return say("no `signal` was given: calibrated without its {}", plain_text(signal, longest=60))
