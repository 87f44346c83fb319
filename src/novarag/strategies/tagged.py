"""Find the parts of a reply that writes `<answer>…</answer>` and `<confidence>…</confidence>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.strategies.parts import ANSWER, CONFIDENCE, Field, Part, Reply, each_bounded
from novarag.strategies.quoted_fields import with_quotations

if TYPE_CHECKING:
    from novarag.strategies.labels import Labels


def find_tags(reply: Reply, labels: Labels) -> list[Field]:
    """Return every closed, non-empty tag in order."""
    found: list[Field] = []
    for word in labels.answer:
        _find_tag(reply, f"<{word}>", ANSWER, found)
    for word in labels.confidence:
        _find_tag(reply, f"<{word}>", CONFIDENCE, found)
    found.sort()
    closed = each_bounded(reply, found, _closed)
    return with_quotations(reply, closed, labels.scale) if closed else closed


def _closed(reply: Reply, field: Field, limit: int) -> Field | None:
    """Give a tagged field its value, up to the tag that closes it; None if it is empty."""
    close = reply.lower.find("</", field.value, limit)
    if close >= 0 and reply.text[field.value : close].strip():
        return Field(field.start, field.part, field.value, close)
    return None


def _find_tag(reply: Reply, tag: str, part: Part, found: list[Field]) -> None:
    at = reply.lower.find(tag, reply.body)
    while at >= 0:
        value = at + len(tag)
        found.append(Field(at, part, value))
        at = reply.lower.find(tag, value)
