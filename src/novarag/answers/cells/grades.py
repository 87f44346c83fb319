"""What the cells of a grade column mean: right, wrong, or not graded; nothing is guessed.

Words and signs that mean right or wrong by themselves are known. Numbers are known if they are 0
and 1 alone: among other numbers a 1 may be one star of five. All else is for the caller to settle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from novarag.answers.cells.cell import MISSING, Cell, key_of, number_of
from novarag.answers.cells.unsettled import (
    SHOWN,
    ColumnValue,
    SettlingOption,
    UnsettledColumn,
    listing,
)
from novarag.answers.cells.words import RIGHT, UNGRADED, WRONG
from novarag.prose import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What counts as right, said by a bound: ">=0.5", "> 80%".
_BOUND = re.compile(r"(>=|<=|>|<) ?(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)(%?)", re.ASCII)
_HALF = ">=0.5"
_STARS = 5  # whole numbers from 1 to this are ratings, of which 4 and 5 count as right


class Grading(Enum):
    """What a grade says, or that the column does not settle it."""

    RIGHT = "right"
    WRONG = "wrong"
    UNGRADED = "not graded"
    NUMBER = "a number"
    OTHER = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeSettings:
    """What the caller says of a grade column: which values mean right, wrong, not graded.

    With `right` alone all others are wrong, with `wrong` alone all others are right. A value may be
    a bound such as ">=0.5".
    """

    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    ungraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grades:
    """A grade column, decided: what each value counts as, and what is open."""

    settings: GradeSettings
    counts: Mapping[Grading, Mapping[str, int]]
    unsettled: tuple[UnsettledColumn, ...]

    def value(self, cell: Cell) -> bool | None:
        """Return whether a cell means right; None where nobody graded."""
        said = _said(cell, self.settings)
        if said is Grading.NUMBER:
            said = _BINARY.get(key_of(cell), Grading.OTHER)
        return {Grading.RIGHT: True, Grading.WRONG: False}.get(said)


_BINARY = {"1": Grading.RIGHT, "0": Grading.WRONG}


def settle_grades(column: str, cells: Iterable[ColumnValue], settings: GradeSettings) -> Grades:
    """Decide what a column's cells mean; `cells` has each different one once."""
    found: dict[Grading, list[ColumnValue]] = {}
    for one in sorted(cells, key=lambda one: (one.source, one.row)):
        found.setdefault(_said(_cell(one), settings), []).append(one)
    opened = []
    numbers = found.pop(Grading.NUMBER, [])
    if {key_of(_cell(one)) for one in numbers} <= set(_BINARY):
        for one in numbers:
            found.setdefault(_BINARY[key_of(_cell(one))], []).append(one)
    else:
        opened.append(_numbers(column, numbers))
    if strangers := found.get(Grading.OTHER):
        opened.append(_strangers(column, strangers, found))
    counts: dict[Grading, dict[str, int]] = {
        said: _counted(ones) for said, ones in found.items() if said is not Grading.OTHER
    }
    return Grades(settings, counts, tuple(opened))


def _cell(one: ColumnValue) -> Cell:
    value = one.value
    return value if value is None or isinstance(value, (str, float, int, bool)) else str(value)


def _counted(found: Iterable[ColumnValue]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in found:
        shown = "" if one.value is None else str(one.value)
        counts[shown] = counts.get(shown, 0) + one.count
    return counts


def _said(cell: Cell, settings: GradeSettings) -> Grading:
    key = key_of(cell)
    for said, named in (
        (Grading.UNGRADED, settings.ungraded),
        (Grading.RIGHT, settings.right),
        (Grading.WRONG, settings.wrong),
    ):
        if named and _is_one_of(key, named):
            return said
    if key in MISSING or key in UNGRADED:
        return Grading.UNGRADED
    if settings.right or settings.wrong:
        return _rest(settings)
    if key in RIGHT:
        return Grading.RIGHT
    if key in WRONG:
        return Grading.WRONG
    return Grading.OTHER if number_of(key) is None else Grading.NUMBER


def _rest(settings: GradeSettings) -> Grading:
    if settings.right and settings.wrong:
        return Grading.OTHER
    return Grading.WRONG if settings.right else Grading.RIGHT


def _is_one_of(key: str, named: Iterable[str]) -> bool:
    return any(_holds(key, one) for one in named)


def _holds(key: str, named: str) -> bool:
    bound = _BOUND.fullmatch(named.strip())
    if bound is None:
        return key == key_of(named)
    number = number_of(key)
    if number is None:
        return False
    limit = float(bound[2]) / (100 if bound[3] else 1)
    over = {">=": number >= limit, ">": number > limit, "<=": number <= limit}
    return over.get(bound[1], number < limit)


def _numbers(column: str, found: list[ColumnValue]) -> UnsettledColumn:
    """Leave numbers open that are not 0 and 1 alone."""
    keys = sorted({key_of(_cell(one)) for one in found}, key=lambda key: number_of(key) or 0.0)
    why = "are numbers other than 0 and 1"
    if len(found) == 1:
        why = "is a number other than 0 and 1"
    settings = [
        SettlingOption("right", _good(keys), "if that means right; all others are then wrong")
    ]
    if "0" in keys or "-1" in keys:
        left = "0" if "0" in keys else "-1"
        settings.append(SettlingOption("ungraded", (left,), "beside that, if nobody graded there"))
    return UnsettledColumn(column, tuple(found), why, tuple(settings))


def _good(keys: list[str]) -> tuple[str, ...]:
    numbers = [number_of(key) or 0.0 for key in keys]
    if all(n.is_integer() for n in numbers) and len(keys) <= SHOWN:
        stars = min(numbers) >= 1 and max(numbers) <= _STARS
        return ("4", "5") if stars and len(keys) > 1 else (keys[-1],)
    return (_HALF,) if max(numbers) <= 1 else (f">={keys[-1]}",)


def _strangers(
    column: str, found: list[ColumnValue], known: Mapping[Grading, list[ColumnValue]]
) -> UnsettledColumn:
    why = "is neither right nor wrong" if len(found) == 1 else "are neither right nor wrong"
    listed = tuple(key for key in (str(one.value) for one in found[:SHOWN]) if key)
    right = tuple(str(one.value) for one in known.get(Grading.RIGHT, ())) or listed[:1]
    alone = "if that alone means right; all others are then wrong"
    settings = [SettlingOption("right", right[:SHOWN], alone)]
    if len(found) <= SHOWN:  # where right and wrong are known, these are likely neither
        first = bool(known.get(Grading.RIGHT) and known.get(Grading.WRONG))
        settings.insert(
            0 if first else 1, SettlingOption("ungraded", listed, "if nobody graded there")
        )
    advice = "" if len(found) <= SHOWN else say("or name another column as `correct`")
    return UnsettledColumn(column, tuple(found), why, tuple(settings), advice)


def say_grades(column: str, taken: Grades, empty: int = 0) -> str:
    """Say how a grade column was read; `empty` cells have nothing in them."""
    parts = []
    for said in (Grading.RIGHT, Grading.WRONG, Grading.UNGRADED):
        counts = dict(taken.counts.get(said, {}))
        if empty and said is Grading.UNGRADED:
            counts[""] = counts.get("", 0) + empty
        if counts or said is not Grading.UNGRADED:
            parts.append(f"{sum(counts.values()):,} {said.value}{listing(counts)}")
    return f"correct: column {column!r}, {'; '.join(parts)}"
