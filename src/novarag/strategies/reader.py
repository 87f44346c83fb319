"""One reader for every reply: the last block of an answer and a confidence that is its own.

A quotation holds no block, and blocks that disagree are a flaw: text of a passage never becomes a
confidence. A reply that cannot be read is a value with a reason, and the reader says where each
part stood.
"""

from __future__ import annotations

import re
import string
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from novarag.records import Flaw, Judgment, Reading
from novarag.strategies.afterthoughts import is_taken_back
from novarag.strategies.confidence import parse_confidence
from novarag.strategies.copies import forms_with, is_copy, is_stated, stated_values
from novarag.strategies.labels import Labels, find_fields, has_step
from novarag.strategies.markup import masked
from novarag.strategies.objects import find_object, pick
from novarag.strategies.parts import (
    ANSWER,
    CLASSES,
    CONFIDENCE,
    EDGE,
    GROUP,
    LabelledField,
    ReplyText,
    clean,
    confidence,
    says,
)
from novarag.strategies.quotations import Quotations, announces
from novarag.strategies.reasoning import final_part
from novarag.strategies.steps import COMBINE, loses_step, read_steps
from novarag.strategies.terse import read_terse
from novarag.taxonomy import EvidenceState, Utility

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.strategies.parts import Spans, Stated


__all__ = ["COMBINE", "read"]

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_ASCII_BREAKS, _OTHER_BREAKS = "\r\v\f\x1c\x1d\x1e", "\x85\u2028\u2029"
# Every line break that Unicode knows counts as one; a label must not hide behind an odd one.
_BREAKS = dict.fromkeys(map(ord, _ASCII_BREAKS + _OTHER_BREAKS), "\n")
_NO_STATE = "the group judgment is none of the three words"
_TWO_STATES = "two group judgments disagree"
_TWO_LISTS = "two lists of passage classes disagree"
# The class of one passage: "Passage 2: Highly Relevant (it names the year)", "2. HR"; a line
# with a second class is no entry, and what may follow the last.
_ENTRY = re.compile(
    r"[ \t*_`>\-\u2022;,/|]{0,12}(?:[0-9]{1,3}[.)][ \t*_]{1,4}(?=passage|document|doc))?"
    r"(?:(?:passage|document|doc|p)[ \t]{0,2})?(?:\[?(?P<number>[0-9]{1,3})\]?)?"
    r"[ \t.):=*_`\[\"\-\u2013\u2014]{0,8}"
    r"(?P<word>highly[ -]relevant|irrelevant|relevant|(?:hr|ir|r|i)(?=[ \t]{0,3}(?:[^\w \t]|$)))\b"
    r"[ \t*_`.\]\"]{0,6}(?:\([^()\n]{0,400}\))?",
    re.IGNORECASE | re.ASCII,
)
_SECOND = re.compile(r"\b(?:relevant|irrelevant)\b", re.IGNORECASE | re.ASCII)
_REST = re.compile(r"[ \t*_`.;,]{0,64}$")
_WORDS = {
    "highly relevant": Utility.HIGHLY_RELEVANT,
    "highly-relevant": Utility.HIGHLY_RELEVANT,
    "hr": Utility.HIGHLY_RELEVANT,
    "relevant": Utility.RELEVANT,
    "r": Utility.RELEVANT,
    "irrelevant": Utility.IRRELEVANT,
    "ir": Utility.IRRELEVANT,
    "i": Utility.IRRELEVANT,
}
_SHORT = 300  # characters; longer ones have reasons in them, and would fill the memory
# The judgment of the whole group, the first word of its line.
_STATE = re.compile(
    r"[ \t*_`\"'\[\u00a0]{0,8}(?P<word>conflicting|consistent|insufficient)\b",
    re.IGNORECASE | re.ASCII,
)


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
    said = _plain_breaks(text)
    text = said if labels.tagged else masked(said)
    lower = text.lower()
    if len(lower) != len(text):
        lower = text.translate(_LOWER)
    body = final_part(text, lower, passages, tagged=labels.tagged)
    if body is None:
        if not labels.tagged:
            return Reading(flaw=Flaw.UNFINISHED, spans={})
        body = 0
    bare = text[body:].strip()
    if not bare:
        return Reading(flaw=Flaw.EMPTY, spans={})
    told, stated = _told(passages, labels) if passages else ((), frozenset())
    reply = ReplyText(text, lower, body, told, stated, said)
    reading = None if labels.tagged else _object(reply, labels, k)
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


