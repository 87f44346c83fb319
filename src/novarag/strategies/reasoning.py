"""Where the reasoning of a reply ends and its final part begins.

A mark of reasoning is known by its class: a name in brackets that says thinking, whatever model it
is of. One that says an end, or has a slash, closes; any other opens.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from novarag.strategies.copies import is_copy, squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

_SURE = "think|thought|reason|reflect"  # of tagged formats, whose own tags may be called otherwise
_NAMES = (
    f"{_SURE}|scratch|analy[sz]|deliberat|ponder|monolog|ruminat|brainstorm|contemplat|introspect"
    "|meditat|rationale|cot\\b|cot_|_cot|chain[_-]of|musing|cogitat|workings?\\b|inner[_-]|internal[_-]"
    "|hidden[_-]|gedanke|denk|\u00fcberleg|begr\u00fcndung|pens[\u00e9e]|raisonn|razon|ragion"
    "|r[\u00e9e]flex|rifless|racioc\u00edn|\u601d\u8003|\u63a8\u7406|\u5206\u6790|\u53cd\u601d"
)
_LISTED = (
    "think|thinking|thoughts?|reason|reasoning|reflection|scratch[_ -]?pad|analysis|monologue"
    "|deliberation|rationale|cot"
)  # in square brackets, which prose has too
# A mark of reasoning in the brackets that models use for special tokens: <think>, <|think|>,
# the wide bars of DeepSeek, the triangles and lenticular brackets of others. Attributes need a
# "=", so that a comparison such as "<think about it>" is none.
_MARK = re.compile(
    r"(?:[<\u25c1\u3010]\|?|<\uff5c)[ \t]?"
    rf"(?P<name>/?[\w:./-]{{0,30}}?(?:{_NAMES})[\w:./-]{{0,30}})"
    r"(?:[ \t][^<>\[\]\n]{0,80}=[^<>\[\]\n]{0,80})?(?:\|?[>\u25b7\u3011]|\uff5c>)"
    r"|\[(?P<listed>/?(?:start[_ ]|begin[_ ]|end[_ ])?"
    rf"(?:{_LISTED})(?:[_ ]start|[_ ]begin|[_ ]end)?)\]"
)
_TAGGED_MARK = re.compile(_MARK.pattern.replace(_NAMES, _SURE))
_CLOSES = re.compile(r"^/|/$|(?:^|[_:. -])(?:end|stop|close|finish|done)(?:$|[_:. -])|^end|end$")
_CHANNELS = (  # of gpt-oss and of Gemma: what opens, what closes
    ("<|channel|>analysis", "<|channel|>commentary", "<|channel>thought", "<unused94>thought"),
    (
        *("<|channel|>final<|message|>", "<|channel|>final <|constrain|>json<|message|>"),
        *("<channel|>", "<unused95>"),
    ),
)
_STRIPPED = ("analysis", "assistantfinal")  # gpt-oss's channels once special tokens are removed
_QUOTES = frozenset("\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb")
_TELLING = 8  # letters beside a mark without which it could be anybody's
_ROLE, _END = "<|start|>assistant", "<|end|>"
_MOST = 64  # quoted marks that are looked at; a reply with more is no reply
# `analysisWe know ...`, a channel of gpt-oss without its marks.
_CHANNEL = re.compile("analysis[A-Z]")
_FENCE = re.compile("```")  # code, in which a mark is no mark
_NEAR = 400  # characters before a mark that are looked at
_BESIDE = 40  # characters after a mark that show whether it stands in a copied passage


class _ReasoningMark(NamedTuple):
    """A mark of reasoning: where it stands, and whether it closes."""

    start: int
    end: int
    closes: bool


def final_part(
    text: str, lower: str, passages: Sequence[str] = (), *, tagged: bool = False
) -> int | None:
    """Return where the final part of a reply begins; None where its reasoning never ends."""
    if lower.startswith(_STRIPPED[0]):
        end = lower.rfind(_STRIPPED[1])
        if end >= 0:
            return end + len(_STRIPPED[1])
        if _CHANNEL.match(text):
            return None
    marks = _marks(lower, tagged=tagged)
    if not marks:
        return 0
    fences = [mark.start() for mark in _FENCE.finditer(lower)]
    for looked, mark in enumerate(reversed(marks)):
        if looked == _MOST:
            return None
        if not _is_quoted(lower, mark.start, mark.end, passages, fences):
            return mark.end if mark.closes else None
    return 0


def _marks(lower: str, *, tagged: bool) -> list[_ReasoningMark]:
    """Return every mark in order."""
    if "<" not in lower and "[" not in lower and "\u25c1" not in lower and "\u3010" not in lower:
        return []
    pattern = _TAGGED_MARK if tagged else _MARK
    found = [
        _ReasoningMark(m.start(), m.end(), _CLOSES.search(m["name"] or m["listed"]) is not None)
        for m in pattern.finditer(lower)
    ]
    if "channel" in lower or "<unused9" in lower:
        for closes, names in enumerate(_CHANNELS):
            for name in names:
                at = lower.find(name)
                while at >= 0:
                    found.append(_ReasoningMark(at, at + len(name), bool(closes)))
                    at = lower.find(name, at + 1)
        found.sort()
    return found


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
