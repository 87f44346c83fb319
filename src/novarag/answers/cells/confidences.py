"""What the cells of a confidence column mean, decided from all of them; nothing is guessed.

Percent signs and ratios say it themselves. Bare numbers are of 0 to 1 if none is over 1, and of 0
to 100 if none is between 0 and 1 and some are over 10; all else is for the caller to settle.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from novarag.answers.cells.cell import Cell, CellLook, key_of, look_at, part_of
from novarag.answers.cells.unsettled import (
    SHOWN,
    ColumnValue,
    SettlingOption,
    UnsettledColumn,
    listing,
    shown,
)
from novarag.prose import Blank, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HUNDRED = 100.0  # what a bare percent is out of
WHATEVER = "*"
"""Among marks of unread replies: whatever is no share on any scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSettings:
    """What the caller says of a confidence column.

    `out_of` is what bare numbers are of (1, 100, 10, …); `percent` says 100, and is held against
    the values; `mixed` takes 0.85 and 85 both for 85 %. `values` says what single values mean,
    `unread` which of them mark a reply nobody could read.
    """

    percent: bool = False
    out_of: float | None = None
    mixed: bool = False
    values: Mapping[str, float] = field(default_factory=dict)
    unread: tuple[float | str, ...] = ()

    @property
    def named(self) -> dict[str, float | None]:
        """The meaning of values that the caller named, by their keys."""
        given: dict[str, float | None] = {key_of(v): share for v, share in self.values.items()}
        return given | {key_of(mark): None for mark in self.unread}


class Scale(NamedTuple):
    """What bare numbers are parts of; `mixed` takes those over 1 for percents."""

    top: float
    mixed: bool = False

    def share(self, number: float) -> float:
        """Return a bare number as a share."""
        return part_of(number, HUNDRED if self.mixed and number > 1 else self.top)


@dataclass(frozen=True, slots=True)
class Confidences:
    """A confidence column, decided: its scale, how often each look was seen, what is open."""

    scale: Scale
    counts: Mapping[CellLook, int]
    named: Mapping[str, float | None]
    unsettled: tuple[UnsettledColumn, ...]

    def value(self, cell: Cell) -> float | None:
        """Return what a cell means: a share, or None where the reply could not be read."""
        if self.named and (key := key_of(cell)) in self.named:
            return self.named[key]
        seen = look_at(cell)
        if seen.number is None or seen.looks is CellLook.SIGNED:
            return seen.number
        share = self.scale.share(seen.number)
        return share if 0 <= share <= 1 else None  # refused, unless whatever is no share is unread


class _LookCounts(NamedTuple):
    """The different cells of a column by their looks."""

    column: str
    found: dict[CellLook, list[ColumnValue]]

    def has(self, *looks: CellLook) -> bool:
        return any(self.found.get(one) for one in looks)

    def of(self, *looks: CellLook) -> tuple[ColumnValue, ...]:
        """Return cells of these looks, the earliest first."""
        cells = [one for look in looks for one in self.found.get(look, ())]
        return tuple(sorted(cells, key=lambda one: (one.source, one.row)))

    def open(
        self,
        looks: CellLook | tuple[CellLook, ...],
        why: str,
        *settings: SettlingOption,
        advice: str = "",
    ) -> UnsettledColumn:
        wanted = looks if isinstance(looks, tuple) else (looks,)
        return UnsettledColumn(self.column, self.of(*wanted), why, settings, advice)


def settle_confidences(
    column: str, cells: Iterable[ColumnValue], settings: ConfidenceSettings
) -> Confidences:
    """Decide what a column's cells mean; `cells` has each different one once."""
    named = settings.named
    tally = _LookCounts(column, {})
    for one in cells:
        if not named or key_of(_cell(one)) not in named:
            tally.found.setdefault(look_at(_cell(one)).looks, []).append(one)
    scale, opened = _scale(tally, settings)
    if WHATEVER not in named:
        top = HUNDRED if settings.out_of is None else settings.out_of
        opened += [*_outside(tally, top), *_words(tally)]
    counts = {look: sum(one.count for one in found) for look, found in tally.found.items()}
    return Confidences(scale, counts, named, tuple(opened))


def _cell(one: ColumnValue) -> Cell:
    value = one.value
    return value if value is None or isinstance(value, (str, float, int, bool)) else str(value)


