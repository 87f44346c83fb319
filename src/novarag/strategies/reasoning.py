"""Where the reasoning of a reply ends and its final part begins."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from novarag.strategies.copies import is_copy, squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("[think]", "[/think]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis", "<|channel|>final<|message|>"),
    ("<|channel|>commentary", "<|channel|>final<|message|>"),
    ("<|channel|>analysis", "<|channel|>final <|constrain|>json<|message|>"),
)
"""What opens and what closes the reasoning of the models people run, in lower case."""

_STRIPPED = ("analysis", "assistantfinal")  # gpt-oss's channels once special tokens are removed
_QUOTES = frozenset("\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb")
_HINTS = ("think", "thought", "reasoning>", "reflection>", "<|channel|>")
_TELLING = 8  # letters beside a mark without which it could be anybody's
_ROLE, _END = "<|start|>assistant", "<|end|>"
_MOST = 64  # quoted marks that are looked at; a reply with more is no reply
_CHANNEL = re.compile("analysis[A-Z]")
_FENCE = re.compile("```")
_NEAR = 400  # characters before a mark that are looked at
_BESIDE = 40  # characters after a mark that show whether it stands in a copied passage


def final_part(text: str, lower: str, passages: Sequence[str] = ()) -> int | None:
    """Return where the final part of a reply begins; None where its reasoning never ends."""
    if lower.startswith(_STRIPPED[0]):
        end = lower.rfind(_STRIPPED[1])
        if end >= 0:
            return end + len(_STRIPPED[1])
        if _CHANNEL.match(text):
            return None
    if not _may_hold_marks(lower):
        return 0
    fences = [mark.start() for mark in _FENCE.finditer(lower)]
    closing = [close for _, close in MARKS if close in lower]
    body = max([_last(lower, close, passages, fences) for close in closing], default=0)
    for opening, _ in MARKS:
        at, looked = lower.find(opening, body), 0
        while at >= 0:
            looked += 1
            end = at + len(opening)
            if looked > _MOST or not _is_quoted(lower, at, end, passages, fences):
                return None
            at = lower.find(opening, end)
    return body


def _may_hold_marks(lower: str) -> bool:
    """Say quickly whether a mark may be there: its first character is, and its word."""
    first = "<" in lower or "[" in lower or "\u25c1" in lower
    return first and any(hint in lower for hint in _HINTS)


def _last(lower: str, close: str, passages: Sequence[str], fences: list[int]) -> int:
    """Return the end of the last closing mark that is no quotation, or 0."""
    at = lower.rfind(close)
    for _ in range(_MOST):
        if at < 0:
            return 0
        end = at + len(close)
        if not _is_quoted(lower, at, end, passages, fences):
            return end
        at = lower.rfind(close, 0, at)
    return 0


def _is_quoted(
    lower: str, start: int, end: int, passages: Sequence[str], fences: list[int]
) -> bool:
    """Say whether a mark is talked about: in quotes or code, in a `>` line, in a copied passage."""
    head = lower[max(0, start - _NEAR) : start].removesuffix(_ROLE).removesuffix(_END)
    if head[-1:] in _QUOTES and head:
        return True
    line = head[head.rfind("\n") + 1 :]
    if line.lstrip()[:1] == ">" or line.count("`") % 2 or bisect_left(fences, start) % 2:
        return True
    if not passages:
        return False
    least = len(squeeze(lower[start:end])) + _TELLING
    near = lower[start : end + _BESIDE], lower[max(0, start - _BESIDE) : end]
    return any(len(squeeze(text)) >= least and is_copy(text, passages) for text in near)
