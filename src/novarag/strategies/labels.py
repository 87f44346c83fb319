"""Find the labelled parts of a reply ("Answer:", "Confidence:", `<answer>`) in linear time.

Label words are found with `str.find` and confirmed by look-arounds of bounded length, so no reply,
however hostile, costs more than its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.strategies.confidence import Scale, turns_round
from novarag.strategies.parts import (
    ANSWER,
    CLASSES,
    CONFIDENCE,
    GROUP,
    STEP,
    Field,
    Part,
    Reply,
)
from novarag.strategies.quoted_fields import with_quotations

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a format calls its parts, in lower case, and what a bare number means in it.

    `tagged` formats write `<label>value</label>`. `terse` formats ask for nothing but the two
    parts: labels may be left out, and what follows the first block is drift, so the first block
    counts instead of the last. `combine` names the way the confidences of several steps become
    one; None where the format states one confidence. With a `frame` only labels that carry it
    count: no passage can know it.
    """

    answer: tuple[str, ...] = ("answer",)
    confidence: tuple[str, ...] = ("confidence",)
    scale: Scale = Scale.PERCENT
    tagged: bool = False
    terse: bool = False
    combine: str | None = None
    frame: str = ""

    def framed(self, frame: str) -> Labels:
        """Return the labels of a reply that must carry a frame: `Answer[7f3a2c]:`."""
        marks = _frames(frame)
        return Labels(
            answer=tuple([word + mark for word in self.answer for mark in marks]),
            confidence=tuple([word + mark for word in self.confidence for mark in marks]),
            scale=self.scale,
            tagged=self.tagged,
            terse=self.terse,
            combine=self.combine,
            frame=frame,
        )


def _frames(frame: str) -> tuple[str, ...]:
    """Return the spellings of a frame after its label."""
    return f"[{frame}]", f" [{frame}]", f"**[{frame}]", f"\\[{frame}\\]"


_CLASSES, _GROUP = "passage classification", "group judgment"
_DRESSING = " \t\r*_`#>+-\u2022\u00a0"
_DRESSED = 24  # characters of dressing before a step, at most
_DECORATION = frozenset(" \t\r\n*_`\u00a0\u200b")
_OPENERS = frozenset("[<(")
_SENTENCE = frozenset(",.;?!")
_STOPS = frozenset(".:;!?)]>|\u2014\u2013")
_QUALIFIERS = (
    *("final", "correct", "my", "the", "overall", "short", "your", "revised", "updated"),
    *("adjusted", "corrected", "new", "initial", "preliminary", "first"),
)
_DETERMINERS = ("the", "my", "your")
_STEP = re.compile(r"step[ \t]{0,2}([0-9]{1,3})(?:'s)?[ \t*_-]{0,4}$")
_STEP_PREFIX = re.compile(r"step[ \t]{0,2}[0-9]{1,3}[ \t]{0,2}[:.)][ \t*_]{0,4}$")
_COLON = re.compile(
    r"(?:\[[0-9a-f]{6}\])?s?(?:[ _](?:score|level|rating|percentage))?"
    r"(?: in (?:this|my|the) answer)?(?: is)?"
    r"[ \t*_`\"'\])\u00a0]{0,6}"
    r"(?:\([^()\n]{0,60}\)[ \t*_`]{0,4})?[:\uff1a=]"
)
_HEADING = re.compile(r"s?(?:[ _](?:score|level))?[ \t*_`]{0,6}\r?\n")
_DASH = re.compile(r"[ \t*_`]{0,4}(?:[-\u2013\u2014]|is)?[ \t*_`]{1,4}(?=[0-9])")
_NUMERIC = re.compile(r"[ \t*_`\"'$\\~(\[<]{0,12}\.?[0-9]")
_SOURCE = re.compile(
    r"(?:passage|document|doc|source|snippet)[ \t#]{0,2}[0-9]|quot|copied", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"[\[<(][ \t]{0,2}(?:your|insert|the final|the most|the correct|the probability|most likely"
    r"|a number|0% ?-)",
    re.IGNORECASE | re.ASCII,
)
_NO_NUMBER = re.compile(
    r"(?:[\[<({][ \t]{0,2}(?:0[ \t]{0,2}%?[ \t]{0,2}(?:-|\u2013|to)[ \t]{0,2}100[ \t]{0,2}%?"
    r"|[a-z_][^0-9\n]{0,80})[\]>)}]|\.{2,6}|\u2026|_{2,6}|\?{1,3})[ \t]{0,2}%?[ \t*_`]{0,6}$",
    re.IGNORECASE,
)


