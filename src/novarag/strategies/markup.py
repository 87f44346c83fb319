"""Markup and escapes: tags that only dress a text, marks that hold one, and codes.

What stands between two marks (tags, brackets, fences, lines that say where something begins and
ends) is somebody else's, whatever the marks are called, unless their name says that they hold the
reply itself. A mark without its partner holds nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    TextSpan = tuple[int, int]


# Tags that only dress a text; others may be labels of a format, and are left to its reader.
_DRESSING = (
    "b|strong|i|em|u|span|font|mark|small|big|sup|sub|center|tt|kbd|samp|var|label|bdi|bdo|a"
)
_BLOCKS = "p|br|hr|div|li|ul|ol|dl|dt|dd|h[1-6]|section|table|tbody|thead|tr|td|th|html|body"
# A tag that only dresses a text, or one of a block, which ends a line: <b>, <br/>.
_TAG = re.compile(
    rf"</?(?:(?P<block>{_BLOCKS})|{_DRESSING})(?:[ \t/][^<>\n]{{0,120}})?>", re.IGNORECASE
)
ANY_TAG = re.compile(r"</?[a-zA-Z!][^<>\n]{0,120}>")
"""A tag of whatever name."""

# Up to eight tags at the beginning of a value: "<b><i>Paris".
_EDGE_TAGS = re.compile(
    rf"(?:[ \t*_]{{0,8}}{_TAG.pattern.replace('?P<block>', '?:')}){{1,8}}", re.IGNORECASE
)
# Characters written as codes: \u0041, \u{41}, \x41 and %41.
_CODES = re.compile(r"\\u(?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]{1,6})\})|(?:\\x|%)([0-9a-fA-F]{2})")
_BESIDE = " \t*_\r\n"  # what may stand between tags at the end of a text
_ROUNDS = 3  # escapes of escapes that are undone
# Names under which models put their own reply; what stands in any other container is a quotation.
_OWN = frozenset(
    {
        *("answer", "confidence", "final", "final_answer", "final-answer", "output", "response"),
        *("reply", "final_output", "final_response", "verdict", "solution", "conclusion", "json"),
        *("assistant", "message", "guess", "probability", "decision"),
    }
)
# Elements that may hold a reply, as <final_answer> and [answer], opened or closed.
_NAMED_TAG = re.compile(r"<(?P<end>/?)(?P<name>[^\W\d_][\w:.-]{0,30})(?:[ \t][^<>\n]{0,120})?>")
_BRACKET = re.compile(r"\[(?P<end>/?)(?P<name>[^\W\d_][\w-]{2,30})(?:[ =][^\[\]\n]{0,80})?\]")
# Blocks of template languages: {% quote %} and {% endquote %}.
_BLOCK = re.compile(r"\{%-?[ \t]?(?P<end>end)?(?P<name>[a-z]\w{0,30})[^%\n]{0,80}%\}")
# Rows of one mark, as fenced blocks of several markup dialects have them; ``` is looked at apart.
_FENCE = re.compile(
    r"^[ \t]{0,3}(?P<name>:{3,9}|\+{3,9}|%{3,9}|\|{3,9}|\^{3,9}|@{3,9}|\${3,9})", re.MULTILINE
)
# A line of marks around a word that begins or ends something: "--- BEGIN DOCUMENT ---".
_BOUND = re.compile(
    r"^[^\w\n]{1,12}[^\n]{0,40}?\b(?:(?P<start>begin|start)|(?P<end>end|stop))(?:s|ning|ing|n)?\b"
    r"[^\n]{0,40}?[^\w\n.]{1,12}$",
    re.MULTILINE,
)
_BRACES = re.compile(r"\{\{(?P<name>[a-z]\w{1,20})\|[^{}]{0,2000}\}\}")


def masked(text: str) -> str:
    r"""Write tags that only dress a text as emphasis, and those of blocks as a break, in place.

    Every other character stays where it was.

    >>> masked("<b>Answer:</b> x<br>Confidence: 90%")
    '***Answer:**** x\n***Confidence: 90%'
    """
    return _TAG.sub(_mask, text) if "<" in text else text


def _mask(tag: re.Match[str]) -> str:
    stars = "*" * len(tag[0])
    if not tag["block"]:
        return stars
    beside = (
        tag.string[tag.end() : tag.end() + 1],
        tag.string[max(0, tag.start() - 1) : tag.start()],
    )
    return stars if "\n" in beside or "" in beside else "\n" + stars[1:]


def without_edges(text: str) -> str:
    """Take tags of dressing off both ends of a text, and the spaces and stars beside them."""
    if "<" not in text:
        return text
    first = _EDGE_TAGS.match(text)
    start = first.end() if first else 0
    run, after = len(text), -1  # where the last tags with nothing between them begin and end
    for tag in _TAG.finditer(text, start):
        if after < 0 or text[after : tag.start()].strip(_BESIDE):
            run = tag.start()
        after = tag.end()
    ends_so = after >= 0 and not text[after:].strip(_BESIDE)
    return text[start : run if ends_so else len(text)]


def decoded(text: str) -> str:
    r"""Write codes of characters as what they stand for: of JSON, of HTML, of addresses.

    >>> decoded(r"\u0043onfidence&#58; 9%30")
    'Confidence: 90'
    """
    for _ in range(_ROUNDS):
        plain = unescape(text) if "&" in text else text
        if "\\" in plain or "%" in plain:
            plain = _CODES.sub(_character, plain)
        if plain == text:
            break
        text = plain
    return text


def _character(code: re.Match[str]) -> str:
    number = int(code[1] or code[2] or code[3], 16)
    return chr(number) if number <= 0x10FFFF else code[0]


def containers(text: str, lower: str, body: int) -> list[TextSpan]:
    """Return what stands between two marks of one name."""
    found: list[TextSpan] = []
    if "</" in text:
        found += _paired(_NAMED_TAG, lower, body)
    if "[/" in text:
        found += _paired(_BRACKET, lower, body)
    if "{" in text:
        found += _paired(_BLOCK, lower, body)
        found += (mark.span() for mark in _BRACES.finditer(lower, body))
    if _may_be_fenced(text):
        found += _fenced(lower, body)
    if "begin" in lower or "start" in lower:
        found += _bounded(lower, body)
    return found


def _may_be_fenced(text: str) -> bool:
    """Say quickly whether a text has three of one sign."""
    return (":::" in text or "+++" in text or "%%%" in text or "|||" in text or "^^^" in text) or (
        "@@@" in text or "$$$" in text
    )


def _paired(pattern: re.Pattern[str], lower: str, body: int) -> Iterator[TextSpan]:
    """Pair marks by name; each opening one with the first closing one behind it."""
    marks = list(pattern.finditer(lower, body))
    ends: dict[str, list[int]] = {}
    for mark in marks:
        if mark["end"]:
            ends.setdefault(mark["name"], []).append(mark.end())
    reached = body
    for mark in marks:
        name = mark["name"]
        if mark["end"] or mark.start() < reached or name in _OWN or name not in ends:
            continue
        at = bisect_right(ends[name], mark.end())
        if at < len(ends[name]):
            reached = ends[name][at]
            yield mark.start(), reached


def _fenced(lower: str, body: int) -> Iterator[TextSpan]:
    """Pair lines that begin with three or more of one sign."""
    start, sign = -1, ""
    for mark in _FENCE.finditer(lower, body):
        if start < 0:
            start, sign = mark.start(), mark["name"][0]
        elif mark["name"][0] == sign:
            yield start, mark.end()
            start = -1


def _bounded(lower: str, body: int) -> Iterator[TextSpan]:
    """Pair lines such as "--- begin passage ---" and "--- end passage ---"."""
    start = -1
    for mark in _BOUND.finditer(lower, body):
        if mark["start"] and start < 0:
            start = mark.start()
        elif mark["end"] and start >= 0:
            yield start, mark.end()
            start = -1
