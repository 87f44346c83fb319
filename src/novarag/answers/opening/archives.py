"""Tables in archives: workbooks of spreadsheets, and logs of inspect_ai. Nothing is evaluated.

Of a workbook every part is unpacked and looked at here, and the reader is given a new archive of
just these: whatever it makes of them, it sees what we saw. How far the cells of a sheet reach is
found before anything is made of that size: a reader makes a rectangle from the first filled cell to
the last, and two cells can span seventeen billion.
"""

from __future__ import annotations

import lzma
import re
import zlib
from datetime import date, time, timedelta
from io import BytesIO
from struct import unpack
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import BadZipFile, ZipFile

from novarag.answers.cells.exports import shape_samples
from novarag.answers.cells.unsettled import find_column
from novarag.answers.opening.files import frame_of, need_names
from novarag.errors import DataError, UsageError
from novarag.imports import with_extra
from novarag.texts import parse_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zipfile import ZipInfo

    import polars as pl

LARGEST = 1 << 30
"""Bytes that an archive may unpack to; a small file can claim to hold far more."""

_CODECS = (zlib.error, lzma.LZMAError)
_ZSTANDARD = 93  # its number among the methods of ZIP (APPNOTE 4.4.5)
_SHEET = b"sheetData"  # the element without which no reader finds a cell
_FAR = "delete what stands far from the table, or save the table as CSV."
_SAVE = "open it in a spreadsheet once and save it, or save the sheet as CSV."
# A formula of a sheet, `<f>A1+1</f>`, whose cell ends without the value it has.
_NO_RESULT = re.compile(
    rb"(?:</f>|<f[^<>]{0,400}/>)\s{0,9}(?:<v\s{0,9}/>|<v>\s{0,9}</v>)?\s{0,9}</c>"
)


class ArchiveTable(NamedTuple):
    """The table of an archive, what it was taken for, and what its columns are called."""

    frame: pl.DataFrame
    said: str
    names: dict[str, str]


