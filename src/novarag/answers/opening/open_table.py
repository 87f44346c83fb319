"""Any table of answers as a frame: what its bytes are, how they are laid out, and that in words.

A file's first bytes say whether it is Parquet, a workbook or compressed; its ending says what text
it is. Texts are delimited, JSON, lines of JSON, or a log.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from novarag.answers.cells.dialect import (
    SEPARATORS,
    DelimitedText,
    decode,
    delimited,
    joined,
    uneven,
)
from novarag.answers.cells.exports import known_columns, shape_export
from novarag.answers.cells.shapes import ShapedRows, shape_json, shape_lines, shape_log
from novarag.answers.cells.unsettled import (
    ColumnValue,
    SettlingOption,
    UnsettledColumn,
    UnsettledTable,
    find_column,
)
from novarag.answers.opening.files import (
    existing,
    frame_of,
    need_names,
    need_rows,
    need_width,
    parse_rows,
)
from novarag.errors import DataError
from novarag.texts import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

LARGEST = 4 << 30
"""Bytes of a table that is not Parquet; larger ones do not belong into memory at once."""

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".log", ".parquet", ".xlsx", ".eval")
"""Endings of the files that are read of a folder; each may have .gz behind it."""

STDIN = "standard input"
_PIECE = 1 << 24  # bytes that are read at once
_WHOLE = "check that it is whole, and may be read."
_SAYS = "check that its content is what its ending says."


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table that was read: where it is from, how it was laid out, what columns are called."""

    source: str
    frame: pl.DataFrame
    said: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


class _Content(NamedTuple):
    """The bytes of a table, its name and ending, and what is known of what it should hold."""

    content: bytes
    source: str
    ending: str
    wanted: Sequence[str] = ()
    decimal_comma: bool = False


def read_table(path: str | Path) -> pl.DataFrame:
    """Read one file as a frame; objects in its rows stay objects."""
    path = existing(path)
    if _ending(path) in {".jsonl", ".ndjson"}:
        content = _bytes_of(path, str(path))
        frame = frame_of(list(parse_rows(_utf8(content, str(path)), str(path))), str(path))
        need_rows(frame, str(path))
        return frame
    return open_table(path).frame


def open_table(
    place: str | Path | BinaryIO, wanted: Sequence[str] = (), *, decimal_comma: bool = False
) -> OpenTable:
    """Read a file, or a stream of bytes, as a table; `wanted` columns help to know its shape."""
    if isinstance(place, (str, Path)):
        path = existing(place)
        source, ending = str(path), _ending(path)
        content = b"" if ending == ".parquet" else _bytes_of(path, source)
        table = _parquet(path, source) if ending == ".parquet" else None
    else:
        source, ending, table = STDIN, "", None
        content = _unzipped(_bounded(place), STDIN)
    table = table or _read(_Content(content, source, ending, wanted, decimal_comma))
    need_rows(table.frame, source)
    return known_table(table)


def known_table(table: OpenTable) -> OpenTable:
    """Know a flat table of a tool by its columns."""
    tool, names = ("", table.names) if table.names else known_columns(table.frame.columns)
    if not tool:
        return table
    return OpenTable(table.source, table.frame, f"{table.said}, columns of {tool}", names)


def folder_tables(folder: Path) -> list[str]:
    """Name the tables of a folder, in order; `DataError` where there are none."""
    found = sorted(
        str(path)
        for path in folder.iterdir()
        if path.is_file() and not path.name.startswith(".") and _ending(path) in ENDINGS
    )
    if not found:
        hint = f"name files, or a folder with files that end in {', '.join(ENDINGS)}."
        raise _wrong(str(folder), "this is a folder without tables", hint)
    return found


def _wrong(source: str, problem: str, hint: str) -> DataError:
    return DataError(f"{problem}.", hint=hint, source=source)


