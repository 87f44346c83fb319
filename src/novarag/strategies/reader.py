"""One reader for every reply: the last complete block of an answer and a confidence.

A reply that cannot be read is a value with a reason, and the reader says where each part stood.
"""

from __future__ import annotations

import re
import string
from math import prod
from statistics import fmean
from typing import TYPE_CHECKING

from novarag.records import Flaw, Judgment, Reading
from novarag.strategies.confidence import parse_confidence
from novarag.strategies.judgment import parse_classes, parse_state
from novarag.strategies.labels import Field, Labels, Part, Reply, find_fields, has_step
from novarag.strategies.objects import find_object, pick

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Spans = dict[str, tuple[int, int]]

COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "product": prod,
    "last": lambda steps: steps[-1],
    "min": min,
    "mean": fmean,
}
"""How the confidences of several steps become one."""

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_THINK_END = "</think>"
_WRAPS = frozenset({"[]", "<>", '""', "\u201c\u201d"})
_ROLES = frozenset({"assistant", "assistant:", "model", "ai:"})
_EDGE = " \t\r\n*_`|;,"
_TAIL_NUMBER = re.compile(
    r"[ \t*_:;,=/(<-]([0-9]{0,4}\.[0-9]{1,20}|[0-9]{1,3}[ \t]?%)[ \t*_)/>.]{0,8}$"
)
_GLUED = re.compile(r"[0-9]\.[0-9]{1,4}\.[0-9]{1,20}[ \t]{0,4}$")
_SOLE_NUMBER = re.compile(r"[ \t*_(<]{0,6}[0-9]{0,4}\.?[0-9]{0,20}%?[ \t*_)>.]{0,6}$")


def read(text: str, labels: Labels, *, k: int | None = None) -> Reading:
    r"""Read one reply; `k` is the number of passages it was shown, if that is known.

    >>> reading = read("Answer: Lyon? No.\n\nFinal Answer: Paris\nConfidence: 85%", Labels())
    >>> reading.answer, reading.confidence
    ('Paris', 0.85)
    """
    lower = text.lower()
    if len(lower) != len(text):
        lower = text.translate(_LOWER)
    thought = lower.rfind(_THINK_END)
    reply = Reply(text, lower, 0 if thought < 0 else thought + len(_THINK_END))
    body = lower[reply.body :].strip()
    if not body:
        return Reading(flaw=Flaw.EMPTY, spans={})
    if not labels.tagged and "<think>" in body:
        return Reading(flaw=Flaw.UNFINISHED, spans={})
    if body[0] in "{`" and not labels.tagged and (found := find_object(reply)):
        return _object(*found, labels, k)
    fields = find_fields(reply, labels)
    spans: Spans = {}
    judgment, remarks = _judgment(reply, fields, k, spans)
    answer, stated = _answer_and_confidence(reply, fields, labels, spans)
    flaw = Flaw.NO_ANSWER if answer is None else None
    return Reading(
        answer=answer,
        confidence=None if isinstance(stated, Flaw) else stated,
        judgment=judgment,
        rule_step=None if k is None else has_step(reply, k + 1),
        flaw=stated if isinstance(stated, Flaw) else flaw,
        spans=spans,
        remarks=remarks,
    )


def _object(
    found: dict[str, object], start: int, end: int, labels: Labels, k: int | None
) -> Reading:
    """Read a reply that is one JSON object, and so has no steps."""
    said, value = pick(found, labels)
    answer = said.strip() if said and said.strip() else None
    stated = Flaw.NO_CONFIDENCE if value is None else parse_confidence(value, labels.scale)
    refused = stated if isinstance(stated, Flaw) else None
    place = (start, end)
    return Reading(
        answer=answer,
        confidence=None if isinstance(stated, Flaw) else stated,
        rule_step=None if k is None else False,
        flaw=refused or (Flaw.NO_ANSWER if answer is None else None),
        spans={"answer": place, "confidence": place},
    )


def _answer_and_confidence(
    reply: Reply, fields: list[Field], labels: Labels, spans: Spans
) -> tuple[str | None, float | Flaw]:
    if labels.combine is not None:
        return _steps(reply, fields, labels, spans)
    pair = [f for f in fields if f.part is Part.ANSWER or f.part is Part.CONFIDENCE]
    if labels.terse:
        return _terse(reply, pair, labels, spans)
    answer, stated = _last_block(pair)
    said = None if answer is None else _clean(reply, answer.value, answer.end, spans)
    if stated is None:
        return said, Flaw.NO_CONFIDENCE
    return said, _confidence(reply, stated.value, stated.end, labels, spans)


