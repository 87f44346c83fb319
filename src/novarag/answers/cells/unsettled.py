"""What a table does not settle by itself: values, how often, where first, and what settles them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from novarag.errors import DataError
from novarag.prose import Blank, Parameter, Prose, join_prose
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

Value = bool | float | str | tuple[str, ...] | Mapping[str, object]

_MOST_VALUES = 6  # values that a line on a column lists
SHOWN = 8
"""How many different values of one kind are listed; the others are counted."""


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """One value of a column: as it stands there, in how many rows, and where first.

    `different` is over 1 where it stands for several that are not listed by themselves.
    """

    value: object
    count: int
    row: int
    source: str = ""
    different: int = 1


class SettlingOption(NamedTuple):
    """A setting that settles a value, and what it then means.

    A `Blank` among its values is for the caller to fill in.
    """

    parameter: str
    value: Value
    means: str


class UnsettledColumn(NamedTuple):
    """Values of one column that could mean two things, or nothing known, for one reason.

    `why` follows the values: "may be 1 % or 100 %". Each setting settles all of them.
    """

    column: str
    found: tuple[ColumnValue, ...]
    why: str
    settings: tuple[SettlingOption, ...]
    advice: str = ""

    @property
    def rows(self) -> int:
        """In how many rows it stands."""
        return sum(one.count for one in self.found)

    def words(self, *, place: bool = True) -> Prose:
        """Say it in one sentence or two, with what settles it."""
        listed = [_listed(one, place=place) for one in self.found[:SHOWN]]
        if len(self.found) > SHOWN:
            more = self.found[SHOWN:]
            different, rows = (sum(getattr(one, n) for one in more) for n in ("different", "count"))
            listed.append(f"{different:,} more ({rows:,} rows)")
        return Prose(f"{', '.join(listed)} {self.why}. Fix: ".lstrip(), self.fix(), ".")

    def fix(self) -> Prose:
        """Say what settles it."""
        choices = join_prose(", or ", map(_choice, self.settings))
        said = Prose("pass ", choices) if choices else choices
        return join_prose("; ", [part for part in (said, self.advice) if part])


def _choice(one: SettlingOption) -> Prose:
    return Prose(Parameter(one.parameter, one.value), f" {one.means}" if one.means else "")


def _listed(one: ColumnValue, *, place: bool) -> str:
    rows = "" if one.count == 1 else f"{one.count:,} rows"
    first = (f"first in row {one.row:,}" if rows else f"row {one.row:,}") if place else ""
    beside = ", ".join(part for part in (rows, first) if part)
    value = shown(one.value) if one.value != "" else ""
    return f"{value} ({beside})".strip() if beside else value


def shown(value: object) -> str:
    """Write a value of a table so that it can be told from words around it.

    >>> shown("high"), shown(95.0), shown("x" * 60)[-3:]
    ("'high'", '95', "x…'")
    """
    if isinstance(value, float):
        return f"{value:.15g}"
    return repr(plain_text(value, longest=40)) if isinstance(value, str) else repr(value)


def listing(counts: Mapping[str, int]) -> str:
    """List values with their counts, the most common first."""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    said = [f"{shown(v) if v else 'empty'} {n:,}" for v, n in ranked[:_MOST_VALUES]]
    more = f", {len(ranked) - _MOST_VALUES:,} other values" if len(ranked) > _MOST_VALUES else ""
    return f" ({', '.join(said)}{more})" if said else ""


def _to_fill_in(value: Value) -> bool:
    values = value.values() if isinstance(value, Mapping) else [value]
    return any(isinstance(one, Blank) for one in values)


class UnsettledTable(DataError):  # noqa: N818 - a state of a table
    """A table cannot be read before something is settled; `parts` has all of it at once."""

    def __init__(self, parts: Sequence[UnsettledColumn], *, source: str) -> None:
        self.parts = tuple(parts)
        first = self.parts[0]
        at = min((one.row for one in first.found), default=None)
        where = next((one.source for one in first.found if one.source), source)
        super().__init__(
            f"{first.why}.", hint=first.fix(), source=where, row=at, column=first.column
        )
        self.source = source
        self.args = (self.words(),)

    def words(self) -> Prose:
        """Say everything, a line each."""
        if len(self.parts) > 1:
            lines = [Prose(f"- column {p.column!r}: ", p.words()) for p in self.parts]
            head = f"{self.source}: {len(lines)} things are to be settled before this can be read."
            return join_prose("\n", [head, *lines])
        part = self.parts[0]
        one = part.found[0] if len(part.found) == 1 else None
        source = one.source if one and one.source else self.source
        row = f", row {one.row}" if one else ""
        return Prose(f"{source}{row}, column {part.column!r}: ", part.words(place=one is None))

    def example(self) -> dict[str, Value]:
        """Return settings that settle everything: the first of each part that names its values."""
        found: dict[str, Value] = {}
        for part in self.parts:
            whole = [one for one in part.settings if not _to_fill_in(one.value)]
            if not whole:
                return {}
            name, value = whole[0].parameter, whole[0].value
            before = found.get(name)
            if isinstance(before, tuple) and isinstance(value, tuple):
                value = (*before, *value)
            found[name] = value
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return partial(UnsettledTable, source=self.source or ""), (self.parts,)


# — columns —

_MOST_NAMES = 20  # columns that a message lists


def find_column(wanted: str, names: Sequence[str]) -> str | tuple[str, ...]:
    """Return the column that is meant, or all that may be.

    >>> find_column("confidence", ["id", "Confidence "]), find_column("up", ["scores.up", "x"])
    ('Confidence ', 'scores.up')
    """
    if wanted in names:
        return wanted
    for spelt in (_spelling, lambda name: _spelling(name.rpartition(".")[2])):
        found = tuple(name for name in names if spelt(name) == _spelling(wanted))
        if found:
            return found[0] if len(found) == 1 else found
    return ()


def _spelling(name: str) -> str:
    return name.strip().casefold().replace("_", " ").replace("-", " ")


def no_column(
    wanted: str, names: Sequence[str], *, parameter: str, fitting: Sequence[str] = ()
) -> UnsettledColumn:
    """Say that there is no such column, or that several may be meant.

    `fitting` names the columns whose values would do; a single one is proposed.
    """
    several = find_column(wanted, names)
    if isinstance(several, tuple) and several:
        settings = tuple(SettlingOption(parameter, name, "") for name in several[:5])
        return UnsettledColumn(wanted, (), "several columns may be meant", settings)
    near = get_close_matches(wanted, names, n=1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    advice = f"the columns are {listed(names)}"
    why = f"there is no such column{meant}"
    fix = SettlingOption(parameter, Blank("NAME"), "")
    if len(fitting) == 1:
        fix = SettlingOption(parameter, fitting[0], "if that says it, as its values do")
    return UnsettledColumn(wanted, (), why, (fix,), advice)


def listed(names: Sequence[str]) -> str:
    """Name columns, up to twenty of them."""
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"
