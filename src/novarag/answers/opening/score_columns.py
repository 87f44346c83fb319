"""Scores of other people's tools, taken from columns and from JSON inside cells.

A score is any number: it need not be from 0 to 1, and an empty one is a value with a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from novarag.answers.cells.unsettled import UnsettledColumn, listed
from novarag.errors import DataError
from novarag.texts import parse_json, plain_text

if TYPE_CHECKING:
    from novarag.answers.cells.score_names import ScoreColumn
    from novarag.stats.arrays import Floats

_WAY_WORDS = {True: "lower is better, as was said", False: "higher is better, as was said"}
_BLANKS = frozenset({"", "-", "na", "n/a", "nan", "none", "null", "missing"})
_NAMED, _HELD = ("name", "metric"), ("value", "score")
"""In a list of scores, as tools keep them, what says which score it is, and what it holds."""

_LONGEST = 400  # characters of a number in a cell


def find_score(frame: pl.DataFrame, name: str) -> pl.Series | None:
    """Return the cells of a score: a column of its name, or what its path leads to in a column.

    `metadata.score` is the column of that name, or the field `score` of the objects, or of the JSON
    texts, in the column `metadata`. None where there is neither.
    """
    if name in frame.columns:
        return frame[name]
    parts = name.split(".")
    for size in range(len(parts) - 1, 0, -1):
        column = ".".join(parts[:size])
        if column in frame.columns:
            cells = [_walk(value, parts[size:]) for value in frame[column].to_list()]
            if any(cell is not None for cell in cells):
                return pl.Series(name, cells, dtype=pl.Object)
    return None


def _walk(value: object, path: Sequence[str]) -> object:
    """Return what a path leads to inside a cell; None where it leads nowhere."""
    for step in path:
        if isinstance(value, str):
            try:
                value = parse_json(value)
            except ValueError:
                return None
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, (list, tuple)):
            value = _of_list(value, step)
        else:
            return None
    return value


def _of_list(values: Sequence[object], step: str) -> object:
    """Return an element by its number, or the score of that name."""
    if step.isascii() and step.isdigit() and len(step) < len(str(len(values))) + 1:
        return values[int(step)] if int(step) < len(values) else None
    for one in values:
        if isinstance(one, Mapping) and any(one.get(key) == step for key in _NAMED):
            return next((one[key] for key in _HELD if key in one), None)
    return None


def score_numbers(cells: pl.Series, source: str) -> pl.Series:
    """Return the cells of a score as numbers, null where there is none; yes and no are 1 and 0."""
    if cells.dtype.is_numeric() or cells.dtype == pl.Boolean:
        return cells.cast(pl.Float64).fill_nan(None)
    found = [_number(cell) for cell in cells.to_list()]
    for row, number in enumerate(found, 1):
        if number is _NONE:
            raise DataError(
                f"{_shown(cells[row - 1])} is not a number.",
                hint="a score is a number; leave the cell empty where there is none.",
                source=source,
                row=row,
                column=cells.name,
            )
    return pl.Series(cells.name, found, dtype=pl.Float64).fill_nan(None)


def no_score(name: str, frames: Sequence[pl.DataFrame]) -> UnsettledColumn:
    """Say that a table has no such score, nor a path to it."""
    names = next(f.columns for f in frames if find_score(f, name) is None)
    advice = (
        f"name a column, or a path into one such as `metadata.score`; columns are {listed(names)}"
    )
    return UnsettledColumn(name, (), "there is no such score", (), advice)


def say_score(name: str, lower: bool | None, numbers: pl.Series) -> str:
    """Say what was taken for a score."""
    way = "its direction is to be found" if lower is None else _WAY_WORDS[lower]
    empty = numbers.null_count()
    gaps = f", {empty:,} missing" if empty else ""
    if empty == numbers.len():
        return f"score {name!r}: missing in every row"
    known = numbers.drop_nulls().to_list()
    ends = f"{min(known):.6g} to {max(known):.6g}"
    return f"score {name!r}: {ends}{gaps}; {way}"


def _shown(cell: object) -> str:
    return plain_text(repr(cell), longest=40)


_NONE = object()


def _number(cell: object) -> object:
    if cell is None or isinstance(cell, (bool, int, float)):
        return None if cell is None else float(cell)
    if not isinstance(cell, str):
        return _NONE
    text = cell.strip()
    if text.casefold() in _BLANKS:
        return None
    text = text.removesuffix("%").rstrip()
    try:
        return float(text) if len(text) < _LONGEST else _NONE
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(text.casefold(), _NONE)


def score_table(frame: pl.DataFrame, scores: Sequence[ScoreColumn]) -> Floats:
    """Return the numbers of scores as an array, a column each; NaN where there is none."""
    import numpy as np

    columns = [frame[score.name].cast(pl.Float64).fill_null(float("nan")) for score in scores]
    return np.column_stack([column.to_numpy() for column in columns])
