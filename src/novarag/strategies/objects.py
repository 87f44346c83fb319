"""Replies that are one JSON object, bare or in a fence: read by key, not by label."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.strategies.labels import Labels, Reply

_SUFFIXES = ("", "_score", "_level", "_percentage")
_PREFIXES = ("", "final_", "my_", "short_")


def find_object(reply: Reply) -> tuple[dict[str, object], int, int] | None:
    """Return the object a reply consists of, with its place; None where it is something else."""
    start, end = reply.text.find("{", reply.body), reply.text.rfind("}") + 1
    if not 0 <= start < end:
        return None
    try:
        value: dict[str, object] = json.loads(reply.text[start:end])
    except (ValueError, RecursionError):
        return None
    return {key.lower().replace(" ", "_"): part for key, part in value.items()}, start, end


def pick(found: dict[str, object], labels: Labels) -> tuple[str | None, str | None]:
    """Return the texts of answer and confidence; None for what is not one plain value."""
    answers = [f"{prefix}{word}" for word in labels.answer for prefix in _PREFIXES]
    stated = [f"{word}{suffix}" for word in labels.confidence for suffix in _SUFFIXES]
    return _plain(found, answers), _plain(found, stated)


def _plain(found: dict[str, object], names: list[str]) -> str | None:
    value = next((found[name] for name in names if name in found), None)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else None
