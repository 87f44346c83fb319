"""Numbers, units and dates in a text: 1,000 = 1000 = one thousand, and 90 minutes = 1.5 hours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_YEAR_ROUND = (
    "january february march april may june july august september october november december"
)
_MONTHS = _YEAR_ROUND.split()
_MONTH = {name: i for i, name in enumerate(_MONTHS, 1)} | {
    name[:3]: i for i, name in enumerate(_MONTHS, 1)
} | {"sept": 9}  # fmt: skip
# Parts of a date, named anew in each form, since a pattern may use a name once. Years are from
# 1000 to 2099: other numbers of four digits are more often counts.
_M = r"(?P<{0}>" + "|".join(sorted(_MONTH, key=len, reverse=True)) + r")\b\.?"
_Y = r"(?P<{0}>1[0-9]{{3}}|20[0-9]{{2}})(?![0-9])"
_D = r"(?P<{0}>[0-3]?[0-9])(?:st|nd|rd|th)?"
# "3 May 1871", "May 3, 1871", "May 1871", "1871-05-03".
_DATE = re.compile(
    r"\b(?:"
    + rf"{_D.format('d1')}(?:\s+of)?\s+{_M.format('m1')}(?:,?\s+{_Y.format('y1')})?"
    + rf"|{_M.format('m2')}\s+{_D.format('d2')}(?![0-9])(?:,?\s+{_Y.format('y2')})?"
    + rf"|{_M.format('m3')},?\s+(?:of\s+)?{_Y.format('y3')}"
    + r"|(?P<y4>1[0-9]{3}|20[0-9]{2})-(?P<m4>[01][0-9])-(?P<d4>[0-3][0-9])(?![0-9])"
    + r")",
    re.IGNORECASE | re.ASCII,
)
# A year by itself: no price, no decade ("1990s"), no part of a longer number, no percentage.
_YEAR = re.compile(r"(?<![\w$\u00a3\u20ac.,])(1[0-9]{3}|20[0-9]{2})(?!s?\w|[.,][0-9]|%)", re.ASCII)
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen"
)
_UNITS = {word: i for i, word in enumerate(_ONES.split())}
_TYS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = {word: 10 * i for i, word in enumerate(_TYS.split(), start=2)}
_SCALE = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_NUMBER_WORD = "|".join([*_UNITS, *_TENS, *_SCALE])
# "two thousand and five": at most thirteen words, so that a long list costs no more.
_SPELT = re.compile(
    rf"\b(?:{_NUMBER_WORD})(?:(?:[ -]|\s+and\s+)(?:{_NUMBER_WORD}))" + r"{0,12}\b", re.IGNORECASE
)
# Digits with commas between thousands or none; "million" and the like may follow.
_DIGITS = re.compile(
    r"(?<![\w.,])(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,15})(?P<part>\.[0-9]{1,9})?"
    r"(?![0-9])(?:\s?(?P<scale>hundred|thousand|million|billion|trillion)\b)?",
    re.IGNORECASE | re.ASCII,
)


class ValueKind(StrEnum):
    """What a value is a value of."""

    DATE = "date"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class TypedValue:
    """A number or a date, with its place; a date may lack its day, month or year."""

    kind: ValueKind
    number: float
    day: tuple[int | None, int | None, int | None]
    start: int
    end: int

    def agrees(self, said: TypedValue) -> bool:
        """Say whether another value says all that this one says; it may say more.

        >>> year, day = find_values("1918")[0], find_values("26 October 1918")[0]
        >>> year.agrees(day), day.agrees(year)
        (True, False)
        """
        if self.kind is ValueKind.NUMBER:  # four digits alone may be a year or a count
            return self.number == said.number and said.day[1] is None
        pairs = zip(self.day, said.day, strict=True)
        return said.kind is ValueKind.DATE and all(a is None or a == b for a, b in pairs)

    def fits(self, said: TypedValue) -> bool:
        """Say whether two values can both be true: neither says what the other denies."""
        if self.kind is not said.kind:
            return False
        if self.kind is ValueKind.NUMBER:
            return self.number == said.number
        pairs = [(a, b) for a, b in zip(self.day, said.day, strict=True) if None not in {a, b}]
        return bool(pairs) and all(a == b for a, b in pairs)


def find_values(text: str) -> list[TypedValue]:
    """Find the dates, years and numbers of a text, in order and without overlap.

    >>> [v.number for v in find_values("one thousand men, 1,000 horses, 2.5 million")]
    [1000.0, 1000.0, 2500000.0]
    """
    found: list[TypedValue] = []
    for make, pattern in ((_date, _DATE), (_year, _YEAR), (_digits, _DIGITS), (_spelt, _SPELT)):
        fresh = [make(match) for match in _free(pattern.finditer(text), found)]
        found = sorted([*found, *(v for v in fresh if v is not None)], key=lambda v: v.start)
    return found


def _free(matches: Iterator[re.Match[str]], taken: Sequence[TypedValue]) -> Iterator[re.Match[str]]:
    """Yield the matches that touch no value; both are in order, so one walk is enough."""
    at = 0
    for match in matches:
        while at < len(taken) and taken[at].end <= match.start():
            at += 1
        if at == len(taken) or taken[at].start >= match.end():
            yield match


def whole_value(text: str) -> TypedValue | None:
    """Return the value a short text consists of, or nearly: a unit or a "the" may stand beside.

    >>> whole_value("the year 1918").number, whole_value("Boeing 747"), whole_value("x")
    (1918.0, None, None)
    """
    values = find_values(text)
    if len(values) != 1:
        return None
    rest = text[: values[0].start] + " " + text[values[0].end :]
    words = re.findall(r"[^\W\d_]+", rest)
    telling = [w for w in words if w.lower() not in {"the", "in", "on", "about", "year", "of"}]
    return values[0] if len(telling) <= 1 and not any(w[0].isupper() for w in telling) else None


def _date(match: re.Match[str]) -> TypedValue | None:
    parts = {name[0]: text for name, text in match.groupdict().items() if text is not None}
    month = parts["m"].lower()
    m = int(month) if month.isdigit() else _MONTH[month]
    d = int(parts["d"]) if "d" in parts else None
    y = int(parts["y"]) if "y" in parts else None
    if not 1 <= m <= 12 or (d is not None and not 1 <= d <= 31):
        return None
    return TypedValue(ValueKind.DATE, float(y or 0), (y, m, d), match.start(), match.end())


def _year(match: re.Match[str]) -> TypedValue:
    year = int(match[0])
    return TypedValue(ValueKind.DATE, float(year), (year, None, None), match.start(), match.end())


def _spelt(match: re.Match[str]) -> TypedValue:
    total, part = 0, 0
    for word in re.findall(r"[a-z]+", match[0].lower()):
        if word == "hundred":
            part = (part or 1) * 100
        elif word in _SCALE:
            total, part = total + (part or 1) * _SCALE[word], 0
        else:
            part += _UNITS.get(word, 0) + _TENS.get(word, 0)
    return _number(float(total + part), match)


def _digits(match: re.Match[str]) -> TypedValue:
    number = float(match["digits"].replace(",", "") + (match["part"] or ""))
    return _number(number * _SCALE[match["scale"].lower()] if match["scale"] else number, match)


def _number(number: float, match: re.Match[str]) -> TypedValue:
    return TypedValue(ValueKind.NUMBER, number, (None, None, None), match.start(), match.end())


# The unit right behind a number: " km", "%", "-km/h"; bounded, so a long word costs no more.
_UNIT = re.compile(r"[\s\u00a0-]{0,2}(\u00b0\s?[CF]\b|%|[^\W\d_]{1,20}(?:/[^\W\d_]{1,10})?)")

_TABLES = (
    {"mg": 1e-6, "g": 1e-3, "gram": 1e-3, "kg": 1.0, "kilogram": 1.0, "kilo": 1.0, "t": 1e3,
     "ton": 1e3, "tonne": 1e3, "lb": 0.45359237, "pound": 0.45359237, "oz": 0.028349523125,
     "ounce": 0.028349523125},
    {"mm": 1e-3, "millimetre": 1e-3, "millimeter": 1e-3, "cm": 1e-2, "centimetre": 1e-2,
     "centimeter": 1e-2, "m": 1.0, "metre": 1.0, "meter": 1.0, "km": 1e3, "kilometre": 1e3,
     "kilometer": 1e3, "inch": 0.0254, "inche": 0.0254, "ft": 0.3048, "foot": 0.3048,
     "feet": 0.3048, "yard": 0.9144, "mile": 1609.344},
    {"ms": 1e-3, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0,
     "hr": 3600.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0},
    {"month": 1.0, "year": 12.0},
    {"pa": 1e-5, "kpa": 1e-2, "mpa": 10.0, "mbar": 1e-3, "bar": 1.0, "psi": 0.0689476},
    {"ml": 1e-3, "millilitre": 1e-3, "milliliter": 1e-3, "l": 1.0, "litre": 1.0, "liter": 1.0},
    {"v": 1.0, "volt": 1.0, "kv": 1e3, "kilovolt": 1e3},
    {"w": 1.0, "watt": 1.0, "kw": 1e3, "kilowatt": 1e3},
    {"%": 1.0, "percent": 1.0},
)  # fmt: skip
_KNOWN = {name: (kind, size) for kind, table in enumerate(_TABLES) for name, size in table.items()}
_NEAR = 0.005  # what a value may lose when it is rounded in another unit


def unit_after(text: str, end: int) -> str:
    """Return the word or sign after a number, folded; empty where there is none.

    >>> unit_after("142 kg of steel", 3), unit_after("30 °C", 2), unit_after("in 1918.", 7)
    ('kg', '°c', '')
    """
    found = _UNIT.match(text, end)
    word = "" if found is None else "".join(found[1].split()).lower()
    return word[:-1] if len(word) > 2 and word[-1] == "s" else word


def same_unit(one: str, other: str) -> bool:
    """Say whether two units are one, by name or by size.

    >>> same_unit("kg", "kilogram"), same_unit("bar", "kg")
    (True, False)
    """
    return one == other or (one in _KNOWN and _KNOWN.get(one) == _KNOWN.get(other))


def sizes_differ(one: float, unit: str, other: float, other_unit: str) -> bool:
    """Say whether two numbers with their units are two sizes; not where nobody can compare them.

    >>> sizes_differ(142, "kg", 150, "kg"), sizes_differ(90, "minute", 1.5, "hour")
    (True, False)
    >>> sizes_differ(5, "kg", 7, "bar"), sizes_differ(5, "men", 7, "women")
    (False, True)
    """
    if same_unit(unit, other_unit) or not unit or not other_unit:
        return one != other
    a, b = _KNOWN.get(unit), _KNOWN.get(other_unit)
    if a is None and b is None:
        return one != other  # two words for what was counted
    if a is None or b is None or a[0] != b[0]:
        return False
    first, second = one * a[1], other * b[1]
    return abs(first - second) > _NEAR * max(abs(first), abs(second))
