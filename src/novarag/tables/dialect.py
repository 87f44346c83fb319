"""Delimited text: which separator it has, what its head says, which rows do not fit."""

from __future__ import annotations

import csv
from collections import Counter
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from novarag.tables.names import find_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What may stand between cells, and what it is called."""

_SAMPLE = 200  # rows that separators are tried on
_BEGIN = 1_000_000  # characters that these, and the head, are looked for in
_LARGEST = 2**31 - 1  # characters of a cell; the library's own limit is 131,072


class Delimited(NamedTuple):
    """Delimited text from its head on, and its separator."""

    text: str
    separator: str

    @property
    def head(self) -> list[str]:
        """The names of its columns."""
        begin = Delimited(self.text[:_BEGIN], self.separator)
        return next(begin.rows(), []) if len(self.text) > _BEGIN else next(self.rows(), [])

    @property
    def is_cut(self) -> bool:
        """Whether the head goes on where it is no longer looked for."""
        begin = Delimited(self.text[:_BEGIN], self.separator)
        return len(self.text) > _BEGIN and len(list(islice(begin.rows(), 2))) < 2

    def rows(self) -> Iterator[list[str]]:
        """Yield its rows, the head first; empty lines are passed over."""
        return (row for row in _reader(self.text, self.separator) if row)


def delimited(text: str, wanted: Sequence[str] = ()) -> Delimited:
    r"""Find the separator of a text: the one whose rows are all as long as the head.

    Among several, the one whose head has the `wanted` columns, then that with most columns.

    >>> delimited("conf;up\n0,85;yes\n").separator, delimited("a\tb\n1\t2\n").separator
    (';', '\t')
    """
    text = _lines(text)
    if text[:4].lower() == "sep=" and text[5:7].lstrip("\r")[:1] == "\n":  # as spreadsheets want it
        return Delimited(text[5:].lstrip("\r\n"), text[4])
    return Delimited(text, max(SEPARATORS, key=lambda one: _fit(text, one, wanted)))


def _lines(text: str) -> str:
    text = text.removeprefix("\ufeff").lstrip("\r\n")
    return text if "\n" in text else text.replace("\r", "\n")


def _reader(text: str, separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LARGEST)
    return csv.reader(StringIO(text, newline=""), delimiter=separator)


def _fit(text: str, separator: str, wanted: Sequence[str]) -> tuple[bool, int, bool, int]:
    """Say how well a separator fits: with columns at all, wanted ones, even rows, how many."""
    sample = [row for row in islice(_reader(text[:_BEGIN], separator), _SAMPLE) if row]
    if not sample:
        return False, 0, False, 0
    if len(text) > _BEGIN and len(sample) < _SAMPLE:
        sample = sample[:-1] or sample  # the last may be cut
    head = sample[0]
    known = sum(isinstance(find_column(name, head), str) for name in wanted)
    even = all(len(row) == len(head) for row in sample)
    return len(head) > 1, known, even, len(head)


class Uneven(NamedTuple):
    """Rows that are not as long as the head: how many cells they have, how many, where first."""

    cells: int
    rows: int
    first: int


def uneven(table: Delimited) -> list[Uneven]:
    """Find the rows that are not as long as the head."""
    width, counts, first = len(table.head), Counter[int](), dict[int, int]()
    for number, row in enumerate(islice(table.rows(), 1, None), start=1):
        if len(row) != width:
            counts[len(row)] += 1
            first.setdefault(len(row), number)
    return [Uneven(cells, rows, first[cells]) for cells, rows in counts.most_common()]


def joined(table: Delimited, at: int) -> list[list[str]]:
    r"""Return the rows below the head; one with a cell too many has its number at `at` joined.

    >>> joined(Delimited("conf,up\n0,85,yes\n1,no\n", ","), 0)
    [['0,85', 'yes'], ['1', 'no']]
    """
    width = len(table.head)
    return [_joined(row, at, width) for row in islice(table.rows(), 1, None)]


def _joined(row: list[str], at: int, width: int) -> list[str]:
    parts = row[at : at + 2]
    if len(row) != width + 1 or len(parts) != 2 or not all(p.strip(" %").isdigit() for p in parts):
        return row
    return [*row[:at], ",".join(parts), *row[at + 2 :]]
