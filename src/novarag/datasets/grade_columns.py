"""Which columns of a table hold grades, by their values: to propose where the named one is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.tables.grades import GradeSettings, Grading, settle_grades
from novarag.tables.unsettled import Found

if TYPE_CHECKING:
    import polars as pl

_MOST = 8
"""Different values of a column of grades, empty ones and spellings included."""


def grade_columns(frame: pl.DataFrame) -> tuple[str, ...]:
    """Name the columns whose values are all grades, some right and some wrong."""
    return tuple(name for name in frame.columns if _grades(frame[name]))


def _grades(column: pl.Series) -> bool:
    if column.dtype.is_nested() or column.n_unique() > _MOST:
        return False
    cells = [Found(value, 1, 1) for value in column.unique().to_list()]
    found = settle_grades(column.name, cells, GradeSettings())
    graded = found.counts.get(Grading.RIGHT) and found.counts.get(Grading.WRONG)
    return bool(graded) and not found.unsettled
