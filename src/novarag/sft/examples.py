"""Training examples: the prompt of a kept trial, and what the model should say to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import isclose
from typing import TYPE_CHECKING

from novarag.errors import DataError, UsageError
from novarag.prose import say
from novarag.sft.levels import NO_NUMBER, write_level
from novarag.strategies import LABEL_ONLY
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from novarag.records import PassageGroup, Reading
    from novarag.sft.levels import ConfidenceLevels
    from novarag.strategies import Strategy

_STEP = 0.0001  # the finest confidence that is written: a hundredth of a percent
UNREADABLE = "the answer cannot be read back from two lines"
NO_TARGET = "there is no target to write as its confidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTrial:
    """A trial that the funnel kept, as far as an export needs it."""

    question: str
    group: str
    kind: str | None
    strategy: str
    model: str
    answer: str
    confidence: float
    correct: bool | None
    reply: str
    reasoning: str | None
    prompt_hash: str
    target: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingExample:
    """What is asked and what should be said, with where it comes from.

    `target` is what the confidence was written from, where it was; `fault` says why an example is
    not fit to train on.
    """

    prompt: str
    completion: str
    question: str
    group: str
    kind: str | None
    answer: str
    confidence: float
    correct: bool | None
    tokens: int | None = None
    target: float | None = None
    fault: str | None = None


def make_examples(
    kept: Iterable[KeptTrial],
    groups: Mapping[str, PassageGroup],
    *,
    strategies: Mapping[str, Strategy],
    label_only: bool = False,
    levels: ConfidenceLevels | None = None,
) -> Iterator[TrainingExample]:
    """Render the prompt of each kept trial again, and put the reply beside it.

    With `label_only` the same groups are asked by the strategy `label-only`, and the completion is
    the answer and the confidence alone. With `levels` the level nearest to the trial's target takes
    the place of the confidence that it stated.
    """
    for row, trial in enumerate(kept, start=1):
        group = _group_of(trial, groups, row)
        prompt = _prompt_of(trial, group, strategies, row)
        example = TrainingExample(
            prompt=LABEL_ONLY.render(group).text if label_only else prompt,
            completion=two_lines(trial.answer, trial.confidence) if label_only else whole(trial),
            question=trial.question,
            group=trial.group,
            kind=trial.kind,
            answer=trial.answer,
            confidence=trial.confidence,
            correct=trial.correct,
        )
        if levels is None:
            yield example
        else:
            strategy = LABEL_ONLY if label_only else strategies[trial.strategy]
            yield _levelled(example, trial, levels, partial(strategy.read, group=group))


def _levelled(
    example: TrainingExample,
    trial: KeptTrial,
    levels: ConfidenceLevels,
    reader: Callable[[str], Reading],
) -> TrainingExample:
    """Write the level of a trial's target into the completion."""
    if trial.target is None:
        return replace(example, fault=NO_TARGET)
    level = levels.nearest(trial.target)
    made = write_level(example.completion, levels, level, reader)
    if made is None:
        return replace(example, target=trial.target, fault=NO_NUMBER)
    value = levels.values[level]
    return replace(example, completion=made, confidence=value, target=trial.target)


def _group_of(trial: KeptTrial, groups: Mapping[str, PassageGroup], row: int) -> PassageGroup:
    found = groups.get(trial.group)
    if found is None:
        raise DataError(
            f"the group {plain_text(trial.group)!r} is not in groups.parquet.",
            hint=say("run the same `filter_trials(...)` again."),
            source="kept.parquet",
            row=row,
        )
    return found


def _prompt_of(
    trial: KeptTrial, group: PassageGroup, strategies: Mapping[str, Strategy], row: int
) -> str:
    """Render the prompt that was asked; anything else would teach an answer to another question."""
    strategy = strategies.get(trial.strategy)
    if strategy is None:
        raise UsageError.saying(
            "these trials were asked with the strategy {!r}; name it with"
            " `strategies='package.module:OBJECT'`",
            plain_text(trial.strategy),
        )
    prompt = strategy.render(group)
    if prompt.hash != trial.prompt_hash:
        raise DataError(
            f"the prompt of {plain_text(trial.strategy)!r} has changed since this was asked.",
            hint="export with the version that asked, or ask and filter again.",
            source="kept.parquet",
            row=row,
            column="prompt_hash",
        )
    return prompt.text


def whole(trial: KeptTrial) -> str:
    """Return the reply as it came, led by the reasoning if the server kept that apart."""
    if not trial.reasoning:
        return trial.reply
    return f"<think>\n{trial.reasoning}\n</think>\n\n{trial.reply}"


def two_lines(answer: str, confidence: float) -> str:
    r"""Write an answer and its confidence as the strategy `label-only` asks for them.

    >>> two_lines("Paris", 0.955)
    'Answer: Paris\nConfidence: 95.5%'
    """
    percent = f"{100 * confidence:.2f}".rstrip("0").rstrip(".")
    return f"Answer: {_one_line(answer)}\nConfidence: {percent}%"


def fault_of_two_lines(example: TrainingExample) -> str | None:
    """Say why our reader does not get the answer and the confidence back, or None if it does."""
    reading = LABEL_ONLY.read(example.completion)
    if reading.answer != _one_line(example.answer) or reading.confidence is None:
        return UNREADABLE
    near = isclose(reading.confidence, example.confidence, abs_tol=_STEP)
    return None if near else UNREADABLE


def _one_line(text: str) -> str:
    return " ".join(text.split())
