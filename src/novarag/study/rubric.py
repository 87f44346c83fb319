"""What raters are asked of each reply: criteria and a scale, read from TOML or JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from novarag.errors import DataError
from novarag.texts import parse_json, parse_toml

# Names of criteria are parts of file names and of addresses on the sheet.
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_POINTS = range(2, 10)  # a digit key each
_HINT = "write it as `criteria.toml` in novarag.study does; docs/study.md shows it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One thing that is rated: a name for files, a title, and the question put to raters."""

    name: str
    title: str
    asks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """The criteria, and a scale from 1 to `points` with words for both ends."""

    criteria: tuple[Criterion, ...]
    points: int = 5
    low: str = "not at all"
    high: str = "fully"


def read_rubric(text: str, *, source: str = "criteria.toml") -> Rubric:
    """Read criteria from the text of a file; its ending says whether it is TOML or JSON."""
    try:
        content = parse_json(text) if source.endswith(".json") else parse_toml(text)
    except ValueError as error:
        raise DataError(
            f"the file cannot be read ({error}).", hint="name it .toml or .json.", source=source
        ) from error
    return rubric_of(content, source=source)


def rubric_of(content: Any, *, source: str) -> Rubric:  # noqa: ANN401 - a file holds anything
    """Check what a file says of criteria, and raise `DataError` where it cannot be asked."""
    if not isinstance(content, dict) or not isinstance(content.get("criteria"), list):
        raise DataError("there is no list of criteria.", hint=_HINT, source=source)
    strange = sorted(set(content) - {"criteria", "points", "low", "high"})
    if strange:
        raise DataError(f"there is no key {strange[0]!r}.", hint=_HINT, source=source)
    criteria = tuple(_criterion(part, n, source) for n, part in enumerate(content["criteria"], 1))
    names = [c.name for c in criteria]
    if not names or len(set(names)) < len(names):
        raise DataError(
            "there must be a criterion, and no name may stand twice.", hint=_HINT, source=source
        )
    points, low, high = (content.get(k, d) for k, d in _DEFAULTS.items())
    if type(points) is not int or points not in _POINTS:
        raise DataError(
            f"points is {points!r}.", hint="give a whole number from 2 to 9.", source=source
        )
    if not isinstance(low, str) or not isinstance(high, str):
        raise DataError("low and high are not both texts.", hint=_HINT, source=source)
    return Rubric(criteria=criteria, points=points, low=low, high=high)


_DEFAULTS: dict[str, Any] = {"points": 5, "low": "not at all", "high": "fully"}


def _criterion(part: Any, number: int, source: str) -> Criterion:  # noqa: ANN401
    keys = ("name", "title", "asks")
    whole = isinstance(part, dict) and set(part) == set(keys)
    if not whole or not all(isinstance(part[key], str) and part[key].strip() for key in keys):
        problem = f"criterion {number} must have a name, a title and what it asks, and no more."
        raise DataError(problem, hint=_HINT, source=source)
    if not _NAME.fullmatch(part["name"]):
        raise DataError(
            f"criterion {number} is named {part['name'][:60]!r}.",
            hint="use a few small letters, digits and hyphens.",
            source=source,
        )
    return Criterion(**part)


RUBRIC = read_rubric(files("novarag.study").joinpath("criteria.toml").read_text("utf-8"))
"""The five criteria of the paper's study (nova.tex, Human Evaluation), in our own words."""
