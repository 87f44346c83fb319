"""Where the reasoning of a reply ends and its final part begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.strategies.copies import is_copy

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
)
"""What opens and what closes the reasoning of the models people run, in lower case."""

_STRIPPED = ("analysis", "assistantfinal")  # gpt-oss's channels once special tokens are removed
_QUOTES = frozenset("\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb")
_FIRSTS = ("<", "[", "\u25c1")
_HINTS = ("think", "thought", "reasoning>", "reflection>", "<|channel|>")
_ROLE, _END = "<|start|>assistant", "<|end|>"
_NEAR = 400  # characters before a mark that are looked at
_BESIDE = 40  # characters after a mark that show whether it stands in a copied passage


def final_part(lower: str, passages: Sequence[str] = ()) -> int | None:
    """Return where the final part of a reply begins; None where its reasoning never ends."""
    if lower.startswith(_STRIPPED[0]):
        end = lower.rfind(_STRIPPED[1])
        if end >= 0:
            return end + len(_STRIPPED[1])
    if not any(first in lower for first in _FIRSTS) or not any(hint in lower for hint in _HINTS):
        return 0
    body = max(_last(lower, close, passages) for _, close in MARKS)
    for opening, _ in MARKS:
        at = lower.find(opening, body)
        while at >= 0:
            if not _is_quoted(lower, at, at + len(opening), passages):
                return None
            at = lower.find(opening, at + 1)
    return body


def _last(lower: str, close: str, passages: Sequence[str]) -> int:
    """Return the end of the last closing mark that is no quotation, or 0."""
    at = lower.rfind(close)
    while at >= 0:
        end = at + len(close)
        if not _is_quoted(lower, at, end, passages):
            return end
        at = lower.rfind(close, 0, at)
    return 0


def _is_quoted(lower: str, start: int, end: int, passages: Sequence[str]) -> bool:
    """Say whether a mark is talked about: in quotes or code, in a `>` line, in a copied passage."""
    head = lower[max(0, start - _NEAR) : start].removesuffix(_ROLE).removesuffix(_END)
    if head[-1:] in _QUOTES and head:
        return True
    line = head[head.rfind("\n") + 1 :]
    if line.lstrip()[:1] == ">" or line.count("`") % 2 or lower.count("```", 0, start) % 2:
        return True
    return bool(passages) and is_copy(lower[start : end + _BESIDE], passages)
