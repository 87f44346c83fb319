"""Find the parts of a reply that writes `<answer>…</answer>` and `<confidence>…</confidence>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.strategies.parts import (
    ANSWER,
    CONFIDENCE,
    LabelledField,
    ReplyPart,
    ReplyText,
    each_bounded,
)
from novarag.strategies.quoted_fields import with_quotations

if TYPE_CHECKING:
    from novarag.strategies.labels import Labels


def find_tags(reply: ReplyText, labels: Labels) -> list[LabelledField]:
    """Return every closed, non-empty tag in order."""
    found: list[LabelledField] = []
    for word in labels.answer:
        _find_tag(reply, f"<{word}>", ANSWER, found)
    for word in labels.confidence:
        _find_tag(reply, f"<{word}>", CONFIDENCE, found)
    found.sort()
    closed = each_bounded(reply, found, _closed)
    return with_quotations(reply, closed, labels.scale) if closed else closed


def _closed(reply: ReplyText, field: LabelledField, limit: int) -> LabelledField | None:
    """Give a tagged field its value, up to the tag that closes it; None if it is empty."""
    close = reply.lower.find("</", field.value, limit)
    if close >= 0 and reply.text[field.value : close].strip():
        return LabelledField(field.start, field.part, field.value, close)
    return None


def _find_tag(reply: ReplyText, tag: str, part: ReplyPart, found: list[LabelledField]) -> None:
    at = reply.lower.find(tag, reply.body)
    while at >= 0:
        value = at + len(tag)
        found.append(LabelledField(at, part, value))
        at = reply.lower.find(tag, value)
