"""Tell the model's own fields from those that stand in a quotation or copy a passage."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from novarag.strategies.copies import is_copy
from novarag.strategies.parts import ANSWER, CONFIDENCE, GROUP, STEP, Field
from novarag.strategies.quotations import Quotations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.strategies.parts import Reply

_COPIED = 200  # characters after a label that are held against the passages
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,30})?|\.[0-9]{1,30}")
_FRAME = re.compile(r"\[[0-9a-f]{6}\]")  # that a copy may have been given
_WORD = re.compile(r"[^a-zA-Z]{0,8}[a-zA-Z]{1,20}")
_PAIR = {ANSWER: CONFIDENCE, CONFIDENCE: ANSWER}
_NEAR = 40  # characters after a label within which its number begins


def with_quotations(reply: Reply, found: list[Field], words: Sequence[str]) -> list[Field]:
    """Mark the fields that are quoted or borrowed; `words` are the labels of a confidence."""
    quotations = Quotations(reply.text, reply.lower, reply.body)
    marked: list[Field] = []
    for field in found:
        quoted = quotations.holds(field.start, field.value - 1)
        if not quoted and marked and marked[-1].quoted:
            quoted = _goes_on(reply, marked[-1], field)
        marked.append(Field(*field[:6], quoted=True) if quoted else field)
    return _with_copies(reply, marked, words) if reply.passages else marked


def _goes_on(reply: Reply, before: Field, field: Field) -> bool:
    """Say whether a field stands on the line of a quoted one, or is its confidence, just below."""
    breaks = reply.text.count("\n", before.value, field.start)
    below = breaks == 1 and before.part is ANSWER and field.part is CONFIDENCE
    apart = reply.text[field.start - 1 : field.start] == "\n"
    return below or (breaks == 0 and not apart)


def _with_copies(reply: Reply, marked: list[Field], words: Sequence[str]) -> list[Field]:
    """Mark copies of passage text.

    A block is a copy where both its parts are. An answer may well stand in a passage by itself. A
    confidence that does is borrowed, and so is that of a step.
    """
    copied = [f.quoted or _is_copied(reply, f, words) for f in marked]
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


def _is_copied(reply: Reply, field: Field, words: Sequence[str]) -> bool:
    """Say whether a passage holds this label with the same number or the same line after it."""
    said = reply.text[field.value : field.value + _COPIED].lstrip()
    label = _FRAME.sub("", reply.lower[field.start : field.value])
    if field.part is CONFIDENCE:
        number = _NUMBER.search(said, 0, _NEAR)
        word = next((w for w in words if w in label), label)
        return number is not None and any(
            is_copy(f"{word} {spelled}", reply.passages) for spelled in _spellings(number[0])
        )
    if field.part is GROUP:  # its word alone, or anything added behind it would hide the copy
        state = _WORD.match(said)
        return is_copy(label + (state[0] if state else ""), reply.passages)
    number = _NUMBER.search(said, 0, _NEAR) if field.part is STEP else None
    return is_copy(label + (number[0] if number else said.partition("\n")[0]), reply.passages)


def _spellings(number: str) -> set[str]:
    """Return a number as it stands, and without zeros that say nothing."""
    bare = number.rstrip("0").rstrip(".") if "." in number else number
    return {number, bare or "0"}
