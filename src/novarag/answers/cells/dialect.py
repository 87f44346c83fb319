"""Bytes as text, and delimited text: its separator, its head, the rows that do not fit.

Bytes are UTF-8 or UTF-16 with or without a mark of byte order, and Windows-1252 where they are
neither.
"""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from novarag.answers.cells.unsettled import find_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What may stand between cells, and what it is called."""

_SAMPLE = 200  # rows that separators are tried on
_BEGIN = 1_000_000  # characters that these, and the head, are looked for in
_LARGEST = 2**31 - 1  # characters of a cell; the library's own limit is 131,072


class DelimitedText(NamedTuple):
    """Delimited text from its head on, and its separator."""

    text: str
    separator: str

    @property
    def head(self) -> list[str]:
        """The names of its columns."""
        begin = DelimitedText(self.text[:_BEGIN], self.separator)
        return next(begin.rows(), []) if len(self.text) > _BEGIN else next(self.rows(), [])

    @property
    def is_cut(self) -> bool:
        """Whether the head goes on where it is no longer looked for."""
        begin = DelimitedText(self.text[:_BEGIN], self.separator)
        return len(self.text) > _BEGIN and len(list(islice(begin.rows(), 2))) < 2

    def rows(self) -> Iterator[list[str]]:
        """Yield its rows, the head first; empty lines are passed over."""
        return (row for row in _reader(self.text, self.separator) if row)


def delimited(text: str, wanted: Sequence[str] = ()) -> DelimitedText:
    r"""Find the separator of a text: the one whose rows are all as long as the head.

    Among several, the one whose head has the `wanted` columns, then that with most columns.

    >>> delimited("conf;up\n0,85;yes\n").separator, delimited("a\tb\n1\t2\n").separator
    (';', '\t')
    """
    text = _lines(text)
    if text[:4].lower() == "sep=" and text[5:7].lstrip("\r")[:1] == "\n":  # as spreadsheets want it
        return DelimitedText(text[5:].lstrip("\r\n"), text[4])
    return DelimitedText(text, max(SEPARATORS, key=lambda one: _fit(text, one, wanted)))


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


class UnevenRows(NamedTuple):
    """Rows that are not as long as the head: how many cells they have, how many, where first."""

    cells: int
    rows: int
    first: int


def uneven(table: DelimitedText) -> list[UnevenRows]:
    """Find the rows that are not as long as the head."""
    width, counts, first = len(table.head), Counter[int](), dict[int, int]()
    for number, row in enumerate(islice(table.rows(), 1, None), start=1):
        if len(row) != width:
            counts[len(row)] += 1
            first.setdefault(len(row), number)
    return [UnevenRows(cells, rows, first[cells]) for cells, rows in counts.most_common()]


def joined(table: DelimitedText, at: int) -> list[list[str]]:
    r"""Return the rows below the head; one with a cell too many has its number at `at` joined.

    >>> joined(DelimitedText("conf,up\n0,85,yes\n1,no\n", ","), 0)
    [['0,85', 'yes'], ['1', 'no']]
    """
    width = len(table.head)
    return [_joined(row, at, width) for row in islice(table.rows(), 1, None)]


def _joined(row: list[str], at: int, width: int) -> list[str]:
    parts = row[at : at + 2]
    if len(row) != width + 1 or len(parts) != 2 or not all(p.strip(" %").isdigit() for p in parts):
        return row
    return [*row[:at], ",".join(parts), *row[at + 2 :]]


# — from bytes —

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16 does, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FIRST_BYTES = 4096  # enough to know UTF-16 by its zeros


class DecodedText(NamedTuple):
    """A text, and the encoding that it was in."""

    text: str
    encoding: str


def decode(content: bytes) -> DecodedText:
    r"""Decode a text file; ValueError where the bytes are no text.

    >>> decode("85 %;naïve".encode("utf-16")).text, decode(b"na\xefve").encoding
    ('85 %;naïve', 'Windows-1252')
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            return DecodedText(
                _strict(content[len(mark) :], name), name.upper().removesuffix("-LE")
            )
    if wide := _unmarked(content[:_FIRST_BYTES]):
        return DecodedText(_strict(content, wide), wide.upper().removesuffix("-LE"))
    if b"\0" in content:
        raise ValueError("it holds bytes that are no text")
    try:
        return DecodedText(content.decode("utf-8"), "UTF-8")
    except UnicodeDecodeError:
        return _one_byte(content)


def _strict(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(f"it begins as {encoding} and goes on otherwise ({error})") from error


def _unmarked(sample: bytes) -> str | None:
    """Know UTF-16 without its mark: every second byte of plain text in it is zero."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if half >= 2 and odd > 0.7 * half and even < 0.1 * half:
        return "utf-16-le"
    if half >= 2 and even > 0.7 * half and odd < 0.1 * half:
        return "utf-16-be"
    return None


def _one_byte(content: bytes) -> DecodedText:
    try:
        return DecodedText(content.decode("cp1252"), "Windows-1252")
    except UnicodeDecodeError:  # five bytes mean nothing there
        return DecodedText(content.decode("latin-1"), "Latin-1")
