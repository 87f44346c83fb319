"""Units that stand after a number, so that 90 minutes and 1.5 hours are one value."""

from __future__ import annotations

import re

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