def read_archive(content: bytes, source: str, wanted: Sequence[str]) -> ArchiveTable:
    """Read a workbook, or a log of inspect_ai."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            parts = archive.namelist()
            if sum(part.file_size for part in archive.infolist()) > LARGEST:
                raise _wrong(source, "it unpacks to over a gigabyte", "write it as CSV.")
            if any(name.startswith("xl/") for name in parts):
                return _workbook(_checked(archive, source), source, wanted)
            if any(name.startswith("samples/") for name in parts):
                return _samples(archive, content)
    except (BadZipFile, RuntimeError, ValueError, KeyError, EOFError, OSError, *_CODECS) as error:
        hint = "write the log as JSON with `inspect log convert`, or the sheet as CSV."
        raise _wrong(source, f"the file cannot be read ({error})", hint) from error
    raise _wrong(source, "this archive holds no table", "unpack it, and name the tables in it.")


def _wrong(source: str, problem: str, hint: str) -> DataError:
    return DataError(f"{problem}.", hint=hint, source=source)


def _checked(archive: ZipFile, source: str) -> bytes:
    """Return a workbook of the parts in XML, once their sheets are known to be fit to load."""
    made = BytesIO()
    parts = [part for part in archive.infolist() if part.filename.endswith((".xml", ".rels"))]
    if len({part.filename.casefold() for part in parts}) != len(parts):
        raise _wrong(source, "a part of it is there twice", _SAVE)
    with ZipFile(made, "w") as checked:
        for part in parts:
            content = archive.read(part)
            if _SHEET in content:
                _check_sheet(content, source)
            checked.writestr(part.filename, content)
    return made.getvalue()


def _check_sheet(content: bytes, source: str) -> None:
    """Refuse a sheet that spans too much, or has formulas without results, which look empty."""
    problem = sheet_extent(content).problem
    if problem is not None:
        raise _wrong(source, problem, _FAR)
    if _NO_RESULT.search(content):
        raise _wrong(source, "formulas stand in it without their results", _SAVE)


def _workbook(content: bytes, source: str, wanted: Sequence[str]) -> ArchiveTable:
    try:
        from python_calamine import CalamineError, load_workbook
    except ImportError:
        raise UsageError(
            f"{source} is a workbook, which needs python-calamine: {with_extra('excel')}, or"
            " save the sheet as CSV"
        ) from None
    try:
        sheets = _sheets(load_workbook(BytesIO(content)), source)
    except CalamineError as error:
        raise _wrong(source, f"the file cannot be read ({error})", _SAVE) from error
    filled = {name: rows for name, rows in sheets.items() if len(rows) > 1}
    if not filled:
        raise _wrong(source, "no sheet has rows below a head", "give a file with rows.")
    fitting = [name for name, rows in filled.items() if _has(rows[0], wanted)] or list(filled)
    if len(fitting) > 1:
        listed = ", ".join(map(repr, fitting))
        hint = "keep one of them, or save it as CSV."
        raise _wrong(source, f"several sheets may be meant ({listed})", hint)
    rows = filled[fitting[0]]
    others = f" of {len(sheets)}" if len(sheets) > 1 else ""
    return ArchiveTable(_framed(rows, source), f"Excel, sheet {fitting[0]!r}{others}", {})


def _sheets(book: Any, source: str) -> dict[str, list[list[Any]]]:  # noqa: ANN401 - untyped library
    """Load every sheet; a part that many sheets name is loaded as often."""
    sheets, cells = {}, 0
    for name in book.sheet_names:
        sheets[name] = rows = book.get_sheet_by_name(name).to_python()
        cells += sum(map(len, rows))
        if cells > MOST_CELLS:
            raise _wrong(source, f"its sheets span over {MOST_CELLS:,} cells", _FAR)
    return sheets


def _has(head: Sequence[object], wanted: Sequence[str]) -> bool:
    names = [str(name) for name in head]
    return all(isinstance(find_column(name, names), str) for name in wanted)


def _framed(rows: list[list[Any]], source: str) -> pl.DataFrame:
    head = [str(name).strip() or f"column {i}" for i, name in enumerate(rows[0], 1)]
    need_names(head, source)
    filled = [row for row in rows[1:] if any(cell != "" for cell in row)]
    return frame_of([dict(zip(head, map(_cell, row), strict=True)) for row in filled], source)


def _cell(value: object) -> object:
    if value == "":
        return None
    return str(value) if isinstance(value, (date, time, timedelta)) else value


def _samples(archive: ZipFile, content: bytes) -> ArchiveTable:
    parts = sorted(archive.infolist(), key=lambda part: (len(part.filename), part.filename))
    found = [p for p in parts if p.filename.startswith("samples/") and p.filename.endswith(".json")]
    samples = [parse_json(_unpacked(archive, content, part)) for part in found]
    shaped = shape_samples([one for one in samples if isinstance(one, dict)])
    return ArchiveTable(frame_of(shaped.rows), shaped.said, dict(shaped.names))


def _unpacked(archive: ZipFile, content: bytes, part: ZipInfo) -> bytes:
    """Unpack a part; those in Zstandard, which our zipfile cannot, by whoever can."""
    if part.compress_type != _ZSTANDARD:
        return archive.read(part)
    begin = part.header_offset
    name, extra = unpack("<HH", content[begin + 26 : begin + 30])
    start = begin + 30 + name + extra
    packed = content[start : start + part.compress_size]
    try:
        from pyarrow import decompress
    except ImportError:
        raise NotImplementedError("it is packed with Zstandard, which needs pyarrow") from None
    made: bytes = decompress(packed, part.file_size, codec="zstd", asbytes=True)
    return made


MOST_CELLS = 20_000_000
"""Cells of a rectangle that is loaded: a million rows of twenty columns."""

_SMALL = 1_000_000  # cells of a rectangle that may be as empty as it likes
_EMPTY = 100  # cells of a larger rectangle for each that is filled
# The place of a cell, such as AB12, or of a column or a row alone.
_PLACE = re.compile(r"([A-Za-z]{0,4})([0-9]{0,10})")
_VALUES = {"v", "is", "f"}


class Extent(NamedTuple):
    """The rectangle around the filled cells of a sheet, and how many of its cells are filled."""

    rows: int
    columns: int
    filled: int

    @property
    def problem(self) -> str | None:
        """Say why it is not loaded, if it is not."""
        cells, size = self.rows * self.columns, f"{self.rows:,} rows and {self.columns:,} columns"
        if cells > max(_SMALL, self.filled * _EMPTY):
            return f"a sheet spans {size}, and {self.filled:,} of their cells are filled"
        if cells > MOST_CELLS or self.filled > MOST_CELLS:
            return f"a sheet spans {size}, over {MOST_CELLS:,} cells"
        return None


def sheet_extent(content: bytes) -> Extent:
    """Find how far the filled cells of a sheet reach; ValueError where it is no sheet in XML.

    Reading ends early where there are more cells than are loaded.
    """
    parser, walk = ParserCreate(), _Walk()
    parser.StartElementHandler = walk.begin
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(content, True)
    except _TooManyCells:
        pass
    except ExpatError as error:
        raise ValueError(f"a sheet is not XML: {error}") from None
    return walk.extent


class _TooManyCells(Exception):  # noqa: N818 - no accident
    """There are more cells than are loaded, wherever the others stand."""


def _refuse(*_: object) -> None:
    raise ValueError("a sheet declares a document type, which no spreadsheet does")


class _Walk:
    """Follows rows and cells as readers of sheets do: what has no place stands after the last."""

    def __init__(self) -> None:
        self.row, self.column, self.filled = 0, 0, 0
        self.top = self.left = 1 << 62
        self.bottom = self.right = 0
        self.place: tuple[int, int] | None = None  # of the cell, until it is known to be filled

    @property
    def extent(self) -> Extent:
        """Return what was walked over."""
        if not self.filled:
            return Extent(0, 0, 0)
        return Extent(self.bottom - self.top + 1, self.right - self.left + 1, self.filled)

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        """Take in an element."""
        name = tag.rpartition(":")[2]
        if name == "c":
            self._cell(attributes.get("r"))
        elif name in _VALUES and self.place is not None:
            self._fill(*self.place)
        elif name == "row":
            _, row = _parse(attributes.get("r", ""))
            self.row, self.column = row or self.row + 1, 0

    def _cell(self, named: str | None) -> None:
        column, row = (0, 0) if named is None else _parse(named)
        self.column = column or self.column + 1
        self.place = row or self.row, self.column

    def _fill(self, row: int, column: int) -> None:
        self.place = None
        self.filled += 1
        self.top, self.bottom = min(self.top, row), max(self.bottom, row)
        self.left, self.right = min(self.left, column), max(self.right, column)
        if self.filled > MOST_CELLS:
            raise _TooManyCells


def _parse(named: str) -> tuple[int, int]:
    """Read column and row of a place such as AB12; 0 for what it leaves out."""
    found = _PLACE.fullmatch(named)
    if found is None:
        raise ValueError("a cell stands at a place that no sheet has")
    column = 0
    for letter in found[1].upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return column, int(found[2] or 0)
