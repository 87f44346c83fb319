"""One reader for every reply: the last block of an answer and a confidence that is its own.

A quotation holds no block, and blocks that disagree are a flaw: text of a passage never becomes a
confidence. A reply that cannot be read is a value with a reason, and the reader says where each
part stood.
"""

from __future__ import annotations

import re
import string
from dataclasses import replace
from itertools import pairwise
from math import prod
from statistics import fmean
from typing import TYPE_CHECKING

from novarag.records import Flaw, Judgment, Reading
from novarag.strategies.confidence import parse_confidence
from novarag.strategies.copies import is_copy, mentions, squeeze
from novarag.strategies.judgment import parse_classes, parse_state
from novarag.strategies.labels import Labels, find_fields, has_step
from novarag.strategies.objects import find_object, pick
from novarag.strategies.parts import ANSWER, CLASSES, CONFIDENCE, GROUP, STEP, Field, Reply
from novarag.strategies.reasoning import final_part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from novarag.taxonomy import EvidenceState, Utility

    Spans = dict[str, tuple[int, int]]

COMBINE: dict[str, Callable[[Sequence[float]], float]] = {
    "product": prod,
    "last": lambda steps: steps[-1],
    "min": min,
    "mean": fmean,
}
"""How the confidences of several steps become one."""

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_ASCII_BREAKS, _OTHER_BREAKS = "\r\v\f\x1c\x1d\x1e", "\x85\u2028\u2029"
_BREAKS = dict.fromkeys(map(ord, _ASCII_BREAKS + _OTHER_BREAKS), "\n")
_NO_STATE = "the group judgment is none of the three words"
_TWO_STATES = "two group judgments disagree"
_TWO_LISTS = "two lists of passage classes disagree"
_WRAPS = frozenset({"[]", "<>", '""', "\u201c\u201d"})
_ROLES = frozenset({"assistant", "assistant:", "model", "ai:"})
_OBJECT = "{`"  # what an object, bare or in a fence, begins with
_EDGE = " \t\r\n*_`|;,"
_EDGE_AFTER = _EDGE + "\u2014\u2013-"
_TAIL_NUMBER = re.compile(
    r"[ \t*_:;,=/(<-]([0-9]{0,4}\.[0-9]{1,20}|[0-9]{1,3}[ \t]?%)[ \t*_)/>.]{0,8}$"
)
_GLUED = re.compile(r"[0-9]\.[0-9]{1,4}\.[0-9]{1,20}[ \t]{0,4}$")
_GOES_ON = re.compile(
    r"[0-9.][ \t]{0,8}\n[ \t]{0,8}(?:[0-9]{1,4}[ \t]{0,2}%|\.?[0-9]{1,4}[ \t]{0,8}(?:\n|$)|%)"
)
_SOLE_NUMBER = re.compile(r"[ \t*_(<]{0,6}[0-9]{0,4}\.?[0-9]{0,20}%?[ \t*_)>.]{0,6}$")


def read(
    text: str,
    labels: Labels,
    *,
    k: int | None = None,
    passages: Sequence[str] = (),
    truncated: bool = False,
) -> Reading:
    r"""Read one reply.

    Args:
        text: the reply.
        labels: what its format calls its parts.
        k: the number of passages it was shown, if that is known.
        passages: the texts it was shown: what copies them is a quotation.
        truncated: whether the server cut it off.

    >>> reading = read("Answer: Lyon? No.\n\nFinal Answer: Paris\nConfidence: 85%", Labels())
    >>> reading.answer, reading.confidence
    ('Paris', 0.85)
    """
    text = _plain_breaks(text)
    lower = text.lower()
    if len(lower) != len(text):
        lower = text.translate(_LOWER)
    body = final_part(text, lower, passages)
    if body is None:
        if not labels.tagged:
            return Reading(flaw=Flaw.UNFINISHED, spans={})
        body = 0
    bare = text[body:].strip()
    if not bare:
        return Reading(flaw=Flaw.EMPTY, spans={})
    reply = Reply(text, lower, body, _telling(passages, labels))
    reading = _object(reply, labels, k) if bare[0] in _OBJECT else None
    reading = reading or _labelled(reply, labels, k)
    if truncated and reading.flaw is None and not _is_complete(text, reading.spans):
        return replace(reading, flaw=Flaw.TRUNCATED)
    return reading


def _plain_breaks(text: str) -> str:
    """Write every line break of Unicode as one, and leave every place where it was."""
    if "\r" in text:
        text = text.replace("\r\n", " \n")
    breaks = _ASCII_BREAKS if text.isascii() else _ASCII_BREAKS + _OTHER_BREAKS
    for c in breaks:
        if c in text:
            return text.translate(_BREAKS)
    return text