def find_fields(reply: Reply, labels: Labels) -> list[Field]:
    """Return every labelled, non-empty part in order; each ends before the next begins.

    Parts that stand in a quotation are marked. With a frame none is one: no passage knows it.
    """
    if labels.tagged:
        return _tagged(reply, labels)
    frame = f"[{labels.frame}]" if labels.frame else ""
    found: list[Field] = []
    for part, words in ((ANSWER, labels.answer), (CONFIDENCE, labels.confidence)):
        for word in words:
            if word in reply.lower:  # of the spellings of a frame a reply has one
                _find(reply, word, part, found)
    if found and not labels.terse:
        _find(reply, f"{_CLASSES}s{frame}" if frame else _CLASSES, CLASSES, found)
        _find(reply, f"{_GROUP}{frame}", GROUP, found)
    found.sort()
    if found and not frame:
        found = with_quotations(reply, found, labels.confidence)
    if not labels.terse and True in [f.inline for f in found]:
        found = _without_asides(reply, found)
    return _each_bounded(reply, found, _bounded)


def has_step(reply: Reply, number: int) -> bool:
    """Say whether a line opens with this step; dressing such as ** or - or # may come before."""
    word = f"step {number}"
    at = reply.lower.find(word, reply.body)
    while at >= 0:
        after = at + len(word)
        if not reply.lower[after : after + 1].isdigit() and _opens_line(reply, at):
            return True
        at = reply.lower.find(word, after)
    return False


def _opens_line(reply: Reply, at: int) -> bool:
    floor = max(reply.body, at - _DRESSED)
    start = reply.text.rfind("\n", floor, at) + 1
    if not start and floor > reply.body:
        return False
    return not reply.text[start or floor : at].strip(_DRESSING)


def _without_asides(reply: Reply, found: list[Field]) -> list[Field]:
    """Drop confidences within a line, unless all are, and they follow an answer or a stop."""
    others = any(f.part is CONFIDENCE and not f.inline and not f.quoted for f in found)
    kept: list[Field] = []
    answered = -1
    for field in found:
        if field.inline:
            follows = answered >= 0 and reply.text.find("\n", answered, field.start) < 0
            answered = -1
            if others or not (follows or _stops_at(reply.text, field.start)):
                continue
        elif field.part is ANSWER:
            answered = field.value
        kept.append(field)
    return kept


def _each_bounded(
    reply: Reply, found: list[Field], bound: Callable[[Reply, Field, int], Field | None]
) -> list[Field]:
    """Give each field its value, which ends where the next field begins; drop the empty ones."""
    bounded: list[Field] = []
    limit = len(reply.text)
    for field in reversed(found):
        if whole := bound(reply, field, limit):
            bounded.append(whole)
        limit = field.start
    bounded.reverse()
    return bounded


def _find(reply: Reply, word: str, part: Part, found: list[Field]) -> None:
    """Add every place where the word is a label; the plain "Label:" is settled at once."""
    lower, body, size = reply.lower, reply.body, len(word)
    at = lower.find(word, body)
    while at >= 0:
        after = at + size
        if lower.startswith(":", after) and (at == body or lower[at - 1] == "\n"):
            found.append(Field(at, part, after + 1))
        elif not _runs_on(lower, after) and not _is_word_part(lower, at):
            mark = _COLON.match(lower, after) or _without_colon(reply, after, part)
            if mark is not None and (field := _field(reply, at, mark, part)):
                found.append(field)
        at = lower.find(word, after)


def _is_word_part(lower: str, at: int) -> bool:
    """Say whether a label word is the end of a longer one, such as passage_confidence."""
    if at == 0:
        return False
    before = lower[at - 1]
    if before != "_":
        return before.isalnum()
    return lower[at - 2 : at - 1].isalnum() and _qualified(lower, max(0, at - 16), at) == at


def _qualified(lower: str, floor: int, at: int) -> int:
    """Return where a label begins with its qualifier ("my final answer"), if it has one."""
    start = _word_before(lower, floor, at, _QUALIFIERS)
    return start if start == at else _word_before(lower, floor, start, _DETERMINERS)


def _word_before(lower: str, floor: int, at: int, words: tuple[str, ...]) -> int:
    """Return where one of these words begins, one or two blanks before a place; else the place."""
    head = lower[floor:at]
    bare = head.rstrip(" \t_")
    if not bare.endswith(words) or not 0 < len(head) - len(bare) <= 2:
        return at
    word = next(word for word in words if bare.endswith(word))
    return floor + len(bare) - len(word)


def _field(reply: Reply, at: int, mark: re.Match[str], part: Part) -> Field | None:
    """Accept a label that opens a line; within a line only under stricter conditions."""
    start, opens_line = _line_start(reply, at)
    if mark.re is not _COLON and not (opens_line and _is_bold(reply, mark, start)):
        return None
    value = mark.end()
    if part is CONFIDENCE and "(" in mark[0] and _is_of_others(mark[0]):
        return None
    if part is not CONFIDENCE:
        if not opens_line and not _after_stop(reply.text, start, at):
            return None
    elif start < at and (step := _STEP.search(reply.lower, max(reply.body, at - 16), at)):
        return Field(step.start(), STEP, value, step=int(step[1]))
    elif not opens_line:
        plain = _NUMERIC.match(reply.text, value)
        return Field(start, part, value, inline=True) if plain else None
    return Field(start, part, value)


