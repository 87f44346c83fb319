"""The labelled parts of a reply, where they stand, and what they say.

An answer is read without its dressing, a confidence as a number.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from novarag.records import Flaw
from novarag.strategies.confidence import parse_confidence
from novarag.strategies.copies import squeeze
from novarag.strategies.markup import without_edges

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.strategies.labels import Labels

    Spans = dict[str, tuple[int, int]]
    Stated = tuple[str | None, float | Flaw]

EDGE = " \t\r\n*_`|;,"
"""What dresses an answer on both sides."""

_EDGE_AFTER = EDGE + "\u2014\u2013-"
# Pairs that an answer may stand in as a whole.
_WRAPS = frozenset({"[]", "<>", '""', "\u201c\u201d"})
# A number that a line break cuts in two ("0.\n95", "9\n5 %"): no half of it is the confidence.
_GOES_ON = re.compile(
    r"[0-9.][ \t]{0,8}\n[ \t]{0,8}(?:[0-9]{1,4}[ \t]{0,2}%|\.?[0-9]{1,4}[ \t]{0,8}(?:\n|$)|%)"
)


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


def confidence(
    reply: ReplyText, start: int, end: int, labels: Labels, spans: Spans
) -> float | Flaw:
    """Read the confidence that stands here; a number that the next line goes on with is none."""
    spans["confidence"] = (start, end)
    stated = parse_confidence(reply.text[start:end], labels.scale)
    return Flaw.MALFORMED if _GOES_ON.match(reply.text, end - 1) else stated


def clean(reply: ReplyText, start: int, end: int, spans: Spans) -> str | None:
    """Take the dressing off an answer: emphasis, one pair of brackets or quotes, commas."""
    bare = without_edges(reply.said[start:end].strip()).lstrip(EDGE).rstrip(_EDGE_AFTER)
    if "{" not in bare:
        bare = bare.rstrip("} \t\r\n")
    if len(bare) > 1 and bare[0] + bare[-1] in _WRAPS:
        bare = bare[1:-1].strip()
    if bare.count('"') == 1:
        bare = bare.strip('"')
    bare = bare.strip("*_`")
    if not bare:
        return None
    spans["answer"] = (start, end)
    return bare


def says(reply: ReplyText, field: LabelledField, labels: Labels, stated: Stated) -> bool:
    """Say whether a field holds the answer, or the confidence, that was read."""
    if field.part is ANSWER:
        said = clean(reply, field.value, field.end, {})
        return said == stated[0] or squeeze(said or "") == squeeze(stated[0] or "")
    return parse_confidence(reply.text[field.value : field.end], labels.scale) == stated[1]
