"""One cell, looked at by itself: a number, a share, nothing, or a word."""

from __future__ import annotations

import re
from enum import Enum
from math import isfinite, isnan
from typing import NamedTuple

Cell = str | float | bool | None
"""What a file may hold where a confidence or a grade is wanted; whole numbers are floats too."""


class CellLook(Enum):
    """What a cell looks like, before the rest of its column is known."""

    EMPTY = "empty"
    SIGNED = "a share with its sign, such as 85% or 9/10"
    ZERO = "0"
    FRACTION = "between 0 and 1"
    ONE = "1"
    FEW = "over 1, up to 10"
    MANY = "over 10, up to 100"
    OUTSIDE = "below 0 or over 100"
    WORD = "no number"


class ObservedCell(NamedTuple):
    """A cell as it looks; `number` is a share where it is signed, None for words and nothing."""

    looks: CellLook
    number: float | None = None


MISSING = frozenset(
    {
        "", "n/a", "na", "n.a.", "n.a", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil",
        "missing", "-", "--", "---", "\u2013", "\u2014", "\\n", "nat", "(empty)", "(null)",
    }
)  # fmt: skip
"""What programs and people write where there is nothing, in lower case."""

_SPACES = " \t\r\n\u00a0\u2007\u2009\u202f\u200b\ufeff"
_WIDE = str.maketrans("０１２３４５６７８９．，％", "0123456789.,%")  # noqa: RUF001
_MARKS = str.maketrans(dict.fromkeys([0xFE0E, 0xFE0F, 0x200D, *range(0x1F3FB, 0x1F400)]))
# "thumbs_up", "thumbs-up" and "thumbs up" are one word; then numbers as cells write them,
# "0,85", "85 %", "1e-3", and marks out of five, ten or a hundred, "9/10".
_JOINED = re.compile(r"(?<=[a-z])[ _-]{1,3}(?=[a-z])")
_NUMBER = re.compile(
    r"([+-]?(?:[0-9]{1,17}(?:[.,][0-9]{0,30})?|[.,][0-9]{1,30})(?:e[+-]?[0-9]{1,3})?)"
    r"[ \u00a0\u202f]{0,3}(%|percent|per cent|pct)?",
    re.ASCII | re.IGNORECASE,
)
_RATIO = re.compile(r"([0-9]{1,3}(?:[.,][0-9]{1,9})?) ?/ ?(5|10|100)", re.ASCII)
_LONGEST = 60  # characters; no number that anybody states is longer


def look_at(cell: Cell) -> ObservedCell:
    """Say what a cell looks like.

    >>> [look_at(cell).number for cell in ("85 %", "0,85", ".85", "85", "high", "n/a")]
    [0.85, 0.85, 0.85, 85.0, None, None]
    """
    if cell is None:
        return ObservedCell(CellLook.EMPTY)
    if isinstance(cell, bool):
        return ObservedCell(CellLook.WORD)
    if isinstance(cell, (int, float)):
        return ObservedCell(CellLook.EMPTY) if isnan(cell) else _bare(float(cell))
    return _look_at_text(cell.strip(_SPACES).translate(_WIDE))


def _look_at_text(text: str) -> ObservedCell:
    if text.lower() in MISSING:
        return ObservedCell(CellLook.EMPTY)
    if len(text) > _LONGEST:
        return ObservedCell(CellLook.WORD)
    if found := _NUMBER.fullmatch(text):
        number = _float(found[1])
        return _signed(part_of(number, 100.0)) if found[2] else _bare(number)
    if found := _RATIO.fullmatch(text):
        return _signed(part_of(_float(found[1]), float(found[2])))
    return ObservedCell(CellLook.WORD)


def _float(text: str) -> float:
    return float(text.replace(",", "."))


def _signed(share: float) -> ObservedCell:
    return (
        ObservedCell(CellLook.SIGNED, share)
        if 0 <= share <= 1
        else ObservedCell(CellLook.OUTSIDE, share)
    )


def _bare(number: float) -> ObservedCell:
    return ObservedCell(look_of(number), number if isfinite(number) else None)


def look_of(number: float) -> CellLook:
    """Say where a bare number stands."""
    if number == 0:
        return CellLook.ZERO
    if not 0 < number <= 100:
        return CellLook.OUTSIDE
    if number < 1:
        return CellLook.FRACTION
    if number == 1:
        return CellLook.ONE
    return CellLook.FEW if number <= 10 else CellLook.MANY


def part_of(number: float, top: float) -> float:
    """Return a number as a part of another, to 15 places, so that a percent is as its fraction.

    >>> part_of(0.007, 100.0), 0.007 / 100
    (7e-05, 7.000000000000001e-05)
    """
    return number if top == 1 else round(number / top * 1e15) / 1e15


def key_of(cell: Cell) -> str:
    """Return what a cell and a setting that names it have in common: 4, 4.0 and " 4" are one.

    >>> key_of(4.0), key_of("4.0 "), key_of(True), key_of("Thumbs_Up")
    ('4', '4', 'true', 'thumbs up')
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, (int, float)):
        return "" if isnan(cell) else f"{cell:.15g}"
    text = cell.strip(_SPACES).translate(_WIDE).translate(_MARKS).casefold()
    if len(text) <= _LONGEST and (found := _NUMBER.fullmatch(text)) and not found[2]:
        return f"{_float(found[1]):.15g}"
    return _JOINED.sub(" ", text)


def number_of(key: str) -> float | None:
    """Return the number that a key is, if it is one."""
    found = _NUMBER.fullmatch(key)
    return None if found is None or found[2] else _float(found[1])
