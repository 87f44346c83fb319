"""What the adapters share: from a question, passages and what was said to the `novarag` object.

Every adapter hands its tool's own fields to a `Scorer` and lays the object out as its tool wants
it, so the number is the same in each of them, and in the gateway's reply. Nothing is asked: a
model that has replied is all it takes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from novarag.calibration.graded import UNKNOWN, Source
from novarag.errors import UnknownName, UsageError
from novarag.flows.answerer import make_group
from novarag.flows.calibrate import as_calibration
from novarag.flows.gate import as_gate
from novarag.flows.scoring import Scoring
from novarag.imports import with_extra
from novarag.records import Completion, Passage, Reading
from novarag.strategies import COT, FORMATS, STRATEGIES, find_strategy
from novarag.texts import plain_text
from novarag.trials import trial_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.flows.scoring import Answer
    from novarag.records import PassageGroup
    from novarag.strategies import Strategy

    Given = str | Mapping[str, Any] | Passage

VERSION = 1
"""The version of the object, as in the gateway's replies; a test holds both to the same fields."""


class Verdict(TypedDict):
    """What an answer is worth: the gateway's object, with the answer and without its own ids.

    `confidence` and `stated` are None where the reply could not be read, and `flaw` says why; then
    `decision` is "abstain". Without a gate there is no decision on what was read: it is None.
    """

    version: int
    answer: str | None
    confidence: float | None
    interval: list[float] | None
    stated: float | None
    calibrated: bool
    evidence: str | None
    decision: str | None
    reason: str
    passages: list[dict[str, Any]]
    flaw: str | None
    notes: list[str]


class Scorer:
    """Reads what a model said and tells what it is worth, with all that it takes made once.

    `strategy` says how replies are laid out: a strategy, a preset for another format, or
    package.module:OBJECT. `calibration` and `gate` are files, or what was read from them; `model`
    names who answers, which they are held against unless `other_source` says not to. `threshold`
    is the gate's, for tools that show one.
    """

    def __init__(
        self,
        *,
        strategy: str = "nova",
        calibration: str | Path | Calibration | None = None,
        gate: str | Path | Gate | None = None,
        model: str | None = None,
        other_source: bool = False,
    ) -> None:
        self._strategy, self._model = find_reader(strategy), model or UNKNOWN
        decides = None if gate is None else as_gate(gate)
        self.threshold = None if decides is None else decides.threshold
        self._scoring = Scoring(
            Source(model=self._model, prompt=self._strategy.template.hash),
            None if calibration is None else as_calibration(calibration),
            decides,
            other_source=other_source,
        )

    def __call__(
        self,
        question: str,
        passages: Iterable[Given] | None,
        said: str | None,
        confidence: float | None = None,
    ) -> Verdict:
        """Score a reply; or, beside a stated `confidence` (0 to 1), the answer it belongs to."""
        given = [_passage(one) for one in passages or ()]
        group = make_group(question, [passage for passage, _ in given])
        return _verdict(self.answer(group, said or "", confidence), given)

    def answer(self, group: PassageGroup, said: str, confidence: float | None = None) -> Answer:
        """Score what was said about a group, as the record that `answer` returns."""
        reading = (
            self._strategy.read(said, group=group)
            if confidence is None
            else Reading(answer=said, confidence=_checked(confidence), spans={})
        )
        completion = Completion(text=said, model="" if self._model is UNKNOWN else self._model)
        return self._scoring.answer(trial_of(reading, group, self._strategy, 0, completion))


def score(
    question: str,
    passages: Iterable[Given] | None,
    said: str | None,
    confidence: float | None = None,
    **settings: Any,  # noqa: ANN401 - those of `Scorer`
) -> Verdict:
    """Score one reply, or one answer with its confidence; for many, keep a `Scorer`."""
    return Scorer(**settings)(question, passages, said, confidence)


def find_reader(name: str) -> Strategy:
    """Find a strategy by name, a preset for a foreign format, or import package.module:OBJECT."""
    if name in FORMATS:
        return replace(COT, name=name, labels=FORMATS[name], form=None)
    if ":" not in name and name not in STRATEGIES:
        raise UnknownName(name, [*STRATEGIES, *FORMATS])
    return find_strategy(name)


def missing(tool: str, extra: str | None = None) -> UsageError:
    """Make the error of an adapter whose tool is not installed."""
    return UsageError(f"{tool} is not installed: {with_extra(extra or tool)}")


def explained(verdict: Verdict) -> str:
    """Say in one line what a verdict rests on, for tools that show a reason."""
    judged = [str(p["judgment"]) for p in verdict["passages"] if p["judgment"]]
    words = [verdict["reason"]]
    if verdict["evidence"]:
        words.append(f"evidence {verdict['evidence']}")
    if judged:
        words.append(f"passages {', '.join(judged)}")
    return "; ".join(words)


def _passage(given: Given) -> tuple[Passage, str | None]:
    """Take a passage as text or as a mapping; its id goes beside it."""
    if isinstance(given, Passage):
        return given, None
    if isinstance(given, str):
        return Passage(text=given), None
    if "text" not in given:
        raise UsageError("a passage in `passages` is text, or has a `text`")
    source, name = given.get("source"), given.get("id")
    passage = Passage(text=str(given["text"]), source=None if source is None else str(source))
    return passage, None if name is None else str(name)


def _checked(confidence: float) -> float:
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise UsageError(f"`confidence` is a number from 0 to 1, not {type(confidence).__name__}")
    if not 0 <= confidence <= 1:
        raise UsageError(f"`confidence` is from 0 to 1, not {confidence}; divide percents by 100")
    return float(confidence)


def _verdict(answer: Answer, given: list[tuple[Passage, str | None]]) -> Verdict:
    judged = [str(word) for word in answer.judgments or ()]
    judged += [""] * (len(given) - len(judged))
    return Verdict(
        version=VERSION,
        answer=answer.answer,
        confidence=_rounded(answer.confidence),
        interval=None if answer.interval is None else [round(float(x), 4) for x in answer.interval],
        stated=_rounded(answer.stated),
        calibrated=answer.calibrated,
        evidence=None if answer.evidence is None else str(answer.evidence),
        decision=answer.decision,
        reason=plain_text(answer.reason, longest=500),
        passages=[
            {"judgment": word or None, "source": passage.source, "id": name, "shown": True}
            for (passage, name), word in zip(given, judged, strict=False)
        ],
        flaw=None if answer.flaw is None else str(answer.flaw),
        notes=[plain_text(note, longest=300) for note in answer.notes],
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)
