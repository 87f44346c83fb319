"""The labelled parts of a reply, and where they stand."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Part(StrEnum):
    """A labelled part of a reply."""

    ANSWER = "answer"
    CONFIDENCE = "confidence"
    STEP = "step"
    CLASSES = "classes"
    GROUP = "group"


ANSWER, CONFIDENCE, STEP, CLASSES, GROUP = Part
"""The parts by name: looking a member up in its class is slow, and the reader does it often."""


class Field(NamedTuple):
    """A labelled part: where its label starts, where its value starts and ends.

    What is `quoted` is none of the model's own. What is `borrowed` has the number of a passage and
    the model's own answer: it may contradict, and is never read.
    """

    start: int
    part: Part
    value: int
    end: int = -1
    step: int = 0
    inline: bool = False
    quoted: bool = False
    borrowed: bool = False


class Reply(NamedTuple):
    """A reply, its lower-case twin of the same length, and where its final part begins."""

    text: str
    lower: str
    body: int
    passages: tuple[str, ...] = ()
