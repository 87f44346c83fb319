"""How far the cells of a workbook's sheet reach, found before anything is made of that size.

Whoever loads a sheet makes a rectangle from its first filled cell to its last. Two cells can span
seventeen billion.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

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
    except _Enough:
        pass
    except ExpatError as error:
        raise ValueError(f"a sheet is not XML: {error}") from None
    return walk.extent


class _Enough(Exception):  # noqa: N818 - no accident
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
            raise _Enough


def _parse(named: str) -> tuple[int, int]:
    """Read column and row of a place such as AB12; 0 for what it leaves out."""
    found = _PLACE.fullmatch(named)
    if found is None:
        raise ValueError("a cell stands at a place that no sheet has")
    column = 0
    for letter in found[1].upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return column, int(found[2] or 0)
