"""Which parts of a reply are quotations, and so hold no answer of the model's own.

Marked ones: fences, code, quotation marks, comments, struck text, `>` lines, indented lines, and
what an attribution announces ("Passage 2 says:"). A reply that is one fence, one piece of code or
one quotation as a whole is taken as the model's way of writing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int]

_TAGS = (
    ("<!--", "-->"),
    ("<blockquote", "</blockquote>"),
    ("<code", "</code>"),
    ("<pre", "</pre>"),
    ("<del>", "</del>"),
    ("<del ", "</del>"),
    ("<s>", "</s>"),
    ("<strike>", "</strike>"),
    ("<q>", "</q>"),
    ("<q ", "</q>"),
    ("<details", "</details>"),
    ("<quote", "</quote"),
    ("<passage", "</passage"),
    ("<document", "</document"),
    ("<context", "</context"),
    ("<source", "</source"),
)
_TAG = re.compile("<(?:" + "|".join(re.escape(opening[1:]) for opening, _ in _TAGS) + ")")
_MARKS = (("~~", "~~"), ("[quote", "[/quote"), ("\\begin{quot", "\\end{quot"))
_TYPOGRAPHIC = {
    "\u201c": re.compile("\u201d"),
    "\u201e": re.compile("[\u201c\u201d]"),
    "\u00ab": re.compile("\u00bb"),
    "\u2039": re.compile("\u203a"),
    "\u300c": re.compile("\u300d"),
    "\u300e": re.compile("\u300f"),
    "\u2018": re.compile("\u2019(?!\\w)"),
}
_OPENING = re.compile(f"[{''.join(_TYPOGRAPHIC)}]")
# Each begins with the character it looks for: that is what makes a search quick.
_FENCE = re.compile(r"```|~~~")
_CODE = re.compile(r"`(`?)[^`\n]{1,400}`\1")
_STRAIGHT = re.compile(r'""{0,2}')
_SINGLE = re.compile(r"'(?=\w)")
_SINGLE_END = re.compile(r"'(?<=\S')(?!\w)")
_BEFORE = frozenset(" \t\n([{:,;=*_>-\u2013\u2014")
_AFTER = frozenset(" \t\n.,;:!?)]}*_<-\u2013\u2014")
_SAYING = re.compile(
    r"\b(?:(?:says?|said|saying|states?|stated|stating|claims?|claimed|claiming|reads?|writes?|wrote"
    r"|written|quotes?|quoted|quoting|contains?|containing|instructs?|instructed|tells?|asserts?"
    r"|asserted|demands?|demanded|copied|mentions?|mentioned|gives?|reports?|reported|verbatim)\b"
    r"(?:[ \t]{1,3}(?:the following|the text|the lines?|this|that|as follows|in full|exactly"
    r"|literally|below|here|also|me to (?:say|write)))?"
    r"|(?<!on )(?<!given )(?<!using )(?:passage|document|doc|source|snippet|article|text)"
    r"[ \t#\[(]{1,3}[0-9]{1,4}[\])]?"
    r"|(?:example|format|template)\b[a-z \t]{0,30})"
    r"[ \t*_\"':,(\[-]{0,8}$"
)
_SAYING_ANY_CASE = re.compile(_SAYING.pattern, re.IGNORECASE)
_LAID_OUT = re.compile(r"[ \t>*_-]{0,8}passage[ \t]{1,2}[0-9]{1,4}[ \t*_]{0,4}:", re.IGNORECASE)
_DRESSING = " \t*_#-"
_FENCED = 8  # characters before a fence on its line, at most
_TAB = 4
_INDENT = 2  # columns; the prompt indents the lines of a passage by as many
_NEAR = 400  # characters of a line or of a paragraph that are looked at
_LAST = 64  # characters before a label in which an attribution ends


class Quotations:
    """The quotations of one reply."""

    def __init__(self, text: str, lower: str, body: int) -> None:
        self.text, self.body = text, body
        final = text[body:]
        self._first = len(text) - len(final.lstrip())
        self._last = body + len(final.rstrip())
        written = [span for span in _written(text, body) if not self._is_whole(span)]
        spans = [*_hidden(text, lower, body), *written]
        self._spans = _merged(sorted(spans)) if spans else spans
        self._starts = [start for start, _ in self._spans]
        self._announced = text.find(":\n", body)
        self._lines = text.startswith(">", self._first) and self._is_quoted_throughout()
        flush = self._first == body or text[self._first - 1] == "\n"
        self._margin = 0 if flush else self._least_indent()

    def holds(self, label: int, colon: int) -> bool:
        """Say whether a label, which begins and ends here, is quoted."""
        if self._spans:
            place = bisect_left(self._starts, colon) - 1
            if place >= 0 and colon < self._spans[place][1]:
                return True
        text, body = self.text, self.body
        first = text[label]
        if (label == body or text[label - 1] == "\n") and first != ">" and not first.isspace():
            # Nothing stands before the label, so that only an attribution above it could tell.
            return 0 <= self._announced < label and self._is_attributed(label, label)
        floor = max(body, colon - _NEAR)
        start = text.rfind("\n", floor, colon) + 1 or floor
        line = text[start:colon]
        if not self._lines and line.lstrip()[:1] == ">":
            return True
        if start > self._first and _indent(line) - self._margin >= _INDENT:
            return True
        return self._is_attributed(start, max(start, label))

    def _is_whole(self, span: Span) -> bool:
        return span[0] <= self._first and span[1] >= self._last

    def _is_quoted_throughout(self) -> bool:
        lines = self.text[self.body :].split("\n")
        return all(line.lstrip()[:1] in {">", ""} for line in lines)

    def _least_indent(self) -> int:
        lines = [line for line in self.text[self.body :].split("\n") if line.strip()]
        return min(map(_indent, lines), default=0)

    def _is_attributed(self, start: int, label: int) -> bool:
        """Say whether "Passage 2 says:" stands before a label, or above the paragraph it is in."""
        head = self.text[start:label]
        if head.strip(_DRESSING) and (_ends_saying(head) or _LAID_OUT.match(head)):
            return True
        floor = max(self.body, start - _NEAR)
        if start == self.body or self.text.find(":\n", floor, start) < 0:
            return False
        first = max(floor, self.text.rfind("\n\n", floor, start) + 2)
        opening = self.text[first : max(first, self.text.find("\n", first, start))]
        above = self.text[floor:first].rstrip()
        beside = self.text[floor : start - 1]
        lines = opening, above[above.rfind("\n") + 1 :], beside[beside.rfind("\n") + 1 :]
        return any(map(_announces, lines))


def _announces(line: str) -> bool:
    """Say whether a line ends like "Passage 2 says:"."""
    line = line.rstrip(_DRESSING)
    return line.endswith(":") and _ends_saying(line)


def _ends_saying(text: str) -> bool:
    """Say whether a text ends like "Passage 2 says"."""
    last = text[-_LAST:]
    if last.isascii():  # lower case says the same there, and is searched four times as fast
        return _SAYING.search(last.lower()) is not None
    return _SAYING_ANY_CASE.search(last) is not None


def _merged(spans: list[Span]) -> list[Span]:
    """Join spans that overlap, so that one look finds whether a place is within any."""
    found: list[Span] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _indent(line: str) -> int:
    if line[:1] not in {" ", "\t"}:
        return 0
    bare = line.lstrip(" \t")
    head = line[: len(line) - len(bare)]
    return len(head) + (_TAB - 1) * head.count("\t") if bare else 0


def _hidden(text: str, lower: str, body: int) -> list[Span]:
    """Find what is struck, commented out or marked up as somebody else's."""
    found: list[Span] = []
    pairs: tuple[tuple[str, str], ...] = ()
    if "~" in text or "[" in text or "\\" in text:
        pairs = _MARKS
    if "<" in text and _TAG.search(lower, body):
        pairs += _TAGS
    for opening, close in pairs:
        if opening in lower:
            found += _between(lower, body, opening, close)
    return found