def _scale(tally: _LookCounts, settings: ConfidenceSettings) -> tuple[Scale, list[UnsettledColumn]]:
    if settings.mixed:
        return Scale(1.0, mixed=True), _ones_if_mixed(tally)
    if settings.out_of is not None:
        return Scale(settings.out_of), []
    if settings.percent:
        return Scale(HUNDRED), _fractions_as_percents(tally)
    return _found_scale(tally)


def _found_scale(tally: _LookCounts) -> tuple[Scale, list[UnsettledColumn]]:
    """Find the scale of bare numbers from all of them."""
    if not tally.has(CellLook.FEW, CellLook.MANY):
        return Scale(1.0), _beside_signs(tally)
    if tally.has(CellLook.FRACTION):
        return Scale(1.0), _both_scales(tally)
    if not tally.has(CellLook.MANY):
        return Scale(HUNDRED), [_small_scale(tally)]
    if tally.has(CellLook.ONE) and not tally.has(CellLook.FEW):
        return Scale(HUNDRED), [_one(tally, SettlingOption("percent", True, "for 1 %"))]
    return Scale(HUNDRED), []


def _one(tally: _LookCounts, *settings: SettlingOption) -> UnsettledColumn:
    whole = SettlingOption("values", {"1": 1.0}, "for 100 %")
    return tally.open(CellLook.ONE, "may be 1 % or 100 %", *settings, whole)


def _beside_signs(tally: _LookCounts) -> list[UnsettledColumn]:
    """Leave bare fractions open where others have a percent sign: 0.85 may lack its own."""
    if not (tally.has(CellLook.SIGNED) and tally.has(CellLook.FRACTION, CellLook.ONE)):
        return []
    bare = _bare(tally.of(CellLook.FRACTION, CellLook.ONE)[0])
    why = "without a sign, beside cells with one, may be fractions or percents"
    return [
        tally.open(
            (CellLook.FRACTION, CellLook.ONE), why,
            SettlingOption("out_of", 1, f"if {bare} is {_percent(bare)}"),
            SettlingOption("percent", True, f"if it is {bare} %"),
        )
    ]  # fmt: skip


def _bare(one: ColumnValue) -> str:
    return f"{one.value:.15g}" if isinstance(one.value, float) else str(one.value)


def _percent(bare: str) -> str:
    return f"{100 * (look_at(bare).number or 0):.6g} %"


def _both_scales(tally: _LookCounts) -> list[UnsettledColumn]:
    bare = _bare(tally.of(CellLook.FRACTION)[0])
    large = tally.of(CellLook.FEW, CellLook.MANY)
    beside = f"{sum(one.count for one in large):,} {'row' if len(large) == 1 else 'rows'} over 1"
    first = f"{shown(large[0].value)} in row {large[0].row:,}"
    why = f"beside {beside} ({first}) may be fractions or percents"
    both = tally.open(
        CellLook.FRACTION, why,
        SettlingOption("mixed", True, f"if {bare} is {_percent(bare)}"),
        SettlingOption("percent", True, f"if it is {bare} %"),
    )  # fmt: skip
    return [both, *_ones_if_mixed(tally)]


def _ones_if_mixed(tally: _LookCounts) -> list[UnsettledColumn]:
    if not tally.has(CellLook.ONE):
        return []
    return [_one(tally, SettlingOption("values", {"1": 0.01}, "for 1 %"))]


def _small_scale(tally: _LookCounts) -> UnsettledColumn:
    cells = tally.of(CellLook.ONE, CellLook.FEW)
    largest = max(map(_number, cells))
    tops = [SettlingOption("out_of", top, "") for top in (5, 10) if largest <= top]
    percent = SettlingOption("percent", True, "if they are percents")
    why = "are over 1 and up to 10, so they may be of 5, of 10 or percents"
    return tally.open((CellLook.ONE, CellLook.FEW), why, *tops, percent)


def _fractions_as_percents(tally: _LookCounts) -> list[UnsettledColumn]:
    if tally.has(CellLook.FEW, CellLook.MANY, CellLook.SIGNED) or not tally.has(
        CellLook.FRACTION, CellLook.ONE
    ):
        return []
    why = "are the largest: no value is above 1, so these look like fractions"
    return [
        tally.open(
            (CellLook.FRACTION, CellLook.ONE), why,
            SettlingOption("out_of", 100, "if they are percents all the same"),
            advice=say("else leave `percent` out"),
        )
    ]  # fmt: skip


