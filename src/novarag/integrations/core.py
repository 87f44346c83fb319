"""What the adapters share: from a question, passages and what was said to the `novarag` object.

Every adapter hands its tool's own fields to a `ReplyScorer` and lays the object out as its tool
wants it, so the number is the same in each of them, and in the gateway's reply. Nothing is asked: a
model that has replied is all it takes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from novarag.errors import UnknownNameError, UsageError
from novarag.flows.answerer import make_group
from novarag.flows.calibrate import as_calibration
from novarag.flows.gate import as_gate
from novarag.imports import with_extra
from novarag.records import Completion, Passage
from novarag.scoring import Exchange, PassageMeta, Scorer, stated_exchange
from novarag.strategies import COT, FORMATS, STRATEGIES, find_strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.scoring import AnswerObject
    from novarag.strategies import Strategy

    PassageInput = str | Mapping[str, Any] | Passage


class ReplyScorer:
    """Tells what replies are worth that a tool has got, with all that it takes made once.

    Args:
        strategy: How replies are laid out: a strategy, a preset for another format, or
            package.module:OBJECT.
        calibration: A calibration or its file; None leaves confidences as stated.
        gate: A gate or its file; None leaves open whether an answer may be given.
        model: Who answers, which calibration and gate are held against.
        other_source: Take a calibration or a gate made from answers of another model or prompt.
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
        self._model = model or ""
        self._scorer = Scorer(
            find_reader(strategy),
            None if calibration is None else as_calibration(calibration),
            None if gate is None else as_gate(gate),
            source=model,
            other_source=other_source,
        )

    @property
    def threshold(self) -> float | None:
        """The gate's threshold, for tools that show one."""
        return None if self._scorer.gate is None else self._scorer.gate.threshold

    def __call__(
        self,
        question: str,
        passages: Iterable[PassageInput] | None,
        said: str | None,
        confidence: float | None = None,
    ) -> AnswerObject:
        """Score a reply; or, where a `confidence` (0 to 1) was stated, the answer it belongs to."""
        given = [_passage(one) for one in passages or ()]
        shown = [Passage(text=one.text, source=one.source) for one in given]
        group = make_group(question, shown)
        completion = Completion(text=said or "", model=self._model)
        if confidence is None:
            exchange = Exchange(group=group, completion=completion)
        else:
            exchange = stated_exchange(group, completion, confidence)
        return self._scorer.score(exchange).to_dict(given)


def score(
    question: str,
    passages: Iterable[PassageInput] | None,
    said: str | None,
    confidence: float | None = None,
    **settings: Any,  # noqa: ANN401 - those of `ReplyScorer`
) -> AnswerObject:
    """Score one reply, or one answer with its confidence; for many, keep a `ReplyScorer`."""
    return ReplyScorer(**settings)(question, passages, said, confidence)


def find_reader(name: str) -> Strategy:
    """Find a strategy by name, a preset for a foreign format, or import package.module:OBJECT."""
    if name in FORMATS:
        return replace(COT, name=name, labels=FORMATS[name], form=None)
    if ":" not in name and name not in STRATEGIES:
        raise UnknownNameError(name, [*STRATEGIES, *FORMATS])
    return find_strategy(name)


def missing(tool: str, extra: str | None = None) -> UsageError:
    """Make the error of an adapter whose tool is not installed."""
    return UsageError(f"{tool} is not installed: {with_extra(extra or tool)}")


def explained(verdict: AnswerObject) -> str:
    """Say in one line what a verdict rests on, for tools that show a reason."""
    judged = [str(p["judgment"]) for p in verdict["passages"] if p["judgment"]]
    words = [verdict["reason"]]
    if verdict["evidence"]:
        words.append(f"evidence {verdict['evidence']}")
    if judged:
        words.append(f"passages {', '.join(judged)}")
    return "; ".join(words)


def _passage(given: PassageInput) -> PassageMeta:
    """Take a passage as text or as a mapping, which may have a source and an id."""
    if isinstance(given, Passage):
        return PassageMeta(given.text, given.source)
    if isinstance(given, str):
        return PassageMeta(given)
    if "text" not in given:
        raise UsageError.saying("a passage in `passages` is text, or has its text")
    source, name = given.get("source"), given.get("id")
    return PassageMeta(
        text=str(given["text"]),
        source=None if source is None else str(source),
        id=None if name is None else str(name),
    )
