"""Replies that are one JSON object, or end with one: read by key, not by label.

It may stand in a fence, behind a sentence that does not announce somebody else's text, in a list by
itself, or in an object that does nothing but hold it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from novarag.records import Flaw
from novarag.strategies.copies import squeeze

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.strategies.labels import Labels
    from novarag.strategies.parts import ReplyText

# A key is known by the name of a part with one of these before or after it.
_SUFFIXES = ("", "_score", "_level", "_percentage", "_percent", "_pct", "_(%)", "_value")
_PREFIXES = ("", "final_", "my_", "short_")
_OTHERS = ("corrected", "revised", "updated", "new", "adjusted", "actual", "real", "true", "final")
_HOLDERS = frozenset({"response", "result", "output", "reply", "final", "final_output", "json"})
_FENCE = "```"
_TRIED = 3  # places where an object may begin
# A comma before a closing bracket, which models write and JSON forbids.
_LAST_COMMA = re.compile(r",(?=[ \t\n]{0,40}[}\]])")

Parts = list[tuple[str, object]]


class _Pairs(list[tuple[str, object]]):
    """The keys of an object with their values; a key may come twice, which is a contradiction."""


def find_object(reply: ReplyText) -> tuple[Parts, int, int] | None:
    """Return the keys and values of the object that a reply ends with, and its place, or None.

    The place begins where the reply does, or where the fence of the object does.
    """
    end = len(reply.text.rstrip())
    if reply.text[end - 1 : end] not in {"}", "]", "`"}:
        return None
    for place, start, stop in _places(reply, end):
        value = _loaded(reply.said[start:stop])
        held = _held(value) if value is not None else None
        if held is not None:
            return [(key.strip().lower().replace(" ", "_"), part) for key, part in held], place, end
    return None


def _places(reply: ReplyText, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield where an object may stand: the start of its fence or its own, its first and last."""
    text, body = reply.text, reply.body
    if text.endswith(_FENCE, body, end):
        fence = text.rfind(_FENCE, body, end - len(_FENCE))
        start = text.find("\n", fence, end)
        if (
            fence >= 0
            and start >= 0
            and (fence == body or not text[body:fence].strip() or text[fence - 1] == "\n")
        ):
            yield fence, start, end - len(_FENCE)
        return
    start = end - len(text[body:end].lstrip())
    for _ in range(_TRIED):
        if text[start : start + 1] in {"{", "["}:
            yield start, start, end
        start = (
            min(
                (i for i in (text.find("\n{", start, end), text.find("\n[", start, end)) if i >= 0),
                default=-2,
            )
            + 1
        )
        if start < 0:
            return


def _loaded(text: str) -> object:
    """Read JSON; a comma behind the last value is passed over."""
    text = text.strip()
    if text[:1] not in {"{", "["}:
        return None
    for tried in (text, _LAST_COMMA.sub("", text)):
        try:
            return json.loads(tried, object_pairs_hook=_Pairs, parse_float=str, parse_int=str)
        except (ValueError, RecursionError):
            continue
    return None


def _held(value: object) -> Parts | None:
    """Return the object itself, or the one that a list or an object does nothing but hold."""
    if isinstance(value, list) and not isinstance(value, _Pairs):
        value = value[0] if len(value) == 1 else None
    if isinstance(value, _Pairs) and len(value) == 1:
        key, inner = value[0]
        if key.strip().lower().replace(" ", "_") in _HOLDERS and isinstance(inner, _Pairs):
            value = inner
    return value if isinstance(value, _Pairs) else None


def pick(found: Parts, labels: Labels) -> tuple[str | Flaw | None, str | Flaw | None]:
    """Return the texts of answer and confidence, and None for what is not one."""
    answers = {f"{prefix}{word}" for word in labels.answer for prefix in _PREFIXES}
    stated = {f"{word}{suffix}" for word in labels.confidence for suffix in _SUFFIXES}
    stated |= {f"{other}_{word}" for word in labels.confidence for other in _OTHERS}
    confidences = [part for name, part in found if name in stated]
    if any(isinstance(part, bool) for part in confidences):
        return None, Flaw.WORDS
    return _plain([part for name, part in found if name in answers]), _plain(confidences)


def _plain(values: list[object]) -> str | Flaw | None:
    """Return the one text that all values agree on."""
    texts = [_text(value) for value in values if value is not None]
    if len({squeeze(text or "") for text in texts}) > 1:
        return Flaw.DISAGREE
    return texts[-1] if texts else None


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else None
