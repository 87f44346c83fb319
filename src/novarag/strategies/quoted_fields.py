"""Tell the model's own fields from those that stand in a quotation or copy a passage."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from novarag.records import Flaw
from novarag.strategies.confidence import parse_confidence
from novarag.strategies.copies import first_values, is_copy, is_stated
from novarag.strategies.parts import ANSWER, CLASSES, CONFIDENCE, GROUP, STEP, LabelledField
from novarag.strategies.quotations import Quotations

if TYPE_CHECKING:
    from novarag.records import NumberScale
    from novarag.strategies.parts import ReplyText

_COPIED = 200  # characters after a label that are held against the passages
_FRAME = re.compile(r"\[[0-9a-f]{6}\]")  # that a copy may have been given
# The word that a label is followed by, which may be an evidence state.
_WORD = re.compile(r"[^a-zA-Z]{0,8}[a-zA-Z]{1,20}")
_BELOW = frozenset(
    {
        *((ANSWER, CONFIDENCE), (STEP, STEP), (STEP, ANSWER)),
        *((CLASSES, GROUP), (GROUP, ANSWER), (CLASSES, ANSWER)),
    }
)  # what goes on with a block; an answer below a confidence begins another
_PAIR = {ANSWER: CONFIDENCE, CONFIDENCE: ANSWER}
_BEFORE = " \t\r\n*_`\u00a0\u200b"
_NEAR = 40  # characters after a label within which its number begins


def with_quotations(
    reply: ReplyText, found: list[LabelledField], scale: NumberScale, *, framed: bool = False
) -> list[LabelledField]:
    """Mark the fields that are quoted or borrowed."""
    quotations = Quotations(reply.text, reply.lower, reply.body, framed=framed)
    marked: list[LabelledField] = []
    for field in found:
        quoted = quotations.holds(field.start, field.value - 1)
        if not quoted and marked and marked[-1].quoted:
            quoted = _goes_on(reply, marked[-1], field)
        marked.append(LabelledField(*field[:6], quoted=True) if quoted else field)
    return _with_copies(reply, marked, scale) if reply.passages else marked


def _goes_on(reply: ReplyText, before: LabelledField, field: LabelledField) -> bool:
    """Say whether a field stands on the line of a quoted one, or goes on with its block, below."""
    breaks = reply.text.count("\n", before.value, field.start)
    below = breaks == 1 and (before.part, field.part) in _BELOW
    apart = reply.text[field.start - 1 : field.start] == "\n"
    return below or (breaks == 0 and not apart)


def _with_copies(
    reply: ReplyText, marked: list[LabelledField], scale: NumberScale
) -> list[LabelledField]:
    """Mark copies of passage text.

    A block is a copy where both its parts are. An answer may well stand in a passage by itself. A
    confidence that does is borrowed, and so is that of a step.
    """
    copied = [f.quoted or _is_copied(reply, f, scale) for f in marked]
    parts = [f.part for f in marked]
    backwards = parts == [CONFIDENCE, ANSWER] * (len(parts) // 2)
    found = []
    for i, field in enumerate(marked):
        if field.quoted or not copied[i]:
            found.append(field)
            continue
        other = i - 1 if (field.part is ANSWER) == backwards else i + 1
        paired = 0 <= other < len(parts) and parts[other] is _PAIR.get(field.part)
        if field.part is ANSWER:
            whole = paired and copied[other]
            found.append(field._replace(quoted=whole))
        elif field.part is STEP or (paired and not copied[other]):
            found.append(field._replace(borrowed=True))
        else:
            found.append(field._replace(quoted=True))
    return found


def _is_copied(reply: ReplyText, field: LabelledField, scale: NumberScale) -> bool:
    """Say whether a passage states this confidence, or holds this label and the line after it."""
    if field.part is CONFIDENCE or field.part is STEP:
        return bool(reply.stated) and _states(reply, field, scale)
    said = reply.text[field.value : field.value + _COPIED].lstrip()
    label = _FRAME.sub("", reply.lower[field.start : field.value])
    if field.part is GROUP:  # its word alone, or anything added behind it would hide the copy
        state = _WORD.match(said)
        return is_copy(label + (state[0] if state else ""), reply.passages)
    return is_copy(label + said.partition("\n")[0], reply.passages)


def _states(reply: ReplyText, field: LabelledField, scale: NumberScale) -> bool:
    """Say whether passages state the value of a field, or what its first number may mean."""
    said = reply.text[field.value : field.value + _COPIED].lstrip(_BEFORE).partition("\n")[0]
    value = parse_confidence(said.partition("</")[0], scale)
    if not isinstance(value, Flaw):
        return is_stated(value, reply.stated)
    return not reply.stated.isdisjoint(first_values(said[:_NEAR]))
