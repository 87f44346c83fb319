"""Answers in the tables people have: pandas, polars, Arrow, Hugging Face datasets, plain rows.

None of these libraries is imported. A table is known by what it can do: hand out an Arrow stream
(pandas, pyarrow, DuckDB, …), turn itself into polars (Hugging Face `Dataset`), or be walked row by
row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan
from typing import Any

import polars as pl
import polars.selectors as cs

from novarag.answers.opening.files import frame_of, make_column
from novarag.errors import UsageError

SOURCE = "the table"
_KINDS = "a pandas or polars frame, an Arrow table, a Hugging Face Dataset, or rows as dicts"


def as_frame(data: object) -> pl.DataFrame:
    """Turn any table into a polars frame; a NaN in it is an empty cell."""
    frame = _converted(data)
    if frame.is_empty():
        raise UsageError("the table has no rows")
    return frame.with_columns(cs.float().fill_nan(None))


def _converted(data: Any) -> pl.DataFrame:  # noqa: ANN401 - known by what it can do
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if isinstance(data, pl.DataFrame):
        return data
    if hasattr(data, "to_polars"):
        found: pl.DataFrame = data.to_polars()
        return found
    if hasattr(data, "__arrow_c_stream__"):
        return _from_arrow(data)
    if isinstance(data, Mapping):
        return _from_columns(data)
    return _from_rows(data)


class _Stream:
    """A table seen only as an Arrow stream, so that polars does not take a shorter way.

    Its way with pandas leaves out the index, which often names the question.
    """

    def __init__(self, table: Any) -> None:  # noqa: ANN401
        self.__arrow_c_stream__ = table.__arrow_c_stream__


def _from_arrow(data: Any) -> pl.DataFrame:  # noqa: ANN401
    try:
        return pl.DataFrame(_Stream(data))
    except ImportError:  # pandas lends pyarrow's stream, and pyarrow may be missing
        return _from_columns(data.reset_index().to_dict(orient="list"))


def _from_columns(data: Mapping[Any, Any]) -> pl.DataFrame:
    if several := [name for name, column in data.items() if hasattr(column, "to_polars")]:
        raise UsageError(
            f"this holds several tables ({', '.join(map(str, several))}): pass one of them"
        )
    return pl.DataFrame([make_column(str(name), _cells(data[name])) for name in data])


def _from_rows(data: object) -> pl.DataFrame:
    rows = list(data) if isinstance(data, Iterable) and not isinstance(data, str | bytes) else None
    if rows is None or not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(f"cannot take answers from a {type(data).__name__}: pass {_KINDS}")
    return frame_of([dict(zip(map(str, row), _cells(row.values()), strict=True)) for row in rows])


def _cells(values: Iterable[object]) -> list[object]:
    """Return the values with None for NaN and NA, which pandas puts where a cell is empty."""
    return [None if _is_empty(v) else v for v in values]


def _is_empty(value: object) -> bool:
    return type(value).__name__ == "NAType" or (isinstance(value, float) and isnan(value))
