"""Replies that should be nothing but an answer and a confidence, with labels or without."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from novarag.records import Flaw
from novarag.strategies.confidence import parse_confidence
from novarag.strategies.copies import is_copy
from novarag.strategies.parts import CONFIDENCE, EDGE, LabelledField, ReplyText, clean, confidence

if TYPE_CHECKING:
    from novarag.strategies.labels import Labels
    from novarag.strategies.parts import Spans, Stated

_ROLES = frozenset({"assistant", "assistant:", "model", "ai:"})
# A number at the end of the only line: with a point or a percent sign, or it may be the answer.
_TAIL_NUMBER = re.compile(
    r"[ \t*_:;,=/(<-]([0-9]{0,4}\.[0-9]{1,20}|[0-9]{1,3}[ \t]?%)[ \t*_)/>.]{0,8}$"
)
# Two numbers run together ("3.14.95"): no telling where one ends.
_GLUED = re.compile(r"[0-9]\.[0-9]{1,4}\.[0-9]{1,20}[ \t]{0,4}$")
_SOLE_NUMBER = re.compile(r"[ \t*_(<]{0,6}[0-9]{0,4}\.?[0-9]{0,20}%?[ \t*_)>.]{0,6}$")


def read_terse(reply: ReplyText, pair: list[LabelledField], labels: Labels, spans: Spans) -> Stated:
    """Read a reply that should be nothing but an answer and a confidence, labelled or not."""
    at = next((i for i, f in enumerate(pair) if f.part is CONFIDENCE), None)
    if at is None:
        return _unlabelled(reply, pair, labels, spans)
    stated = pair[at]
    if at > 0:
        answer = clean(reply, pair[at - 1].value, pair[at - 1].end, spans)
    else:
        answer = _line_above(reply, stated.start, labels, spans)
    value = confidence(reply, stated.value, stated.end, labels, spans)
    return answer, Flaw.QUOTED if stated.borrowed and not isinstance(value, Flaw) else value


def _line_above(reply: ReplyText, end: int, labels: Labels, spans: Spans) -> str | None:
    """Take the text before a confidence: on its line, else the last line above that has some."""
    kept = len(reply.text[reply.body : end].rstrip(EDGE + "\"'.:-/(<")) + reply.body
    start = max(reply.body, reply.text.rfind("\n", reply.body, kept) + 1)
    line = reply.lower[start:kept].strip(EDGE + "/")
    if line in _ROLES or line in labels.answer:
        return None
    return clean(reply, start, kept, spans)


def _unlabelled(
    reply: ReplyText, pair: list[LabelledField], labels: Labels, spans: Spans
) -> Stated:
    """Read "Paris, 0.9", or "Paris" and "0.9" on two lines."""
    lines = _first_lines(reply, pair[0].value if pair else reply.body)
    if not lines:
        return None, Flaw.NO_CONFIDENCE
    (start, end), *more = lines
    if reply.text[start:end].lstrip()[:1] == ">" or is_copy(
        reply.text[start : (more[0] if more else lines[0])[1]], reply.passages
    ):
        return None, Flaw.QUOTED
    if reply.lower[start:end].strip(EDGE + ":/") in (*labels.answer, *labels.confidence):
        return None, Flaw.NO_CONFIDENCE
    if more and _SOLE_NUMBER.match(reply.text, *more[0]):
        return clean(reply, start, end, spans), confidence(reply, *more[0], labels, spans)
    if _SOLE_NUMBER.match(reply.text, start, end):
        value = parse_confidence(reply.text[start:end], labels.scale)
        if not isinstance(value, Flaw):
            spans["confidence"] = (start, end)
            return None, value
    tail = _TAIL_NUMBER.search(reply.text, max(start, end - 32), end)
    if tail is None:
        glued = _GLUED.search(reply.text, max(start, end - 32), end)
        flaw = Flaw.MALFORMED if glued else Flaw.NO_CONFIDENCE
        return clean(reply, start, end, spans), flaw
    answer = clean(reply, start, tail.start(1), spans)
    return answer and answer.rstrip(" :/=<(-"), confidence(reply, *tail.span(1), labels, spans)


def _first_lines(reply: ReplyText, at: int) -> list[tuple[int, int]]:
    """Return the first two lines that say something, without a role that leaked in."""
    lines: list[tuple[int, int]] = []
    while at < len(reply.text) and len(lines) < 2:
        end = reply.text.find("\n", at)
        end = len(reply.text) if end < 0 else end
        line = reply.lower[at:end].strip()
        if line and line not in _ROLES:
            lines.append((at, end))
        at = end + 1
    return lines