def _told(passages: Sequence[str], labels: Labels) -> tuple[tuple[str, ...], frozenset[float]]:
    """Return the passages that could be the source of a field, and what confidences they state."""
    if labels.terse:
        told = tuple(form for p in passages for form in (p, *forms_with(p, labels.telling)[1:]))
    else:
        told = tuple(form for p in passages for form in forms_with(p, labels.telling))
    values = [stated_values(p, labels.stating) for p in passages] if told else []
    return told, frozenset().union(*values)


def _is_complete(text: str, spans: Mapping[str, tuple[int, int]]) -> bool:
    """Say whether a reply that was cut off ends with the last line of its block, and a break."""
    end = max(spans["answer"][1], spans["confidence"][1])
    return "\n" in text[end:] and not text[end:].strip(EDGE)


def _labelled(reply: ReplyText, labels: Labels, k: int | None) -> Reading:
    """Read a reply by its labels."""
    fields = find_fields(reply, labels)
    own = [f for f in fields if not f.quoted]
    spans: Spans = {}
    judgment, remarks = _judgment(reply, own, k, spans)
    answer, stated = _answer_and_confidence(reply, own, labels, spans)
    if len(own) < len(fields) and (
        stated is Flaw.NO_CONFIDENCE or (labels.combine is not None and loses_step(fields))
    ):
        stated = Flaw.QUOTED
    flaw = Flaw.NO_ANSWER if answer is None else None
    if answer is not None and not isinstance(stated, Flaw) and not labels.terse:
        end = max(f.end for f in own)
        framed = bool(labels.frame)
        if end < len(reply.text) and is_taken_back(
            reply, end, answer, stated, fields, framed=framed
        ):
            stated = Flaw.DISAGREE
    return Reading(
        answer=answer,
        confidence=None if isinstance(stated, Flaw) else stated,
        judgment=judgment,
        rule_step=None if k is None else has_step(reply, k + 1),
        flaw=stated if isinstance(stated, Flaw) else flaw,
        spans=spans,
        remarks=remarks,
    )


def _object(reply: ReplyText, labels: Labels, k: int | None) -> Reading | None:
    """Read a reply that ends with one JSON object, and so has no steps."""
    found = find_object(reply)
    if found is None:
        return None
    parts, start, end = found
    said, value = pick(parts, labels)
    if reply.text[reply.body : start].strip() and (
        value is None or not _is_own_object(reply, start, labels)
    ):
        return None
    answer = said.strip() if isinstance(said, str) and said.strip() else None
    stated = said if isinstance(said, Flaw) else _stated(value, labels)
    if not isinstance(stated, Flaw) and (
        is_stated(stated, reply.stated) or is_copy(reply.text[start:end], reply.passages)
    ):
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


def _is_own_object(reply: ReplyText, start: int, labels: Labels) -> bool:
    """Say whether an object behind other text is the reply.

    It is none where something before it is a field of ours, announces somebody else's text, or
    begins a quotation that it stands in.
    """
    before = reply._replace(text=reply.text[:start], lower=reply.lower[:start])
    quotations = Quotations(reply.text, reply.lower, reply.body)
    return not (
        quotations.surrounds(start) or find_fields(before, labels) or announces(before.text)
    )


def _stated(value: str | Flaw | None, labels: Labels) -> float | Flaw:
    """Read the confidence of an object, which may be missing or contradict itself."""
    if value is None or isinstance(value, Flaw):
        return value or Flaw.NO_CONFIDENCE
    return parse_confidence(value, labels.scale)


def _answer_and_confidence(
    reply: ReplyText, fields: list[LabelledField], labels: Labels, spans: Spans
) -> Stated:
    if labels.combine is not None:
        return read_steps(reply, fields, labels, spans)
    pair = [f for f in fields if f.part is ANSWER or f.part is CONFIDENCE]
    if labels.terse:
        return read_terse(reply, pair, labels, spans)
    blocks = _blocks(pair)
    if not blocks:
        answer = next((f for f in reversed(pair) if f.part is ANSWER), None)
        lone = None if answer else next((f for f in reversed(pair)), None)
        return _block(reply, answer, lone, labels, spans)
    read = _block(reply, *blocks[-1], labels, spans)
    if len(pair) == 2 or isinstance(read[1], Flaw):
        return read
    return (read[0], Flaw.DISAGREE) if _is_contradicted(reply, pair, blocks, labels, read) else read


