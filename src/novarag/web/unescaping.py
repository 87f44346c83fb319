"""Escapes in a text undone, with the way back: where each character stood before."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_OTHER = r"(?P<other>[^\x00-\x7f]+)"
# Letters that are not ASCII, which nobody's key has.
_FOREIGN = re.compile(_OTHER)
_ESCAPE = re.compile(
    r"(?=[\\%&=0uU\x80-\U0010ffff])(?:"  # looked at first: everything else is passed over fast
    r"\\+u(?P<u>[0-9A-Fa-f]{4})|\\+U(?P<U>[0-9A-Fa-f]{8})|\\+u\{(?P<brace>[0-9A-Fa-f]{1,6})\}"
    r"|\\+x(?P<x>[0-9A-Fa-f]{2})|\\+(?P<octal>[0-3][0-7]{2})|\\+[nrtbfv]|\\+(?![A-Za-z0-9\\])"
    r"|%u(?P<pu>[0-9A-Fa-f]{4})|%(?P<percent>[0-9A-Fa-f]{2})|=(?P<printed>[0-9A-Fa-f]{2})"
    r"|0[xX](?P<zero>[0-9A-Fa-f]{2})|[uU]\+(?P<plus>[0-9A-Fa-f]{4,6})"
    rf"|(?P<entity>&(?:\#[0-9]{{1,7}}|\#[xX][0-9A-Fa-f]{{1,6}}|[A-Za-z]{{2,31}});?)|{_OTHER})"
)
# Whether a text may hold an escape at all: of percent signs, then of the rest.
_percent = re.compile(r"%u?[0-9A-Fa-f]{2}").search
_rest = re.compile(r"&[#A-Za-z]|=[0-9A-Fa-f]{2}|0[xX][0-9A-Fa-f]{2}|[uU]\+[0-9A-Fa-f]{4}").search


def has_escapes(text: str) -> bool:
    """Say whether anything in a text may be an escape; nearly always `in` has the last word."""
    if "\\" in text or ("%" in text and _percent(text)):
        return True
    marked = "&" in text or "=" in text or "0x" in text or "0X" in text or "+" in text
    return marked and _rest(text) is not None


def fold(text: str) -> str:
    """Reduce a text to its ASCII: wide and decorated letters are plain, what is no letter goes."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


class PlainedText:
    """A text made plainer, and where each of its characters comes from."""

    __slots__ = ("_before", "_pieces", "_starts", "text")

    def __init__(self, text: str) -> None:
        self._before: PlainedText | None = None
        self._starts: list[int] = []
        self._pieces: list[tuple[int, int, bool]] = []
        self.text = self._plain(text, _FOREIGN, lambda _: "")

    def unescaped(self) -> PlainedText | None:
        """Undo one layer of escapes; None where there is none."""
        if not has_escapes(self.text):
            return None
        view = PlainedText("")
        view._before = self
        view._starts, view._pieces = [], []
        view.text = view._plain(self.text, _ESCAPE, _meaning)
        return None if view.text == self.text else view

    def origin(self, first: int, last: int) -> tuple[int, int]:
        """Return the span in the text as it came that holds these characters, both included."""
        begin, _ = self._origin(first)
        _, end = self._origin(last)
        return (begin, end) if self._before is None else self._before.origin(begin, end - 1)

    def _origin(self, place: int) -> tuple[int, int]:
        number = bisect_right(self._starts, place) - 1
        start, (begin, end, literal) = self._starts[number], self._pieces[number]
        return (begin + place - start, begin + place - start + 1) if literal else (begin, end)

    def _plain(
        self, text: str, pattern: re.Pattern[str], meaning: Callable[[re.Match[str]], str]
    ) -> str:
        out: list[str] = []
        size = position = 0

        def add(piece: str, begin: int, end: int, *, literal: bool) -> None:
            nonlocal size
            if piece:
                self._starts.append(size)
                self._pieces.append((begin, end, literal))
                out.append(piece)
                size += len(piece)

        for match in pattern.finditer(text):
            begin, end = match.span()
            add(text[position:begin], position, begin, literal=True)
            foreign = match["other"]
            if foreign is None:
                add(fold(meaning(match)), begin, end, literal=False)
            elif fold(foreign):
                for place, char in enumerate(foreign, start=begin):
                    add(fold(char), place, place + 1, literal=False)
            position = end
        add(text[position:], position, len(text), literal=True)
        return "".join(out)


def _meaning(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind is None:  # a line break or a tab, or a backslash before a sign
        return ""
    if kind == "entity":
        return html.unescape(match["entity"])
    code = int(match[kind], 8 if kind == "octal" else 16)
    return chr(code) if code < 0x110000 else ""
