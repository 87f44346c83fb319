"""Replies that state a confidence for each of several steps."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from statistics import fmean
from typing import TYPE_CHECKING

from novarag.records import Flaw
from novarag.strategies.confidence import parse_confidence
from novarag.strategies.parts import ANSWER, STEP, LabelledField, ReplyText, clean, says

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from novarag.strategies.labels import Labels
    from novarag.strategies.parts import Spans, Stated

COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "product": prod,
    "last": lambda steps: steps[-1],
    "min": min,
    "mean": fmean,
}
"""How the confidences of several steps become one."""


def read_steps(
    reply: ReplyText, fields: list[LabelledField], labels: Labels, spans: Spans
) -> Stated:
    """Read the last answer, and combine the confidences of the steps."""
    steps = _told(fields)
    answers = [f for f in fields if f.part is ANSWER]
    last = answers[-1] if answers else None
    answer = None if last is None else clean(reply, last.value, last.end, spans)
    stated = _stated_steps(reply, steps, labels)
    if isinstance(stated, Flaw):
        return answer, stated
    if last and steps[0] < last < steps[-1]:
        return answer, Flaw.DISAGREE
    for field in _after_steps(fields) if len(answers) > 1 else ():
        if not says(reply, field, labels, (answer, 0.0)):
            return answer, Flaw.DISAGREE
    spans["confidence"] = (steps[-len(stated)].value, steps[-1].end)
    return answer, COMBINE[labels.combine or "product"](stated)


def loses_step(fields: list[LabelledField]) -> bool:
    """Say whether a step is stated in a quotation alone."""
    own = {f.step for f in fields if not f.quoted}
    return any(f.quoted and f.step and f.step not in own for f in fields)


def _told(fields: list[LabelledField]) -> list[LabelledField]:
    """Return the fields of steps; an empty one counts only where no other states its step."""
    steps = [f for f in fields if f.part is STEP]
    filled = {f.step for f in steps if f.end > f.value}
    return [f for f in steps if f.end > f.value or f.step not in filled]


def _after_steps(fields: list[LabelledField]) -> list[LabelledField]:
    """Return the answers that end a block of steps, and all that follow the first of these."""
    told = [f for f in fields if f.part is STEP or f.part is ANSWER]
    ends = [b for a, b in pairwise(told) if a.part is STEP and b.part is ANSWER]
    return [f for f in told if f.part is ANSWER and f >= ends[0]] if ends else []


def _stated_steps(
    reply: ReplyText, steps: list[LabelledField], labels: Labels
) -> list[float] | Flaw:
    """Return the confidence of each step, of which each may be stated in one way alone."""
    stated: dict[int, float] = {}
    for field in steps:
        value = parse_confidence(reply.text[field.value : field.end], labels.scale)
        if isinstance(value, Flaw):
            return value
        if stated.setdefault(field.step, value) != value:
            return Flaw.DISAGREE
    if not {f.step for f in steps if not f.borrowed} >= stated.keys():
        return Flaw.QUOTED
    if 1 not in stated:
        return Flaw.NO_CONFIDENCE
    numbers = sorted(stated)
    return [stated[i] for i in numbers] if numbers[-1] == len(numbers) else Flaw.MALFORMED
