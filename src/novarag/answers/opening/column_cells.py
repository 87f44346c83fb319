"""Columns of a frame as cells, and back: each different cell is decided once.

Also which columns hold grades by their values, to propose one where the named one is not there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from novarag.answers.cells.cell import number_of
from novarag.answers.cells.confidences import HUNDRED
from novarag.answers.cells.grades import GradeSettings, Grading, settle_grades
from novarag.answers.cells.unsettled import ColumnValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.answers.cells.cell import Cell
    from novarag.answers.cells.confidences import Confidences, Scale
    from novarag.answers.cells.grades import Grades
    from novarag.stats.arrays import Floats

_PLAIN = r"^[+-]?([0-9]{1,17}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?$"


class Split(NamedTuple):
    """A column in two: its plain numbers, and all other cells as texts; null where the other is."""

    numbers: pl.Series
    texts: pl.Series


def split(column: pl.Series) -> Split:
    """Part plain numbers from what has to be looked at as text."""
    kind = column.dtype
    if kind.is_numeric():
        return Split(column.cast(pl.Float64).fill_nan(None), _no_texts(column))
    texts = column.cast(pl.String)
    if kind == pl.Boolean:
        return Split(pl.Series(column.name, [None] * len(column), dtype=pl.Float64), texts)
    bare = texts.str.strip_chars()
    plain = bare.str.contains(_PLAIN)
    numbers = pl.select(pl.when(plain).then(bare)).to_series().cast(pl.Float64, strict=False)
    return Split(
        numbers.alias(column.name),
        pl.select(pl.when(numbers.is_null()).then(texts)).to_series().alias(column.name),
    )


def _no_texts(column: pl.Series) -> pl.Series:
    return pl.Series(column.name, [None] * len(column), dtype=pl.String)


def confidence_cells(column: pl.Series, source: str) -> list[ColumnValue]:
    """Return the different cells of a confidence column, those without anything left out."""
    numbers, texts = split(column)
    return [*different(numbers, source), *different(texts, source)]


def confidence_kinds(column: pl.Series, source: str) -> list[ColumnValue]:
    """Return the least and the largest number of each look, and all texts: enough to decide by."""
    numbers, texts = split(column)
    cells = numbers.to_numpy()
    kinds = np.select(
        [
            cells == 0,
            (cells < 0) | (cells > HUNDRED),
            cells < 1,
            cells == 1,
            cells <= 10,
            cells > 10,
        ],
        range(6),
        default=6,
    )
    found = []
    for kind in range(6):
        at = np.flatnonzero(kinds == kind)
        if at.size:
            least, most = at[np.argmin(cells[at])], at[np.argmax(cells[at])]
            found.append(ColumnValue(float(cells[least]), 1, int(least) + 1, source))
            found.append(
                ColumnValue(float(cells[most]), at.size - 1, int(most) + 1, source, at.size)
            )
    return [*found, *different(texts, source)]


def different(column: pl.Series, source: str) -> list[ColumnValue]:
    """Return the different cells of a column, each with its count and first row; nulls left out."""
    counted = _counted(column.alias("value"))
    return [ColumnValue(value, count, row, source) for value, count, row in counted.iter_rows()]


def empty_cells(column: pl.Series, source: str) -> list[ColumnValue]:
    """Return one cell that stands for those without anything in a column of texts, if any."""
    rows = (column.is_null() | (column.str.strip_chars() == "")).arg_true()
    return [ColumnValue("", len(rows), int(rows[0]) + 1, source)] if len(rows) else []


def _counted(column: pl.Series) -> pl.DataFrame:
    frame = pl.DataFrame({"value": column}).with_row_index("row", offset=1).drop_nulls()
    found = frame.group_by("value").agg(pl.len().alias("count"), pl.col("row").min())
    return found.select("value", "count", "row").sort("row")


def confidence_shares(column: pl.Series, taken: Confidences) -> pl.Series:
    """Turn a confidence column into shares, as was decided; null where the reply is unread."""
    numbers, texts = split(column)
    cells = numbers.to_numpy(allow_copy=True)
    shares = _shares(cells, taken.scale)
    shares = np.where((shares >= 0) & (shares <= 1), shares, np.nan)
    for key, share in taken.named.items():
        if (number := number_of(key)) is not None:
            shares = np.where(cells == number, np.nan if share is None else share, shares)
    meanings = {text: taken.value(text) for text in texts.drop_nulls().unique()}
    said = _mapped(texts, meanings, pl.Float64)
    stated = pl.lit(pl.Series(shares, nan_to_null=True))
    return pl.select(pl.when(pl.lit(texts).is_null()).then(stated).otherwise(said)).to_series()


def _shares(numbers: Floats, scale: Scale) -> Floats:
    """Do for a column what `Scale.share` does for a cell, to the last bit."""
    if scale.mixed:
        return np.where(numbers > 1, _parts(numbers, HUNDRED), numbers)
    return numbers if scale.top == 1 else _parts(numbers, scale.top)


def _parts(numbers: Floats, top: float) -> Floats:
    parts: Floats = np.rint(numbers / top * 1e15) / 1e15
    return parts


def grade_values(column: pl.Series, taken: Grades) -> pl.Series:
    """Turn a grade column into truth values, as was decided; null where nobody graded."""
    cells: list[Cell] = column.drop_nulls().unique().to_list()
    meanings = {cell: taken.value(cell) for cell in cells}
    return pl.select(_mapped(column, meanings, pl.Boolean)).to_series()


def _mapped(column: pl.Series, meanings: Mapping[Any, object], kind: type[pl.DataType]) -> pl.Expr:
    if not meanings:
        return pl.lit(pl.Series([None] * len(column), dtype=kind))
    known = {cell: value for cell, value in meanings.items() if value is not None}
    old = pl.Series(list(known), dtype=column.dtype)
    new = pl.Series(list(known.values()), dtype=kind)
    return pl.lit(column).replace_strict(old, new, default=None, return_dtype=kind)


_MOST_GRADES = 8  # different values of a column of grades, empty ones and spellings included


def grade_columns(frame: pl.DataFrame) -> tuple[str, ...]:
    """Name the columns whose values are all grades, some right and some wrong."""
    return tuple(name for name in frame.columns if _are_grades(frame[name]))


def _are_grades(column: pl.Series) -> bool:
    if column.dtype.is_nested() or column.n_unique() > _MOST_GRADES:
        return False
    cells = [ColumnValue(value, 1, 1) for value in column.unique().to_list()]
    found = settle_grades(column.name, cells, GradeSettings())
    graded = found.counts.get(Grading.RIGHT) and found.counts.get(Grading.WRONG)
    return bool(graded) and not found.unsettled