def _telling(passages: Sequence[str], labels: Labels) -> tuple[str, ...]:
    """Return the passages that could be the source of a confidence."""
    if not passages or labels.frame:
        return ()
    words = [*map(squeeze, labels.confidence), "passageclassification", "groupjudgment"]
    return tuple(p for p in passages if labels.terse or mentions(p, words))


def _is_complete(text: str, spans: Mapping[str, tuple[int, int]]) -> bool:
    """Say whether a reply that was cut off ends with the last line of its block, and a break."""
    end = max(spans["answer"][1], spans["confidence"][1])
    return "\n" in text[end:] and not text[end:].strip(_EDGE)


def _labelled(reply: Reply, labels: Labels, k: int | None) -> Reading:
    """Read a reply by its labels."""
    fields = find_fields(reply, labels)
    own = [f for f in fields if not f.quoted]
    spans: Spans = {}
    judgment, remarks = _judgment(reply, own, k, spans)
    answer, stated = _answer_and_confidence(reply, own, labels, spans)
    if len(own) < len(fields) and (
        stated is Flaw.NO_CONFIDENCE or (labels.combine is not None and _loses_step(fields))
    ):
        stated = Flaw.QUOTED
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


def _loses_step(fields: list[Field]) -> bool:
    """Say whether a step is stated in a quotation alone."""
    own = {f.step for f in fields if not f.quoted}
    return any(f.quoted and f.step and f.step not in own for f in fields)


def _object(reply: Reply, labels: Labels, k: int | None) -> Reading | None:
    """Read a reply that is one JSON object and nothing else, and so has no steps."""
    found = None if labels.tagged else find_object(reply)
    if found is None:
        return None
    parts, start, end = found
    said, value, name = pick(parts, labels)
    answer = said.strip() if isinstance(said, str) and said.strip() else None
    stated = said if isinstance(said, Flaw) else _stated(value, labels)
    copied = (f"{name} {value}", reply.text[start:end])
    if not isinstance(stated, Flaw) and any(is_copy(text, reply.passages) for text in copied):
        stated = Flaw.QUOTED
    refused = stated if isinstance(stated, Flaw) else None
    place = (start, end)
    return Reading(
        answer=answer,
        confidence=None if isinstance(stated, Flaw) else stated,
        rule_step=None if k is None else False,
        flaw=refused or (Flaw.NO_ANSWER if answer is None else None),
        spans={"answer": place, "confidence": place},
    )


def _stated(value: str | Flaw | None, labels: Labels) -> float | Flaw:
    """Read the confidence of an object, which may be missing or contradict itself."""
    if value is None or isinstance(value, Flaw):
        return value or Flaw.NO_CONFIDENCE
    return parse_confidence(value, labels.scale)


def _answer_and_confidence(
    reply: Reply, fields: list[Field], labels: Labels, spans: Spans
) -> tuple[str | None, float | Flaw]:
    if labels.combine is not None:
        return _steps(reply, fields, labels, spans)
    pair = [f for f in fields if f.part is ANSWER or f.part is CONFIDENCE]
    if labels.terse:
        return _terse(reply, pair, labels, spans)
    blocks = _blocks(pair)
    if not blocks:
        answer = next((f for f in reversed(pair) if f.part is ANSWER), None)
        lone = None if answer else next((f for f in reversed(pair)), None)
        return _block(reply, answer, lone, labels, spans)
    read = _block(reply, *blocks[-1], labels, spans)
    if len(pair) == 2 or isinstance(read[1], Flaw):
        return read
    return (read[0], Flaw.DISAGREE) if _is_contradicted(reply, pair, blocks, labels, read) else read


