"""Which parts of a reply are quotations, and so hold no answer of the model's own.

Marked ones: fences, code, quotation marks, comments, struck text, `>` lines, indented lines, and
what an attribution announces ("Passage 2 says:"). A reply that is one fence, one piece of code or
one quotation as a whole is taken as the model's way of writing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING

from novarag.strategies.markup import containers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.strategies.markup import TextSpan

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
# Whether a text has any of these tags; the slow search for pairs starts only then.
_TAG = re.compile("<(?:" + "|".join(re.escape(opening[1:]) for opening, _ in _TAGS) + ")")
_MARKS = (("~~", "~~"), ("[quote", "[/quote"), ("\\begin{quot", "\\end{quot"))
# Each opening sign with what closes it; an apostrophe within a word closes nothing.
_TYPOGRAPHIC = {
    "\u201c": re.compile("\u201d"),
    "\u201e": re.compile("[\u201c\u201d]"),
    "\u00ab": re.compile("\u00bb"),
    "\u2039": re.compile("\u203a"),
    "\u300c": re.compile("\u300d"),
    "\u300e": re.compile("\u300f"),
    "\u2018": re.compile("\u2019(?!\\w)"),
    "\u201a": re.compile("[\u2018\u2019](?!\\w)"),
    **{
        pair[0]: re.compile(pair[1])
        for pair in (
            *("\u300a\u300b", "\u3008\u3009", "\u3010\u3011", "\u3014\u3015", "\u3016\u3017"),
            *("\u27e8\u27e9", "\u27ea\u27eb", "\u2985\u2986", "\uff62\uff63", "\u275d\u275e"),
            *("\u275b\u275c", "\u301d\u301e", "\u2e28\u2e29", "\u2329\u232a", "\u2768\u2769"),
        )
    },
}
# Any of the opening signs.
_OPENING = re.compile(f"[{''.join(_TYPOGRAPHIC)}]")
# Each begins with the character it looks for: that is what makes a search quick.
_FENCE = re.compile(r"```|~~~")
_CODE = re.compile(r"`(`?)[^`\n]{1,400}`\1")
_STRAIGHT = re.compile(r'""{0,2}')
_SINGLE = re.compile(r"'(?=\w)")
_SINGLE_END = re.compile(r"'(?<=\S')(?!\w)")
_BEFORE = frozenset(" \t\n([{:,;=*_>-\u2013\u2014")
_AFTER = frozenset(" \t\n.,;:!?)]}*_<-\u2013\u2014")
# Who or what is quoted ends so: "the page says:", "copied from passage 2: "; then words for a
# source, and words of the model's own voice, with which no source is meant.
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
_SOURCE = re.compile(
    r"\b(?:passages?|documents?|docs?|sources?|snippets?|articles?|texts?|pages?|web ?sites?|sites?"
    r"|authors?|writers?|editors?|excerpts?|paragraphs?|results?|retriev\w{1,3}|instructions?"
    r"|injected|somebody|someone|abschnitt|quelle|le passage|el pasaje|il brano|o trecho)\b"
    r"|\u6bb5|\u6587\u7ae0|\u539f\u6587",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:my|mine|i|i'm|i've|our|we|final\w{0,2}|conclu\w{1,6}|therefore|thus|overall|verdict|based"
    r"|given|considering|using|weighing|after|so|hence|result is)\b",
    re.IGNORECASE,
)
# The same in any case; and a passage laid out as the prompt lays it out, "Passage 2: ".
_SAYING_ANY_CASE = re.compile(_SAYING.pattern, re.IGNORECASE)
_LAID_OUT = re.compile(r"[ \t>*_-]{0,8}passage[ \t]{1,2}[0-9]{1,4}[ \t*_]{0,4}:", re.IGNORECASE)
_PREFIXES = (
    "\u2502",
    "\u2503",
    "\u2551",
    "\u258f",
    "\u258c",
    "\u00a6",
    "\u00bb",
    "\u203a",
    "\u276f",
    "//",
)
_COLON = re.compile(r"[:\uff1a][ \t*_#-]{0,8}\n")  # a line that announces what is below it
_DRESSING = " \t*_#-"
_FENCED = 8  # characters before a fence on its line, at most
_TAB = 4  # columns, as in Markdown
_INDENT = 2  # columns; the prompt indents the lines of a passage by as many
_NEAR = 400  # characters of a line or of a paragraph that are looked at
_SENTENCE = 100  # characters of a line that announces something
_LAST = 64  # characters before a label in which an attribution ends


class Quotations:
    """The quotations of one reply.

    In a `framed` one nothing but the model's own labels is looked at, and what is announced or
    indented is its own too: marks alone make a quotation.
    """

    def __init__(self, text: str, lower: str, body: int, *, framed: bool = False) -> None:
        self.text, self.body, self.framed = text, body, framed
        final = text[body:]
        self._first = len(text) - len(final.lstrip())
        self._last = body + len(final.rstrip())
        written = [s for s in _written(text, lower, body) if not self._is_whole(s)]
        spans = [*_hidden(text, lower, body), *written]
        self._spans = _merged(sorted(spans)) if spans else spans
        self._starts = [start for start, _ in self._spans]
        self._announced = [] if framed else list(_announcements(text, body))
        self._ends = [end for _, end, _ in self._announced]
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
            return bool(self._announced) and self._is_announced(label)
        floor = max(body, colon - _NEAR)
        start = text.rfind("\n", floor, colon) + 1 or floor
        line = text[start:colon]
        if not self._lines and line.lstrip()[:1] == ">":
            return True
        if self.framed:
            return False
        if line.lstrip().startswith(_PREFIXES):
            return True
        if start > self._first and _indent(line) - self._margin >= _INDENT:
            return True
        return self.attributes(start, max(start, label))

    def surrounds(self, place: int) -> bool:
        """Say whether a place is within a quotation that begins before it."""
        return any(start < place < end for start, end in self._spans)

    def _is_whole(self, span: TextSpan) -> bool:
        return span[0] <= self._first and span[1] >= self._last

    def _is_quoted_throughout(self) -> bool:
        lines = self.text[self.body :].split("\n")
        return all(line.lstrip()[:1] in {">", ""} for line in lines)

    def _least_indent(self) -> int:
        lines = [line for line in self.text[self.body :].split("\n") if line.strip()]
        return min(map(_indent, lines), default=0)

    def attributes(self, start: int, label: int) -> bool:
        """Say whether "Passage 2 says:" stands before a label, or above the paragraph it is in."""
        if self.framed:
            return False
        head = self.text[start:label]
        if head.strip(_DRESSING) and (
            _ends_saying(head) or _LAID_OUT.match(head) or _names_source(head)
        ):
            return True
        return bool(self._announced) and self._is_announced(start)

    def _is_announced(self, start: int) -> bool:
        """Say whether "Passage 2 says:" stands above a line, or above the paragraph it is in."""
        floor = max(self.body, start - _NEAR)
        low, high = bisect_left(self._ends, floor), bisect_left(self._ends, start)
        above = self._announced[low:high]
        if not above:
            return False
        text = self.text
        first = max(floor, text.rfind("\n\n", floor, start) + 2)
        before = floor + len(text[floor:first].rstrip())
        for line, end, says in above:
            if end == start - 1 or (says and line <= first <= end):
                return True
            if (says or first == start) and line <= before - 1 <= end:
                return True
        return False


def _announcements(text: str, body: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the lines that announce somebody's text: start, end, whether by a verb of saying."""
    for colon, end in _colons(text, body):
        floor = max(body, colon - _NEAR)
        start = text.rfind("\n", floor, colon) + 1 or floor
        how = _manner(text[max(start, colon - _SENTENCE) : colon + 1])
        if how is not None:
            yield start, end, how