def _written(text: str, body: int) -> list[Span]:
    """Find fences, code and quotation marks, which some models put around a whole reply."""
    found: list[Span] = []
    if not text.isascii() and any(mark in text for mark in _TYPOGRAPHIC):
        found += _typographic(text, body)
    if "`" in text or "~" in text:
        found += _fences(text, body)
        found += [mark.span() for mark in _CODE.finditer(text, body)]
    if '"' in text:
        found += _straight(text, body)
    if "'" in text and (" '" in text or "\n'" in text or text.startswith("'", body)):
        found += _single(text, body)
    return found


def _fences(text: str, body: int) -> Iterator[Span]:
    """Pair fences; one that is never closed goes to the end."""
    start, kind = -1, ""
    for mark in _FENCE.finditer(text, body):
        head = text[max(body, mark.start() - _FENCED) : mark.start()]
        at = mark.start() - len(head) + len(head.rstrip(" \t>"))
        if at > body and text[at - 1] != "\n":
            continue
        if start < 0:
            start, kind = at, mark[0]
        elif mark[0] == kind:
            yield start, mark.end()
            start = -1
    if start >= 0:
        yield start, len(text)


def _between(lower: str, body: int, opening: str, close: str) -> Iterator[Span]:
    at = lower.find(opening, body)
    while at >= 0:
        end = lower.find(close, at + len(opening))
        end = len(lower) if end < 0 else end + len(close)
        yield at, end
        at = lower.find(opening, end)


def _typographic(text: str, body: int) -> Iterator[Span]:
    """Pair quotation marks that tell opening from closing, up to the end of a paragraph."""
    at, limit = body, -1
    while start := _OPENING.search(text, at):
        limit = _paragraph_end(text, start.end(), limit)
        end = _TYPOGRAPHIC[start[0]].search(text, start.end(), limit)
        at = limit if end is None else end.end()
        yield start.start(), at


def _paragraph_end(text: str, at: int, known: int) -> int:
    """Return where the paragraph of a place ends, which is looked for once a paragraph."""
    if known >= at:
        return known
    end = text.find("\n\n", at)
    return len(text) if end < 0 else end


def _straight(text: str, body: int) -> Iterator[Span]:
    """Pair straight quotation marks.

    One that is never closed goes to the end of its paragraph; of its line, where it opens a value.
    """
    start = -1
    for mark in _STRAIGHT.finditer(text, body):
        if start < 0:
            if mark.start() == body or text[mark.start() - 1] in _BEFORE:
                start = mark.start()
        elif mark.end() == len(text) or text[mark.end()] in _AFTER:
            yield start, mark.end()
            start = -1
    if start >= 0:
        is_value = text[max(body, start - 2) : start].rstrip(" ").endswith(":")
        end = text.find("\n" if is_value else "\n\n", start)
        yield start, len(text) if end < 0 else end


def _single(text: str, body: int) -> Iterator[Span]:
    """Pair single quotation marks within a paragraph; apostrophes have no partner."""
    at, limit = body, -1
    while start := _SINGLE.search(text, at):
        at = start.end()
        if start.start() > body and not text[start.start() - 1].isspace():
            continue
        limit = _paragraph_end(text, at, limit)
        end = _SINGLE_END.search(text, at, limit)
        if end is not None:
            yield start.start(), end.end()
        at = limit if end is None else end.end()