def _blocks(pair: list[Field]) -> list[tuple[Field, Field]]:
    """Pair each answer with the confidence beside it: below it, or above it in all of a reply."""
    if len(pair) == 2 and pair[0].part is not pair[1].part:
        return [(pair[0], pair[1]) if pair[0].part is ANSWER else (pair[1], pair[0])]
    parts = [f.part for f in pair]
    backwards = parts == [CONFIDENCE, ANSWER] * (len(parts) // 2)
    neighbours = [(b, a) if backwards else (a, b) for a, b in pairwise(pair)]
    return [(a, b) for a, b in neighbours if a.part is ANSWER and b.part is CONFIDENCE]


def _block(
    reply: Reply, answer: Field | None, stated: Field | None, labels: Labels, spans: Spans
) -> tuple[str | None, float | Flaw]:
    said = None if answer is None else _clean(reply, answer.value, answer.end, spans)
    if stated is None:
        return said, Flaw.NO_CONFIDENCE
    value = _confidence(reply, stated.value, stated.end, labels, spans)
    return said, Flaw.QUOTED if stated.borrowed and not isinstance(value, Flaw) else value


def _is_contradicted(
    reply: Reply,
    pair: list[Field],
    blocks: list[tuple[Field, Field]],
    labels: Labels,
    read: tuple[str | None, float | Flaw],
) -> bool:
    """Say whether another block, or anything after the last one, says something else."""
    last = max(blocks[-1])
    others = {f for block in blocks[:-1] for f in block} | {f for f in pair if f > last}
    return any(not _says(reply, field, labels, read) for field in others)


def _says(
    reply: Reply, field: Field, labels: Labels, read: tuple[str | None, float | Flaw]
) -> bool:
    """Say whether a field holds the answer, or the confidence, that was read."""
    if field.part is ANSWER:
        said = _clean(reply, field.value, field.end, {})
        return said == read[0] or squeeze(said or "") == squeeze(read[0] or "")
    return parse_confidence(reply.text[field.value : field.end], labels.scale) == read[1]


def _steps(
    reply: Reply, fields: list[Field], labels: Labels, spans: Spans
) -> tuple[str | None, float | Flaw]:
    """Read the last answer, and combine the confidences of the steps."""
    steps = [f for f in fields if f.part is STEP]
    answers = [f for f in fields if f.part is ANSWER]
    last = answers[-1] if answers else None
    answer = None if last is None else _clean(reply, last.value, last.end, spans)
    stated = _stated_steps(reply, steps, labels)
    if isinstance(stated, Flaw):
        return answer, stated
    if last and steps[0] < last < steps[-1]:
        return answer, Flaw.DISAGREE
    if any(f > steps[-1] and not _says(reply, f, labels, (answer, 0.0)) for f in answers):
        return answer, Flaw.DISAGREE
    spans["confidence"] = (steps[-len(stated)].value, steps[-1].end)
    return answer, COMBINE[labels.combine or "product"](stated)


def _stated_steps(reply: Reply, steps: list[Field], labels: Labels) -> list[float] | Flaw:
    """Return the confidence of each step, of which each may be stated in one way alone."""
    stated: dict[int, float] = {}
    for field in steps:
        value = parse_confidence(reply.text[field.value : field.end], labels.scale)
        if isinstance(value, Flaw):
            return value
        if stated.setdefault(field.step, value) != value:
            return Flaw.DISAGREE
    if not {f.step for f in steps if not f.borrowed} >= stated.keys():
        return Flaw.QUOTED
    if 1 not in stated:
        return Flaw.NO_CONFIDENCE
    numbers = sorted(stated)
    return [stated[i] for i in numbers] if numbers[-1] == len(numbers) else Flaw.MALFORMED


def _judgment(
    reply: Reply, fields: list[Field], k: int | None, spans: Spans
) -> tuple[Judgment | None, tuple[str, ...]]:
    """Read the classes of the passages and the group judgment, each of which may come once."""
    judged = [f for f in fields if f.part is CLASSES or f.part is GROUP]
    if not judged:
        return None, ()
    classes = [f for f in judged if f.part is CLASSES]
    group = [f for f in judged if f.part is GROUP]
    remarks: tuple[str, ...] = ()
    state: EvidenceState | None = None
    if group:
        spans["group"] = (group[-1].value, group[-1].end)
        states = [parse_state(reply.text[f.value : f.end]) for f in group]
        state = states[-1] if states.count(states[-1]) == len(states) else None
        if state is None:
            remarks = (_NO_STATE if len(states) == 1 else _TWO_STATES,)
    stated: tuple[Utility, ...] | str = ()
    if classes:
        spans["classes"] = (classes[-1].value, classes[-1].end)
        lists = [parse_classes(reply.text[f.value : f.end].rstrip(), k) for f in classes]
        stated = lists[-1] if lists.count(lists[-1]) == len(lists) else _TWO_LISTS
    if isinstance(stated, str):
        remarks, stated = (*remarks, stated), ()
    return (Judgment(passages=stated, group=state) if stated or state else None), remarks


def _confidence(reply: Reply, start: int, end: int, labels: Labels, spans: Spans) -> float | Flaw:
    spans["confidence"] = (start, end)
    stated = parse_confidence(reply.text[start:end], labels.scale)
    return Flaw.MALFORMED if _GOES_ON.match(reply.text, end - 1) else stated


def _clean(reply: Reply, start: int, end: int, spans: Spans) -> str | None:
    """Take the dressing off an answer: emphasis, one pair of brackets or quotes, commas."""
    bare = reply.text[start:end].lstrip(_EDGE).rstrip(_EDGE_AFTER)
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
    at = next((i for i, f in enumerate(pair) if f.part is CONFIDENCE), None)
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
    if reply.text[start:end].lstrip()[:1] == ">" or is_copy(
        reply.text[start : (more[0] if more else lines[0])[1]], reply.passages
    ):
        return None, Flaw.QUOTED
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