def _is_of_others(label: str) -> bool:
    """Say whether a label's bracket makes its number the chance of error, or a passage's."""
    return turns_round(label) or _SOURCE.search(label) is not None


def _after_stop(text: str, start: int, at: int) -> bool:
    """Say whether a label within a line follows the end of a sentence, or is a JSON key."""
    if "[" in text[start:at]:
        return False
    return _stops_at(text, start) or text[at - 1 : at] == '"'


def _stops_at(text: str, start: int) -> bool:
    return text[start : start + 4].lstrip()[:1] in _STOPS


def _runs_on(lower: str, after: int) -> bool:
    """Say cheaply that a label word is just a word of a sentence; most are."""
    head = lower[after : after + 1]
    if head == " ":
        second = lower[after + 1 : after + 2]
        return second.isalpha() and second not in "slrip"
    return head in _SENTENCE


def _without_colon(reply: Reply, after: int, part: Part) -> re.Match[str] | None:
    """Match "Confidence - 90%" and a heading on a line of its own."""
    dash = _DASH.match(reply.lower, after) if part is CONFIDENCE else None
    return dash or _HEADING.match(reply.lower, after)


def _is_bold(reply: Reply, mark: re.Match[str], start: int) -> bool:
    """Say whether a label without a colon is a markdown heading, or needs not to be one."""
    return mark.re is _DASH or reply.text[start : start + 1] in {"#", "*"}


def _line_start(reply: Reply, at: int) -> tuple[int, bool]:
    """Say where the label begins with its qualifier and dressing, and whether it opens a line."""
    text, body = reply.text, reply.body
    if at == body or text[at - 1] == "\n":
        return at, True
    start = _qualified(reply.lower, max(body, at - 20), at)
    if start > body and text[start - 1].isalnum():
        start = at
    floor = max(body, start - 24)
    while start > floor and (c := text[start - 1]) != "\n" and not c.isalnum():
        start -= 1
    if start <= body or text[start - 1] == "\n":
        return start, True
    numbered = text[start - 1].isdigit() and (start - 1 <= body or text[start - 2] == "\n")
    return start, numbered or bool(_STEP_PREFIX.search(reply.lower, max(body, at - 16), at))


def _bounded(reply: Reply, field: Field, limit: int) -> Field | None:
    """Give a field its value: the rest of the line, else the next line; None if it is empty."""
    text, start = reply.text, field.value
    while start < limit and text[start] in _DECORATION:
        start += 1
    numeric = field.part is CONFIDENCE or field.part is STEP
    if numeric and start - field.value > 1 and text.count("\n", field.value, start) > 1:
        return None
    end = limit if field.part is CLASSES else text.find("\n", start, limit)
    end = limit if end < 0 else end
    if text[start : start + 1] == '"':
        end = _quoted_end(text, start, end)
    if start >= end:
        return field._replace(value=start, end=start) if field.part is STEP else None
    if not text[start].isalnum() and _is_placeholder(text, start, end, numeric=numeric):
        return None
    at, part, step = field.start, field.part, field.step
    return Field(at, part, start, end, step, field.inline, field.quoted, field.borrowed)


def _is_placeholder(text: str, start: int, end: int, *, numeric: bool) -> bool:
    """Say whether a value is the prompt's own "[your answer]", said back."""
    if text[start] in _OPENERS and _PLACEHOLDER.match(text, start):
        return True
    return numeric and _NO_NUMBER.match(text, start, end) is not None


def _quoted_end(text: str, start: int, end: int) -> int:
    """End a quoted value at its closing quote where JSON goes on after it."""
    close = text.find('"', start + 1, end) + 1
    return close if close and text[close : close + 2].lstrip()[:1] in {",", "}"} else end


def _find_tag(reply: Reply, tag: str, part: Part, found: list[Field]) -> None:
    at = reply.lower.find(tag, reply.body)
    while at >= 0:
        value = at + len(tag)
        found.append(Field(at, part, value))
        at = reply.lower.find(tag, value)


def _tagged(reply: Reply, labels: Labels) -> list[Field]:
    found: list[Field] = []
    for word in labels.answer:
        _find_tag(reply, f"<{word}>", ANSWER, found)
    for word in labels.confidence:
        _find_tag(reply, f"<{word}>", CONFIDENCE, found)
    found.sort()
    closed = _each_bounded(reply, found, _closed)
    return with_quotations(reply, closed, labels.confidence) if closed else closed


def _closed(reply: Reply, field: Field, limit: int) -> Field | None:
    """Give a tagged field its value, up to the tag that closes it; None if it is empty."""
    close = reply.lower.find("</", field.value, limit)
    if close >= 0 and reply.text[field.value : close].strip():
        return Field(field.start, field.part, field.value, close)
    return None
