"""Replies that are one JSON object, bare or in a fence: read by key, not by label."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from novarag.records import Flaw
from novarag.strategies.copies import squeeze

if TYPE_CHECKING:
    from novarag.strategies.labels import Labels
    from novarag.strategies.parts import Reply

_SUFFIXES = ("", "_score", "_level", "_percentage")
_PREFIXES = ("", "final_", "my_", "short_")
_FENCE = "```"

Parts = list[tuple[str, object]]


def find_object(reply: Reply) -> tuple[Parts, int, int] | None:
    """Return the keys and values of the object a reply consists of, and its place, or None."""
    start, end = reply.body, len(reply.text.rstrip())
    while start < end and reply.text[start].isspace():
        start += 1
    if reply.text.startswith(_FENCE, start) and reply.text.endswith(_FENCE, start, end):
        start, end = reply.text.find("\n", start, end), end - len(_FENCE)
    if start < 0 or reply.text[start:end].strip()[:1] != "{":
        return None
    try:
        value = json.loads(
            reply.text[start:end], object_pairs_hook=_Pairs, parse_float=str, parse_int=str
        )
    except (ValueError, RecursionError):
        return None
    return [(key.lower().replace(" ", "_"), part) for key, part in value], start, end


class _Pairs(list[tuple[str, object]]):
    """The keys of an object with their values; a key may come twice, which is a contradiction."""


def pick(found: Parts, labels: Labels) -> tuple[str | Flaw | None, str | Flaw | None, str]:
    """Return the texts of answer and confidence, None for what is not one, and the latter's key."""
    answers = {f"{prefix}{word}" for word in labels.answer for prefix in _PREFIXES}
    stated = {f"{word}{suffix}" for word in labels.confidence for suffix in _SUFFIXES}
    confidences = [part for name, part in found if name in stated]
    if any(isinstance(part, bool) for part in confidences):
        return None, Flaw.WORDS, ""
    key = next((name for name, _ in found if name in stated), "")
    return _plain([part for name, part in found if name in answers]), _plain(confidences), key


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