def _outside(tally: _LookCounts, top: float) -> list[UnsettledColumn]:
    """Leave open numbers that are no part of what numbers are of."""
    numbers = (CellLook.FRACTION, CellLook.ONE, CellLook.FEW, CellLook.MANY, CellLook.OUTSIDE)
    found = tuple(one for one in tally.of(*numbers) if not 0 <= _number(one) <= top)
    if not found:
        return []
    settings = [SettlingOption("unread", _marks(found), "if no reply could be read there")]
    if min(map(_number, found)) > 0:
        settings.insert(0, _larger(max(map(_number, found)), top))
    why = f"{_is(found)} outside 0 to {top:g}"
    return [UnsettledColumn(tally.column, found, why, tuple(settings))]


def _larger(most: float, top: float) -> SettlingOption:
    if top == 1 and most <= HUNDRED:
        return SettlingOption("percent", True, "if this column holds percents")
    return SettlingOption("out_of", Blank("NUMBER"), "if numbers are parts of that")


def _words(tally: _LookCounts) -> list[UnsettledColumn]:
    """Leave words open: nobody but the caller knows what share "high" is."""
    found = tally.of(CellLook.WORD)
    if not found:
        return []
    meanings = {str(one.value): Blank("SHARE") for one in found[:3]}
    settings = (
        SettlingOption("values", meanings, "with the share that each means, such as 90%"),
        SettlingOption("unread", _marks(found), "if no reply could be read there"),
        SettlingOption("reply", tally.column, "to read whole replies"),
    )
    why = f"{_is(found)} not a number" if len(found) == 1 else "are not numbers"
    return [UnsettledColumn(tally.column, found, why, settings)]


def _number(one: ColumnValue) -> float:
    """Return the number of a cell that has one; what is infinite has none."""
    number = look_at(_cell(one)).number
    return -1.0 if number is None else number


def _is(found: tuple[ColumnValue, ...] | list[ColumnValue]) -> str:
    return "is" if len(found) == 1 else "are"


def _marks(found: tuple[ColumnValue, ...] | list[ColumnValue]) -> tuple[str, ...]:
    if sum(one.different for one in found) > SHOWN:
        return (WHATEVER,)
    return tuple(map(_bare, found))


# — what was taken for what —

_BARE = (
    CellLook.ZERO,
    CellLook.FRACTION,
    CellLook.ONE,
    CellLook.FEW,
    CellLook.MANY,
    CellLook.OUTSIDE,
)


def say_confidences(column: str, taken: Confidences, counts: Mapping[str, int]) -> str:
    """Say how a confidence column was read; `counts` has empty and named cells as they stand."""
    bare = sum(taken.counts.get(look, 0) for look in _BARE)
    signed = taken.counts.get(CellLook.SIGNED, 0)
    parts = [f"{signed:,} with their sign, such as 85%"] if signed else []
    parts += [f"{bare:,} {_say_scale(taken)}"] if bare else []
    parts += [_say_named(taken, counts)] if taken.named else []
    unread = sum(counts.values()) - sum(_read_cells(taken, counts).values())
    parts += [f"{unread:,} unread{listing(_unread_cells(taken, counts))}"] if unread else []
    return f"confidence: column {column!r}, {'; '.join(part for part in parts if part)}"


def _say_scale(taken: Confidences) -> str:
    if taken.scale.mixed:
        return "from 0 to 1, or percents where over 1"
    return "from 0 to 1" if taken.scale.top == 1 else f"from 0 to {taken.scale.top:g}"


def _say_named(taken: Confidences, counts: Mapping[str, int]) -> str:
    shares = _read_cells(taken, counts)
    return ", ".join(
        f"{shown(value)} as {taken.value(value):.4g} ({count:,})" for value, count in shares.items()
    )


def _read_cells(taken: Confidences, counts: Mapping[str, int]) -> dict[str, int]:
    return {value: n for value, n in counts.items() if taken.value(value) is not None}


def _unread_cells(taken: Confidences, counts: Mapping[str, int]) -> dict[str, int]:
    return {value: n for value, n in counts.items() if taken.value(value) is None}