def _colons(text: str, body: int) -> Iterator[tuple[int, int]]:
    """Yield where lines end with a colon, which may be dressed, and where they break."""
    if ":*" in text or ": \n" in text or ":_" in text or "\uff1a" in text:
        for mark in _COLON.finditer(text, body):
            yield mark.start(), mark.end() - 1
        return
    at = text.find(":\n", body)
    while at >= 0:
        yield at, at + 1
        at = text.find(":\n", at + 1)


@lru_cache(maxsize=512)  # models announce their last lines in the same few words
def _manner(line: str) -> bool | None:
    """Say whether a line announces somebody's text by a verb of saying; None where it does not."""
    if _announces(line):
        return True
    return False if _names_source(line) else None


def announces(text: str) -> bool:
    """Say whether the last line of a text announces somebody else's: "Passage 2 says:"."""
    last = text.rstrip()
    last = last[max(0, len(last) - _NEAR) :]
    last = last[last.rfind("\n") + 1 :]
    return _announces(last) or _names_source(last)


def _announces(line: str) -> bool:
    """Say whether a line ends like "Passage 2 says:"."""
    line = line.rstrip(_DRESSING)
    return line.endswith(":") and _ends_saying(line)


def _names_source(line: str) -> bool:
    """Say whether a line ends with a colon and names a source, not a conclusion of the model's."""
    line = line.rstrip(_DRESSING)
    if not line.endswith((":", "\uff1a")):
        return False
    last = line[-_SENTENCE:]
    return _SOURCE.search(last) is not None and _OWN.search(last) is None


def _ends_saying(text: str) -> bool:
    """Say whether a text ends like "Passage 2 says"."""
    last = text[-_LAST:]
    if last.isascii():  # lower case says the same there, and is searched four times as fast
        return _SAYING.search(last.lower()) is not None
    return _SAYING_ANY_CASE.search(last) is not None


def _merged(spans: list[TextSpan]) -> list[TextSpan]:
    """Join spans that overlap, so that one look finds whether a place is within any."""
    found: list[TextSpan] = []
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


def _hidden(text: str, lower: str, body: int) -> list[TextSpan]:
    """Find what is struck, commented out or marked up as somebody else's."""
    found: list[TextSpan] = []
    pairs: tuple[tuple[str, str], ...] = ()
    if "~" in text or "[" in text or "\\" in text:
        pairs = _MARKS
    if "<" in text and _TAG.search(lower, body):
        pairs += _TAGS
    for opening, close in pairs:
        if opening in lower:
            found += _between(lower, body, opening, close)
    return found


def _written(text: str, lower: str, body: int) -> list[TextSpan]:
    """Find fences, code and quotation marks, which some models put around a whole reply."""
    found = containers(text, lower, body)
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


def _fences(text: str, body: int) -> Iterator[TextSpan]:
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


def _between(lower: str, body: int, opening: str, close: str) -> Iterator[TextSpan]:
    at = lower.find(opening, body)
    while at >= 0:
        end = lower.find(close, at + len(opening))
        end = len(lower) if end < 0 else end + len(close)
        yield at, end
        at = lower.find(opening, end)


def _typographic(text: str, body: int) -> Iterator[TextSpan]:
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


def _straight(text: str, body: int) -> Iterator[TextSpan]:
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


def _single(text: str, body: int) -> Iterator[TextSpan]:
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
