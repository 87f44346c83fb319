"""Keys taken out of what a server says, however it spells them.

A text is made plain: escapes are undone, up to four layers of them; letters are folded to ASCII and
to one case; white space, invisible characters and signs that no key is written with are dropped. In
the plain text every form of `key_forms` is looked for, and what is found is cut out of the text as
it came. A text without a trace of a key, and nearly all are, costs one pass over its words.
"""

from __future__ import annotations

import html
import re
import string
import unicodedata
from array import array
from bisect import bisect_right
from collections import defaultdict
from itertools import compress, islice
from typing import TYPE_CHECKING, Any

from novarag.web.key_forms import forms, is_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

MARK = "[key]"
"""What stands in the place of a key."""
REMARK = "our key was in the reply and was taken out"
"""What is noted of a reply that held a key."""
_LAYERS = 4  # of escapes in escapes that are taken off; deeper ones are not looked for
_STEP = 8  # at every eighth place of a text four or eight characters are looked up at once:
_SHORT, _LONG = 4, 8  # a run of 11 holds such four, a run of 15 such eight, wherever it begins
_FOLDED = bytes(range(256)).lower().translate(bytes.maketrans(b"-_", b"+/"))
_KEPT = string.ascii_letters + string.digits + "+/-_"


class Secrets:
    """The keys that are secrets, ready to be looked for; keys under 16 characters are none."""

    def __init__(self, keys: Iterable[str]) -> None:
        known = sorted({key for key in keys if is_secret(key)})
        kept = frozenset((_KEPT + "".join("".join(known).split())).encode())
        self._dropped = bytes(byte for byte in range(256) if byte not in kept)
        self._is_kept = bytes(byte in kept for byte in range(256))
        self._runs: defaultdict[int, set[bytes]] = defaultdict(set)
        self._widths: dict[int, defaultdict[int, set[int]]] = {
            _SHORT: defaultdict(set), _LONG: defaultdict(set),
        }  # fmt: skip
        for key in known:
            for form, width in forms(key):
                self._learn(self._squeezed(form), width)
        self._grams = {size: frozenset(widths) for size, widths in self._widths.items()}
        self._any = bool(known)

    def __bool__(self) -> bool:
        return self._any

    def redact(self, text: str) -> str:
        """Return a text without our keys; one that holds none comes back as it is."""
        while spans := self._spans(text):
            pieces, position = [], 0
            for begin, end in spans:
                pieces += [text[position:begin], MARK]
                position = end
            text = "".join([*pieces, text[position:]])
        return text

    def redact_parts(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Take our keys out of a text that comes in parts, which stay as many as they are."""
        found = tuple(parts)
        while found and (spans := self._spans("".join(found))):
            found = tuple(_cut(found, spans))
        return found

    def redact_tree(self, content: Any) -> Any:  # noqa: ANN401 - any JSON
        """Take our keys out of every text of a JSON value, names of fields included."""
        if not self:
            return content
        if isinstance(content, str):
            return self.redact(content)
        if isinstance(content, list):
            return [self.redact_tree(part) for part in content]
        if isinstance(content, dict):
            return {self.redact(k): self.redact_tree(part) for k, part in content.items()}
        return content

    def _learn(self, form: bytes, width: int) -> None:
        size = _LONG if width >= _STEP + _LONG - 1 else _SHORT
        for start in range(len(form) - width + 1):
            self._runs[width].add(form[start : start + width])
        for start in range(len(form) - size + 1):
            self._widths[size][_numbers(form[start : start + size], size)[0]].add(width)

    def _squeezed(self, text: str) -> bytes:
        return text.encode().translate(_FOLDED, self._dropped)

    def _is_clean(self, squeezed: bytes) -> bool:
        short, long = self._grams[_SHORT], self._grams[_LONG]
        return short.isdisjoint(_numbers(squeezed, _SHORT)) and long.isdisjoint(
            _numbers(squeezed, _LONG)
        )

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Find where a text holds a key, in order, apart from each other."""
        if not self._any:
            return []
        plain = fold(text)
        if not has_escapes(plain) and self._is_clean(self._squeezed(plain)):
            return []
        view: PlainedText | None = PlainedText(text)
        spans: list[tuple[int, int]] = []
        for _ in range(_LAYERS + 1):
            if view is None:
                break
            spans += [view.origin(first, last) for first, last in self._found(view.text)]
            view = view.unescaped()
        return _merged(spans)

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        """Find the first and the last characters of a key's runs in a plain text."""
        squeezed = self._squeezed(text)
        if self._is_clean(squeezed):
            return
        kept = text.encode().translate(self._is_kept)
        places = array("L", compress(range(len(text)), kept))
        for size, grams in self._grams.items():
            for number, gram in enumerate(_numbers(squeezed, size)):
                if gram in grams:
                    for width in self._widths[size][gram]:
                        for start in self._starts(squeezed, number * _STEP, size, width):
                            yield places[start], places[start + width - 1]

    def _starts(self, squeezed: bytes, place: int, size: int, width: int) -> Iterator[int]:
        """Find where runs begin that hold the characters at a place."""
        runs = self._runs[width]
        for start in range(max(0, place + size - width), place + 1):
            if squeezed[start : start + width] in runs:
                yield start


def _numbers(squeezed: bytes, size: int) -> list[int]:
    """Take `size` characters of every eighth place as numbers, which are quick to look up."""
    whole = memoryview(squeezed)[: len(squeezed) // size * size]
    return whole.cast("I").tolist()[::2] if size == _SHORT else whole.cast("Q").tolist()


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def _cut(parts: Sequence[str], spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Cut spans of the joined text out of its parts; the mark goes where a span begins.

    Spans are sorted and apart, so one that has ended before a part is not looked at again.
    """
    offset = first = 0
    for part in parts:
        pieces, position, stop = [], offset, offset + len(part)
        while first < len(spans) and spans[first][1] <= offset:
            first += 1
        for begin, end in islice(spans, first, None):
            if begin >= stop:
                break
            pieces.append(part[position - offset : max(begin, offset) - offset])
            pieces.append(MARK if begin >= offset else "")
            position = min(end, stop)
        yield "".join([*pieces, part[position - offset :]])
        offset = stop


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