def _last_block(pair: list[Field]) -> tuple[Field | None, Field | None]:
    """Pick the last answer that has a confidence beside it; a lone part stands for itself."""
    parts = [f.part for f in pair]
    backwards = parts == [Part.CONFIDENCE, Part.ANSWER] * (len(parts) // 2)
    for i in range(len(pair) - 1, 0, -1):
        one, two = (pair[i], pair[i - 1]) if backwards else (pair[i - 1], pair[i])
        if one.part is Part.ANSWER and two.part is Part.CONFIDENCE:
            return one, two
    answer = next((f for f in reversed(pair) if f.part is Part.ANSWER), None)
    stated = next((f for f in reversed(pair) if f.part is Part.CONFIDENCE), None)
    return answer, None if answer else stated


def _steps(
    reply: Reply, fields: list[Field], labels: Labels, spans: Spans
) -> tuple[str | None, float | Flaw]:
    """Read the last answer, and combine the last run of step confidences."""
    last = next((f for f in reversed(fields) if f.part is Part.ANSWER), None)
    answer = None if last is None else _clean(reply, last.value, last.end, spans)
    steps = [f for f in fields if f.part is Part.STEP]
    first = max((i for i, f in enumerate(steps) if f.step == 1), default=len(steps))
    run = steps[first:]
    if not run:
        return answer, Flaw.NO_CONFIDENCE
    if [f.step for f in run] != list(range(1, len(run) + 1)):
        return answer, Flaw.MALFORMED
    values: list[float] = []
    for field in run:
        value = parse_confidence(reply.text[field.value : field.end], labels.scale)
        if isinstance(value, Flaw):
            return answer, value
        values.append(value)
    spans["confidence"] = (run[0].value, run[-1].end)
    return answer, COMBINE[labels.combine or "product"](values)


def _judgment(
    reply: Reply, fields: list[Field], k: int | None, spans: Spans
) -> tuple[Judgment | None, tuple[str, ...]]:
    judged = [f for f in fields if f.part is Part.CLASSES or f.part is Part.GROUP]
    if not judged:
        return None, ()
    classes = next((f for f in reversed(judged) if f.part is Part.CLASSES), None)
    group = next((f for f in reversed(judged) if f.part is Part.GROUP), None)
    remarks: list[str] = []
    state = None
    if group:
        spans["group"] = (group.value, group.end)
        state = parse_state(reply.text[group.value : group.end])
        if state is None:
            remarks.append("the group judgment is none of the three words")
    if classes is None:
        return (Judgment(passages=(), group=state) if state else None), tuple(remarks)
    spans["classes"] = (classes.value, classes.end)
    stated = parse_classes(reply.text[classes.value : classes.end].rstrip(), k)
    if isinstance(stated, str):
        return (Judgment(passages=(), group=state) if state else None), (*remarks, stated)
    return Judgment(passages=stated, group=state), tuple(remarks)


def _confidence(reply: Reply, start: int, end: int, labels: Labels, spans: Spans) -> float | Flaw:
    spans["confidence"] = (start, end)
    return parse_confidence(reply.text[start:end], labels.scale)


def _clean(reply: Reply, start: int, end: int, spans: Spans) -> str | None:
    """Take the dressing off an answer: emphasis, one pair of brackets or quotes, commas."""
    bare = reply.text[start:end].lstrip(_EDGE).rstrip(_EDGE + "\u2014\u2013-")
    if "{" not in bare:
        bare = bare.rstrip("} \t\r\n")
    if len(bare) > 1 and bare[0] + bare[-1] in _WRAPS:
        bare = bare[1:-1].strip()
    if bare.count('"') == 1:
        bare = bare.strip('"')
    bare = bare.strip("*_`")
    if not bare:
        return None
    spans["answer"] = (start, end)
    return bare


def _terse(
    reply: Reply, pair: list[Field], labels: Labels, spans: Spans
) -> tuple[str | None, float | Flaw]:
    """Read a reply that should be nothing but an answer and a confidence, labelled or not."""
    at = next((i for i, f in enumerate(pair) if f.part is Part.CONFIDENCE), None)
    if at is None:
        return _unlabelled(reply, pair, labels, spans)
    stated = pair[at]
    if at > 0:
        answer = _clean(reply, pair[at - 1].value, pair[at - 1].end, spans)
    else:
        answer = _line_above(reply, stated.start, labels, spans)
    return answer, _confidence(reply, stated.value, stated.end, labels, spans)


def _line_above(reply: Reply, end: int, labels: Labels, spans: Spans) -> str | None:
    """Take the text before a confidence: on its line, else the last line above that has some."""
    kept = len(reply.text[reply.body : end].rstrip(_EDGE + "\"'.:-/(<")) + reply.body
    start = max(reply.body, reply.text.rfind("\n", reply.body, kept) + 1)
    line = reply.lower[start:kept].strip(_EDGE + "/")
    if line in _ROLES or line in labels.answer:
        return None
    return _clean(reply, start, kept, spans)


def _unlabelled(
    reply: Reply, pair: list[Field], labels: Labels, spans: Spans
) -> tuple[str | None, float | Flaw]:
    """Read "Paris, 0.9", or "Paris" and "0.9" on two lines."""
    lines = _first_lines(reply, pair[0].value if pair else reply.body)
    if not lines:
        return None, Flaw.NO_CONFIDENCE
    (start, end), *more = lines
    if reply.lower[start:end].strip(_EDGE + ":/") in (*labels.answer, *labels.confidence):
        return None, Flaw.NO_CONFIDENCE
    if more and _SOLE_NUMBER.match(reply.text, *more[0]):
        return _clean(reply, start, end, spans), _confidence(reply, *more[0], labels, spans)
    if _SOLE_NUMBER.match(reply.text, start, end):
        value = parse_confidence(reply.text[start:end], labels.scale)
        if not isinstance(value, Flaw):
            spans["confidence"] = (start, end)
            return None, value
    tail = _TAIL_NUMBER.search(reply.text, max(start, end - 32), end)
    if tail is None:
        glued = _GLUED.search(reply.text, max(start, end - 32), end)
        flaw = Flaw.MALFORMED if glued else Flaw.NO_CONFIDENCE
        return _clean(reply, start, end, spans), flaw
    answer = _clean(reply, start, tail.start(1), spans)
    return answer and answer.rstrip(" :/=<(-"), _confidence(reply, *tail.span(1), labels, spans)


def _first_lines(reply: Reply, at: int) -> list[tuple[int, int]]:
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
