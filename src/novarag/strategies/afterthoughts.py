"""What follows the block of a reply, and whether it takes the block back.

A model may explain itself, thank, or name its sources after its answer. What names another
confidence or another answer, denies the answer, or says that it corrects something, contradicts the
block: then neither counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from novarag.records import TOLERANCE
from novarag.strategies.confidence import COUNTS
from novarag.strategies.copies import is_copy, squeeze
from novarag.strategies.languages import PERCENT
from novarag.strategies.phrases import (
    BEING,
    CHANGING,
    CONFIDENCE,
    CORRECTING,
    CORRECTING_UNSPACED,
    DENIED,
    DENYING,
    NAMING,
    OPENING,
)
from novarag.strategies.quotations import Quotations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.strategies.parts import LabelledField, ReplyText

# What an afterthought may state: "40 %", "4/10", "0.4", "forty percent"; "30 % of the passages"
# is none. Here and below every repeat is bounded, so that time grows with the length alone.
_STATED = re.compile(
    r"(?P<percent>[0-9]{1,9}(?:\.[0-9]{1,30})?)[ \t\u00a0\u202f]{0,3}\\?"
    rf"(?:[%\uff05]|{PERCENT})(?![ \t]of (?!confidence|certainty))"
    r"|(?P<part>[0-9]{1,9}(?:\.[0-9]{1,9})?)[ \t]{0,2}(?:/|out of)[ \t]{0,2}"
    r"(?P<whole>100?)(?![0-9/])"
    r"|(?<![\w.,/-])(?P<unit>[01]?\.[0-9]{1,9})(?![0-9.,]?[0-9]|[ \t]?[a-z\u00b0])"
    rf"|(?P<words>\b[^\W\d_]{{2,20}})[ \t-](?:{PERCENT})|\u767e\u5206\u4e4b",
    re.IGNORECASE,
)
# Words of change, of confidence and of correction: "now 40 %", "my confidence", "wait, no".
_CHANGED = re.compile(rf"\b(?:{'|'.join(CHANGING)})\b|\u7f6e\u4fe1|\u4fe1\u5fc3", re.IGNORECASE)
_CONFIDENCE = re.compile(rf"\b(?:{'|'.join(CONFIDENCE)})\b", re.IGNORECASE)
_CORRECTS = re.compile(
    rf"\b(?:{'|'.join(CORRECTING)})(?:\b|(?<= ))|{'|'.join(CORRECTING_UNSPACED)}", re.IGNORECASE
)
# A correction at the beginning of a sentence: "Wait, ...", "- Actually: ...".
_OPENS = re.compile(
    r"(?:^|[\n.!?:;\u3002\uff01\uff1f\u2014\u2013-])[ \t*_>(\[]{0,6}"
    rf"(?:{'|'.join(OPENING)})(?:[ \t]{{0,2}}[,.:;!\u2014\u2026\uff0c-]|[ \t]{{0,2}}$)",
    re.IGNORECASE,
)
# Another answer by name, "the answer is Lyon" or "-> Lyon", which begins with a capital.
_NAMES = re.compile(
    rf"(?:\b(?:{'|'.join(NAMING)})[ \t]{{0,2}}(?:{'|'.join(BEING)})"
    r"|^[ \t]{0,4}(?:=>|->|\u2192|\u21d2|=))[ \t*_\"\u201c'(]{0,4}"
    r"(?P<name>(?-i:[A-Z0-9]|[^\W\d_a-zA-Z])[^\n.;!?\u3002]{0,80})",
    re.IGNORECASE,
)
# An answer that is taken back, before or behind it: "not Paris", "Paris is wrong".
_DENIES = re.compile(rf"(?:{'|'.join(DENYING)})[ \t\"'\u201c*]{{0,4}}$", re.IGNORECASE)
_DENIED = re.compile(
    r"[\"'\u201d*]{0,3}[ \t]{0,2}(?:(?:is|was|ist|est|es|\u00e8|\u00e9|would be|seems)[ \t]{1,2})?"
    rf"(?:{'|'.join(DENIED)})",
    re.IGNORECASE,
)
# A label of a second block, and one that only repeats the form of the prompt.
_LABEL = re.compile(
    r"[ \t>*_#-]{0,12}(?:step [0-9]{1,3} |final )?(?:answer|confidence)[ \t*_]{0,4}:", re.IGNORECASE
)
_ECHO = re.compile(
    _LABEL.pattern + r"[ \t*_]{0,4}[\[<{]", re.IGNORECASE
)  # of the prompt's own form
# A bare number of up to three digits, which is no part of a word, a date or a percent.
_NUMBER = re.compile(r"(?<![\w.])[0-9]{1,3}(?:\.[0-9]{1,9})?(?![\w%.]?[0-9])")
_FIELD = re.compile(
    r"[ \t*]{0,4}\w{1,30}_\w{1,30}[ \t*]{0,3}:"
)  # another one of a form: PART_OF: 40
# Lines, and the sentences of one; a point between digits ends none.
_LINE = re.compile(r"[^\n]{1,2000}")
_SENTENCE = re.compile(r"(?:[^\n.!?;\u3002\uff01\uff1f]|(?<=[0-9])\.(?=[0-9])){1,400}")
_DRESSING = " \t\r\n*_`|;,.-=#>}])\"'"
_FEW = 4  # words of a sentence whose number can be nothing but a confidence
_PLAIN = 8  # words of a sentence that says little else
_CORRECTION = 14  # words of one that corrects something
_BRIEF = 25  # words after a block that are an afterthought, and give no reasons
_NEAR = 400  # characters in which these are counted
_FIRST = 3  # words before a phrase that opens a longer one
_SHORT = 5  # words of another answer, at most
_BESIDE = 24  # characters before and after the answer in which it is denied
_COPIED = 30  # characters before a place that show whether it stands in a copied passage


def is_taken_back(
    reply: ReplyText,
    end: int,
    answer: str,
    confidence: float,
    fields: list[LabelledField],
    *,
    framed: bool,
) -> bool:
    """Say whether what follows the block contradicts it; `fields` are not looked at again."""
    if not reply.text[end:].strip(_DRESSING):
        return False
    quotations = Quotations(reply.text, reply.lower, reply.body, framed=framed)
    taken = [(f.start, max(f.end, f.value)) for f in fields if f.end > end]
    brief = len(reply.text[end : end + _NEAR].split()) <= _BRIEF
    for line in _LINE.finditer(reply.text, end):
        if (_LABEL if framed else _ECHO).match(line[0]):
            continue
        places = list(_places(line[0], answer, confidence, brief=brief))
        if reply.passages:
            places = [] if is_copy(line[0], reply.passages) else places
            places = [place for place in places if not _is_copied(reply, line[0][:place])]
        for at in (line.start() + place for place in places):
            if any(start <= at <= stop for start, stop in taken):
                continue
            if not quotations.holds(at, at):
                return True
    return False


def _is_copied(reply: ReplyText, before: str) -> bool:
    """Say whether what stands before a place is the text of a passage."""
    near = before[-_COPIED:]
    return len(squeeze(near)) >= _COPIED // 2 and is_copy(near, reply.passages)


def _places(line: str, answer: str, confidence: float, *, brief: bool) -> Iterator[int]:
    """Yield where a line says something else than the block.

    Where little follows the block, a number or a name by itself is a correction. Where much does,
    it gives reasons, which have numbers and names in them: there a correction says what it is.
    """
    if opened := _OPENS.search(line):
        yield opened.end() - 1
    yield from _denials(line, answer)
    for sentence in _SENTENCE.finditer(line):
        said, start = sentence[0], sentence.start()
        words = len(said.split())
        mark = _CORRECTS.search(said)
        if mark and (words <= _CORRECTION or len(said[: mark.start()].split()) <= _FIRST):
            yield start + mark.end() - 1
        if words > _CORRECTION:
            continue
        if (brief and words <= _PLAIN) or (_CHANGED if brief else _CONFIDENCE).search(said):
            yield from (start + at for at in _stated(said, confidence))
        if brief and words <= _PLAIN:
            yield from (start + at for at in _named(said, answer))
            yield from (start + at for at in _bare_number(said, words, answer, confidence))


def _stated(said: str, confidence: float) -> Iterator[int]:
    """Yield confidences that are another one."""
    for number in _STATED.finditer(said):
        if abs(_value(number) - confidence) > TOLERANCE:
            yield number.start()


def _named(said: str, answer: str) -> Iterator[int]:
    """Yield answers that are another one."""
    same = squeeze(answer)
    for named in _NAMES.finditer(said):
        other = squeeze(named["name"])
        if same not in other and other not in same and len(named["name"].split()) <= _SHORT:
            yield named.start("name")


def _value(number: re.Match[str]) -> float:
    if number["percent"]:
        return float(number["percent"]) / 100
    if number["part"]:
        return float(number["part"]) / int(number["whole"])
    return float(number["unit"]) if number["unit"] else -1.0  # in words: another, for all we know


def _denials(line: str, answer: str) -> Iterator[int]:
    """Yield where the answer is denied: "not Lyon", "Lyon is wrong"."""
    lower, wanted = line.lower(), answer.lower()
    at = lower.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        whole = not (lower[at - 1 : at].isalnum() and at) and not lower[end : end + 1].isalnum()
        if (whole or not wanted.isascii()) and (
            _DENIES.search(lower[max(0, at - _BESIDE) : at]) or _DENIED.match(lower, end)
        ):
            yield min(at, len(line) - 1)
        at = lower.find(wanted, end)


def _bare_number(said: str, words: int, answer: str, confidence: float) -> Iterator[int]:
    """Yield a number without a sign that can be nothing but another confidence."""
    number = _NUMBER.search(COUNTS.sub(_blank, said))
    if number is None or number[0] in answer or _FIELD.match(said):
        return
    value = float(number[0])
    same = abs(value / 100 - confidence) < TOLERANCE or abs(value - confidence) < TOLERANCE
    if same or value > 100:
        return
    if words <= _FEW or _CHANGED.search(said):
        yield number.start()


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
