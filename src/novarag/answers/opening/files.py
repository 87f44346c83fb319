"""Tables on disk: rows of JSON in, frames out to a file, and errors that name the row."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from novarag.answers.cells.unsettled import UnsettledTable, no_column
from novarag.atomic import whole_file
from novarag.errors import DataError, UsageError
from novarag.prose import say
from novarag.texts import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST_COLUMNS = 16_384
"""Columns of a table, as many as a spreadsheet has."""

WRITTEN = (".csv", ".parquet", ".jsonl")
SUFFIXES = (".jsonl", ".ndjson", ".parquet", ".csv", ".jsonl.gz", ".csv.gz")


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as .csv, .parquet or .jsonl, whole or not at all; its ending says which."""
    if path.suffix not in WRITTEN:
        raise UsageError.saying(
            "name the file `out` {} or {}", ", ".join(WRITTEN[:-1]), WRITTEN[-1]
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        if path.suffix == ".parquet":
            frame.write_parquet(file)
        elif path.suffix == ".jsonl":
            frame.write_ndjson(file)
        else:
            nested = [n for n, t in frame.schema.items() if t.is_nested()]
            texts = [pl.Series(n, list(map(_as_json, frame[n].to_list()))) for n in nested]
            frame.with_columns(texts).write_csv(file)


def _as_json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def need_rows(frame: pl.DataFrame, source: str) -> None:
    """Raise `DataError` where a table has no rows."""
    if frame.is_empty():
        raise DataError("the file has no rows.", hint="give a file with rows.", source=source)


def need_names(names: Sequence[str], source: str | None) -> None:
    """Raise `DataError` at two columns of one name, or at more columns than a table has.

    Those without a name, which spreadsheets leave, may be many.
    """
    need_width(len(names), source)
    twice = Counter(filter(None, names)).most_common(1)
    if twice and twice[0][1] > 1:
        raise DataError(
            f"{twice[0][1]} columns have this name.",
            hint="give each column a name of its own.",
            source=source,
            column=twice[0][0],
        )


def need_width(columns: int, source: str | None) -> None:
    """Raise `DataError` at more columns than a table has."""
    if columns > MOST_COLUMNS:
        raise DataError(
            f"the table has over {MOST_COLUMNS:,} columns.",
            hint="write a row for each answer, and leave out the columns that are not needed.",
            source=source,
        )


def table_batches(path: Path, size: int) -> Iterator[pl.DataFrame]:
    """Read a Parquet file so many rows at a time."""
    try:
        lazy = pl.scan_parquet(path)
        rows = lazy.select(pl.len()).collect().item()
        for start in range(0, rows, size):
            yield lazy.slice(start, size).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> DataError:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataError(
        f"the file cannot be read ({first}).",
        hint="check that its content is what its ending says.",
        source=str(path),
    )


def existing(path: str | Path) -> Path:
    """Return the path of a file that is there, or raise `DataError`."""
    path = Path(path)
    if path.is_dir():
        raise DataError("this is a folder.", hint="name the files in it.", source=str(path))
    if not path.is_file():
        raise DataError("there is no such file.", hint="check the path.", source=str(path))
    return path


def frame_of(rows: list[dict[str, object]], source: str | None = None) -> pl.DataFrame:
    """Make a frame of rows, which need not all have the same names."""
    names = dict.fromkeys(name for row in rows for name in row)
    need_width(len(names), source)
    return pl.DataFrame([make_column(name, [row.get(name) for row in rows]) for name in names])


def make_column(name: str, values: list[object]) -> pl.Series:
    """Build a column; one that mixes types becomes text, so that no value is lost in silence."""
    kinds = {type(v) for v in values if v is not None}
    try:
        if bool in kinds and any(
            issubclass(k, int | float) for k in kinds - {bool}
        ):  # which polars would take for 1 and 0
            raise TypeError  # noqa: TRY301 - one way for all that does not fit together
        made = pl.Series(name, values, strict=True)
        if not kinds <= {list, dict} or made.to_list() == values:
            return made
        return _nested(name, values)
    except (TypeError, UnicodeEncodeError, OverflowError, pl.exceptions.PolarsError):
        if kinds == {int, float} and not any(_is_huge(v) for v in values):
            return pl.Series(name, values, dtype=pl.Float64, strict=False)
        texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
        whole = [t and t.encode("utf-8", "replace").decode() for t in texts]
        return pl.Series(name, whole, dtype=pl.String)


def _nested(name: str, values: list[object]) -> pl.Series:
    """Build a column of lists or objects by all of them, as a first one may have gaps."""
    made = pl.DataFrame([{name: value} for value in values], infer_schema_length=None)[name]
    if not _same(made.to_list(), values):
        raise TypeError
    return made


def _same(found: object, given: object) -> bool:
    """Say whether a value came through; names that an object lacked may have come as None."""
    if isinstance(found, list) and isinstance(given, list):
        return len(found) == len(given) and all(map(_same, found, given))
    if isinstance(found, dict) and isinstance(given, dict):
        return given.keys() <= found.keys() and all(_same(found[k], given.get(k)) for k in found)
    return found == given or (found != found and given != given)  # NaN


def _is_huge(value: object) -> bool:
    return isinstance(value, int) and abs(value) >= 2**63


def json_rows(path: Path) -> Iterator[dict[str, object]]:
    """Yield the objects of a JSONL file, or raise `DataError` naming the line."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        yield from parse_rows(_readable(lines, path), str(path))


def parse_rows(lines: Iterable[str], source: str) -> Iterator[dict[str, object]]:
    """Yield the objects of lines of JSON, or raise `DataError` naming the line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as error:
            raise DataError(
                f"this line is not JSON ({error}).",
                hint="write one JSON object per line.",
                source=source,
                row=number,
            ) from error
        if not isinstance(row, dict):
            raise DataError(
                f"this line holds a {type(row).__name__}, not an object.",
                hint='write one JSON object per line, such as {"confidence": 0.9}.',
                source=source,
                row=number,
            )
        yield row


def _readable(lines: Iterable[str], path: Path) -> Iterator[str]:
    try:
        yield from lines
    except (UnicodeError, EOFError, OSError, zlib.error) as error:
        raise DataError(
            f"the file cannot be read ({error}).",
            hint="check that it is whole, and text in UTF-8.",
            source=str(path),
        ) from error


def need_column(frame: pl.DataFrame, column: str, *, parameter: str, source: str) -> None:
    """Raise `DataError` unless the column is there, with plain values; suggest what was meant."""
    if column not in frame.columns:
        raise UnsettledTable([no_column(column, frame.columns, parameter=parameter)], source=source)
    if frame[column].dtype.is_nested():
        raise DataError(
            "this column holds lists or objects.",
            hint=say("pass `{}=NAME` of a column with plain values.", parameter),
            source=source,
            column=column,
        )
