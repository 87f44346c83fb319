"""Text that stands in something: tags, brackets, fences, lines that say where it begins and ends.

What a pair of marks holds is somebody else's, whatever the pair is called, unless its name says
that it is the reply itself. A mark without its partner holds nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int]

# Names under which models put their own reply; what stands in any other container is a quotation.
_OWN = frozenset(
    {
        *("answer", "confidence", "final", "final_answer", "final-answer", "output", "response"),
        *("reply", "final_output", "final_response", "verdict", "solution", "conclusion", "json"),
        *("assistant", "message", "guess", "probability", "decision"),
    }
)
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[^\W\d_][\w:.-]{0,30})(?:[ \t][^<>\n]{0,120})?>")
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


def containers(text: str, lower: str, body: int) -> list[Span]:
    """Return what stands between two marks of one name."""
    found: list[Span] = []
    if "</" in text:
        found += _paired(_TAG, lower, body)
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


def _paired(pattern: re.Pattern[str], lower: str, body: int) -> Iterator[Span]:
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


def _fenced(lower: str, body: int) -> Iterator[Span]:
    """Pair lines that begin with three or more of one sign."""
    start, sign = -1, ""
    for mark in _FENCE.finditer(lower, body):
        if start < 0:
            start, sign = mark.start(), mark["name"][0]
        elif mark["name"][0] == sign:
            yield start, mark.end()
            start = -1


def _bounded(lower: str, body: int) -> Iterator[Span]:
    """Pair lines such as "--- begin passage ---" and "--- end passage ---"."""
    start = -1
    for mark in _BOUND.finditer(lower, body):
        if mark["start"] and start < 0:
            start = mark.start()
        elif mark["end"] and start >= 0:
            yield start, mark.end()
            start = -1
