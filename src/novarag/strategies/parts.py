"""The labelled parts of a reply, and where they stand."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class ReplyPart(StrEnum):
    """A labelled part of a reply."""

    ANSWER = "answer"
    CONFIDENCE = "confidence"
    STEP = "step"
    CLASSES = "classes"
    GROUP = "group"


ANSWER, CONFIDENCE, STEP, CLASSES, GROUP = ReplyPart
"""The parts by name: looking a member up in its class is slow, and the reader does it often."""


class LabelledField(NamedTuple):
    """A labelled part: where its label starts, where its value starts and ends.

    What is `quoted` is none of the model's own. What is `borrowed` has the number of a passage and
    the model's own answer: it may contradict, and is never read.
    """

    start: int
    part: ReplyPart
    value: int
    end: int = -1
    step: int = 0
    inline: bool = False
    quoted: bool = False
    borrowed: bool = False


class ReplyText(NamedTuple):
    """A reply, its lower-case twin of the same length, and where its final part begins.

    `text` has its tags of dressing masked, `said` is as it came. `passages` are those that could be
    the source of a field, in every form; `stated` are the confidences that they state.
    """

    text: str
    lower: str
    body: int
    passages: tuple[str, ...] = ()
    stated: frozenset[float] = frozenset()
    said: str = ""


def each_bounded(
    reply: ReplyText,
    found: list[LabelledField],
    bound: Callable[[ReplyText, LabelledField, int], LabelledField | None],
) -> list[LabelledField]:
    """Give each field its value, which ends where the next field begins; drop the empty ones."""
    bounded: list[LabelledField] = []
    limit = len(reply.text)
    for field in reversed(found):
        if whole := bound(reply, field, limit):
            bounded.append(whole)
        limit = field.start
    bounded.reverse()
    return bounded