def _ending(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return suffixes[-1] if suffixes else ""


def _bytes_of(path: Path, source: str) -> bytes:
    try:
        with path.open("rb") as file:
            return _unzipped(_bounded(file), source)
    except OSError as error:
        raise _wrong(source, f"the file cannot be read ({error.strerror})", _WHOLE) from error


def _bounded(file: BinaryIO | gzip.GzipFile) -> bytes:
    """Read a file, and no more of it than says that it is too large.

    Piece by piece: to ask for all at once takes as much memory as is asked for.
    """
    pieces, size = [], 0
    while size <= LARGEST and (piece := file.read(_PIECE)):
        pieces.append(piece)
        size += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _unzipped(content: bytes, source: str) -> bytes:
    if content[:2] == b"\x1f\x8b":
        try:
            with gzip.open(BytesIO(content)) as file:
                content = _bounded(file)
        except (OSError, EOFError, zlib.error) as error:
            raise _wrong(source, f"the file cannot be read ({error})", _WHOLE) from error
    elif Path(source).suffix == ".gz":
        raise _wrong(source, "the file cannot be read (it is not compressed)", _SAYS)
    if len(content) > LARGEST:
        raise _wrong(source, f"the table has over {LARGEST >> 30} GB", "write it as Parquet.")
    return content


def _lines(text: str) -> StringIO:
    """Iterate over lines as files have them; other breaks of Unicode stay within a line."""
    return StringIO(text, newline=None)


def _utf8(content: bytes, source: str) -> StringIO:
    try:
        return _lines(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        hint = "check that it is whole, and text in UTF-8."
        raise _wrong(source, f"the file cannot be read ({error})", hint) from error


def _read(table: _Content) -> OpenTable:
    if table.content[:4] == b"PAR1":
        return _parquet(BytesIO(table.content), table.source)
    if table.content[:4] == b"PK\x03\x04":
        from novarag.answers.opening.archives import read_archive

        held = read_archive(table.content, table.source, table.wanted)
        said = f"{held.frame.height:,} rows, {held.said}"
        return OpenTable(table.source, held.frame, said, held.names)
    if table.ending in {".parquet", ".xlsx", ".eval"}:
        raise _wrong(table.source, f"the file cannot be read (it is no {table.ending})", _SAYS)
    try:
        text, encoding = decode(table.content)
    except ValueError as error:
        raise _wrong(table.source, f"the file cannot be read ({error})", _SAYS) from error
    found = _read_text(text, table)
    return found if encoding == "UTF-8" else _with(found, encoding)


def _with(found: OpenTable, said: str) -> OpenTable:
    return OpenTable(found.source, found.frame, f"{found.said}, {said}", found.names)


def _parquet(file: Path | BytesIO, source: str) -> OpenTable:
    try:
        need_width(len(pl.read_parquet_schema(file)), source)
        frame = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise _wrong(source, f"the file cannot be read ({first})", _SAYS) from error
    for name in [name for name, kind in frame.schema.items() if isinstance(kind, pl.Struct)]:
        inner = frame[name].struct.unnest().get_columns()
        beside = [column.alias(f"{name}.{column.name}") for column in inner]
        if not {column.name for column in beside} & set(frame.columns):
            frame = frame.with_columns(beside)
    return OpenTable(source, frame, f"{frame.height:,} rows, Parquet")


def _read_text(text: str, table: _Content) -> OpenTable:
    """Read a text by its ending; where that says nothing, by how it begins."""
    is_json = text.removeprefix("\ufeff").lstrip()[:1] in {"{", "["}
    if table.ending in {".jsonl", ".ndjson", ".json"} or (
        is_json and table.ending not in {".csv", ".tsv", ".log"}
    ):
        return _framed(_shape(text, table), table)
    if table.ending == ".log":
        return _framed(_log(text, table), table)
    found = delimited(text, table.wanted)
    if table.ending not in {".csv", ".tsv"} and not _names_all(found.head, table.wanted):
        try:
            return _framed(shape_log(_lines(text)), table)
        except ValueError:
            pass
    return _read_delimited(found, table)


def _names_all(head: Sequence[str], wanted: Sequence[str]) -> bool:
    return len(head) > 1 and all(isinstance(find_column(name, head), str) for name in wanted)


def _framed(shaped: ShapedRows, table: _Content) -> OpenTable:
    frame = frame_of(shaped.rows, table.source)
    return OpenTable(table.source, frame, f"{frame.height:,} rows, {shaped.said}", shaped.names)


def _log(text: str, table: _Content) -> ShapedRows:
    try:
        return shape_log(_lines(text))
    except ValueError as error:
        hint = "write JSON or key=value pairs on each line."
        raise _wrong(table.source, f"this is no table: {error}", hint) from error


def _shape(text: str, table: _Content) -> ShapedRows:
    """Read JSON: whole, or a line each; a file of lines is often called .json."""
    if table.ending not in {".jsonl", ".ndjson"}:
        try:
            value = parse_json(text)
            return shape_export(value) or shape_json(value)
        except ValueError as error:
            if not _is_lines(text):
                hint = "write a list of objects, or one object per line."
                problem = f"this is no table in JSON: {error}"
                raise _wrong(table.source, problem, hint) from error
    rows = list(parse_rows(_lines(text), table.source))
    return shape_export(rows) or shape_lines(rows, "lines of JSON")


def _is_lines(text: str) -> bool:
    """Say whether a text has an object on its first line, and more lines."""
    first, _, rest = text.lstrip().partition("\n")
    try:
        return bool(rest.strip()) and isinstance(parse_json(first), dict)
    except ValueError:
        return False


def _read_delimited(found: DelimitedText, table: _Content) -> OpenTable:
    head = found.head
    _check_head(head, table.source)
    if found.is_cut:
        hint = "close the quotes in it, or shorten the names of its columns."
        raise _wrong(table.source, "its first row is over a million characters", hint)
    if table.decimal_comma:
        frame = _joined(found, table)
    else:
        try:
            frame = pl.read_csv(found.text.encode(), separator=found.separator, infer_schema=False)
        except pl.exceptions.PolarsError as error:
            _check_rows(found, table)
            first = str(error).splitlines()[0]
            raise _wrong(table.source, f"the file cannot be read ({first})", _SAYS) from error
    kind = f"delimited by {SEPARATORS.get(found.separator, found.separator)}"
    return OpenTable(table.source, frame, f"{frame.height:,} rows, {kind}{_short(frame, found)}")


def _check_head(head: Sequence[str], source: str) -> None:
    if not head:
        raise _wrong(source, "the file cannot be read (it is empty)", _SAYS)
    need_names(head, source)


def _joined(found: DelimitedText, table: _Content) -> pl.DataFrame:
    at = find_column(table.wanted[0], found.head) if table.wanted else ()
    place = found.head.index(at) if isinstance(at, str) else 0
    rows = joined(found, place)
    width = len(found.head)
    if any(len(row) > width for row in rows):
        _check_rows(found, table)
    cells = [[*row, *[None] * (width - len(row))] for row in rows]
    names = [name or f"column {i}" for i, name in enumerate(found.head, 1)]
    return pl.DataFrame(
        [
            pl.Series(n, c, dtype=pl.String)
            for n, c in zip(names, zip(*cells, strict=True), strict=True)
        ]
    )


def _check_rows(found: DelimitedText, table: _Content) -> None:
    """Refuse rows that are longer than the head, and say what may have made them so."""
    width = len(found.head)
    long = [one for one in uneven(found) if one.cells > width]
    if not long:
        return
    cells = tuple(
        ColumnValue(f"{one.cells} cells", one.rows, one.first, table.source) for one in long
    )
    settings: tuple[SettlingOption, ...] = ()
    if found.separator == "," and not table.decimal_comma and long[0].cells == width + 1:
        settings = (SettlingOption("decimal_comma", True, "if a comma stands in its numbers"),)
    advice = f"put cells that hold {SEPARATORS[found.separator]} into quotes"
    why = f"where the head has {width}"
    part = UnsettledColumn(found.head[0], cells, why, settings, advice)
    raise UnsettledTable([part], source=table.source)


def _short(frame: pl.DataFrame, found: DelimitedText) -> str:
    """Say how many rows end early, if the last column has holes at all."""
    if not frame.width or not frame[frame.columns[-1]].null_count():
        return ""
    short = sum(one.rows for one in uneven(found) if one.cells < frame.width)
    return f", {short:,} rows end early" if short else ""