def _blocks(pair: list[LabelledField]) -> list[tuple[LabelledField, LabelledField]]:
    """Pair each answer with the confidence beside it: below it, or above it in all of a reply."""
    if len(pair) == 2 and pair[0].part is not pair[1].part:
        return [(pair[0], pair[1]) if pair[0].part is ANSWER else (pair[1], pair[0])]
    parts = [f.part for f in pair]
    backwards = parts == [CONFIDENCE, ANSWER] * (len(parts) // 2)
    neighbours = [(b, a) if backwards else (a, b) for a, b in pairwise(pair)]
    return [(a, b) for a, b in neighbours if a.part is ANSWER and b.part is CONFIDENCE]


def _block(
    reply: ReplyText,
    answer: LabelledField | None,
    stated: LabelledField | None,
    labels: Labels,
    spans: Spans,
) -> Stated:
    said = None if answer is None else clean(reply, answer.value, answer.end, spans)
    if stated is None:
        return said, Flaw.NO_CONFIDENCE
    value = confidence(reply, stated.value, stated.end, labels, spans)
    return said, Flaw.QUOTED if stated.borrowed and not isinstance(value, Flaw) else value


def _is_contradicted(
    reply: ReplyText,
    pair: list[LabelledField],
    blocks: list[tuple[LabelledField, LabelledField]],
    labels: Labels,
    read: Stated,
) -> bool:
    """Say whether another block, or anything after the last one, says something else."""
    last = max(blocks[-1])
    others = {f for block in blocks[:-1] for f in block} | {f for f in pair if f > last}
    return any(not says(reply, field, labels, read) for field in others)


def _judgment(
    reply: ReplyText, fields: list[LabelledField], k: int | None, spans: Spans
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


def parse_classes(text: str, k: int | None) -> tuple[Utility, ...] | str:
    """Read exactly k classes, in order, or say what is wrong with them.

    >>> parse_classes("1. Highly Relevant, 2. Irrelevant", 2)
    (<Utility.HIGHLY_RELEVANT: 'highly relevant'>, <Utility.IRRELEVANT: 'irrelevant'>)
    >>> parse_classes("Highly Relevant", 3)
    '1 class for 3 passages'
    """
    return _classes_short(text, k) if len(text) <= _SHORT else _classes(text, k)


def _classes(text: str, k: int | None) -> tuple[Utility, ...] | str:
    lines = [line for line in text.splitlines() if line.strip(" \t*_`-")]
    entries = _across(lines[0]) if len(lines) == 1 else [_down(line) for line in lines]
    if not entries or None in entries:
        return "a passage class could not be read"
    read = [entry for entry in entries if entry]
    if k is not None and len(read) != k:
        return f"{len(read)} class{'' if len(read) == 1 else 'es'} for {k} passages"
    numbers = [int(entry["number"]) for entry in read if entry["number"]]
    if numbers and numbers != list(range(1, len(read) + 1)):
        return "the passage classes are not numbered in order"
    return tuple(_WORDS[entry["word"].lower()] for entry in read)


_classes_short = lru_cache(maxsize=4096)(_classes)  # three words in k places: there are not many


def _down(line: str) -> re.Match[str] | None:
    """Read one class on a line of its own, which may go on with a reason but no other class."""
    entry = _ENTRY.match(line)
    return None if entry and _SECOND.search(line, entry.end()) else entry


def _across(line: str) -> list[re.Match[str] | None]:
    entries: list[re.Match[str] | None] = []
    at = 0
    while not _REST.match(line, at):
        entry = _ENTRY.match(line, at)
        entries.append(entry)
        if entry is None:
            break
        at = entry.end()
    return entries


def parse_state(text: str) -> EvidenceState | None:
    """Read the group judgment, or None when it is none of the three words.

    >>> parse_state("**Conflicting**")
    <EvidenceState.CONFLICTING: 'conflicting'>
    """
    return _state_short(text) if len(text) <= _SHORT else _state(text)


def _state(text: str) -> EvidenceState | None:
    found = _STATE.match(text)
    others = {w for w in EvidenceState if found and w in text[found.end() :].lower()}
    return EvidenceState(found["word"].lower()) if found and not others else None


_state_short = lru_cache(maxsize=256)(_state)
