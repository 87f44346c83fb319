"""Find the labelled parts of a reply ("Answer:", "Confidence:", `<answer>`) in linear time.

Label words are found with `str.find` and confirmed by look-arounds of bounded length, so no reply,
however hostile, costs more than its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field as declared

from novarag.records import NumberScale
from novarag.strategies.confidence import turns_round
from novarag.strategies.copies import letters
from novarag.strategies.languages import AFTER, OF_STEP, QUALIFIERS, STEPS, translated
from novarag.strategies.parts import (
    ANSWER,
    CLASSES,
    CONFIDENCE,
    GROUP,
    STEP,
    LabelledField,
    ReplyPart,
    ReplyText,
    each_bounded,
)
from novarag.strategies.quoted_fields import with_quotations
from novarag.strategies.tagged import find_tags

_CLASSES, _GROUP = "passage classification", "group judgment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a format calls its parts, in lower case, and what a bare number means in it.

    `tagged` formats write `<label>value</label>`. `terse` formats ask for nothing but the two
    parts: labels may be left out, and what follows the first block is drift, so the first block
    counts instead of the last. `combine` names the way the confidences of several steps become
    one; None where the format states one confidence. With a `frame` only labels that carry it
    count: no passage can know it.
    """

    answer: tuple[str, ...] = ("answer",)
    confidence: tuple[str, ...] = ("confidence",)
    scale: NumberScale = NumberScale.PERCENT
    tagged: bool = False
    terse: bool = False
    combine: str | None = None
    frame: str = ""
    foreign: tuple[tuple[tuple[ReplyPart, str], ...], ...] = declared(
        init=False, compare=False, repr=False
    )
    stating: tuple[str, ...] = declared(init=False, compare=False, repr=False)
    telling: tuple[str, ...] = declared(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Add the words of other languages, and those that a passage states a confidence by."""
        stated = translated(self.confidence)
        words = [(ANSWER, w) for w in translated(self.answer)] + [(CONFIDENCE, w) for w in stated]
        plain = tuple((part, w) for part, w in words if w.isascii())
        object.__setattr__(self, "foreign", (plain, tuple(words)))
        stating = tuple(map(letters, (*self.confidence, *stated)))
        object.__setattr__(self, "stating", stating)
        object.__setattr__(self, "telling", (*stating, *map(letters, (_CLASSES, _GROUP))))

    def framed(self, frame: str) -> Labels:
        """Return the labels of a reply that must carry a frame: `Answer[7f3a2c]:`."""
        marks = _frames(frame)
        return Labels(
            answer=tuple([word + mark for word in self.answer for mark in marks]),
            confidence=tuple([word + mark for word in self.confidence for mark in marks]),
            scale=self.scale,
            tagged=self.tagged,
            terse=self.terse,
            combine=self.combine,
            frame=frame,
        )


def _frames(frame: str) -> tuple[str, ...]:
    """Return the spellings of a frame after its label."""
    return f"[{frame}]", f" [{frame}]", f"**[{frame}]", f"\\[{frame}\\]"


_DRESSING = " \t\r*_`#>+-\u2022\u00a0"
_DRESSED = 24  # characters of dressing before a step, at most
_PAIR = (ANSWER, CONFIDENCE)  # or a step's
_DECORATION = frozenset(" \t\r\n*_`\u00a0\u200b")
_OPENERS = frozenset("[<(")
_SENTENCE = frozenset(",.;?!")
_STOPS = frozenset(".:;!?)]>|\u2014\u2013")
_QUALIFIERS = (
    *("final", "correct", "my", "the", "overall", "short", "your", "revised", "updated"),
    *("adjusted", "corrected", "new", "initial", "preliminary", "first"),
    *QUALIFIERS,
)
_DETERMINERS = ("the", "my", "your")
_CJK = "\u2e80"  # from here on words are written without spaces
_JOINED = frozenset("\u7ec8\u7684\u540e\u786e\u4f73\u6b65")  # what may stand just before one
# The step that a label belongs to, "step 2's confidence" or "Step 2: confidence"; sixteen
# characters before the label are looked at.
_STEP = re.compile(
    rf"(?:{STEPS})[ \t]{{0,2}}([0-9]{{1,3}})(?:[ \t]?\u6b65)?(?:'s)?[ \t*_-]{{0,4}}$"
)
_STEP_PREFIX = re.compile(r"step[ \t]{0,2}[0-9]{1,3}[ \t]{0,2}[:.)][ \t*_]{0,4}$")
# What may stand between the word of a label and its value: a frame, "score", "(0-100)", and a
# colon; a line of its own; a dash and a number. Then what can begin a number.
_COLON = re.compile(
    r"(?:\[[0-9a-f]{6}\])?s?(?:[ _](?:score|level|rating|percentage))?"
    rf"(?: (?:{AFTER})\b)?(?: in (?:this|my|the) answer)?(?: is)?"
    rf"(?:{OF_STEP}[ \t]{{0,2}}(?:{STEPS})[ \t]{{0,2}}(?P<step>[0-9]{{1,3}})\u6b65?)?"
    r"[ \t*_`\"'\])\u00a0]{0,6}"
    r"(?:\([^()\n]{0,60}\)[ \t*_`]{0,4})?[:\uff1a=]"
)
_HEADING = re.compile(r"s?(?:[ _](?:score|level))?[ \t*_`]{0,6}\r?\n")
_DASH = re.compile(r"[ \t*_`]{0,4}(?:[-\u2013\u2014]|is)?[ \t*_`]{1,4}(?=[0-9])")
_NUMERIC = re.compile(r"[ \t*_`\"'$\\~(\[<]{0,12}\.?[0-9]")
# Words by which a label speaks of a passage's confidence, "confidence of the author".
_SOURCE = re.compile(
    r"(?:passage|document|doc|source|snippet)[ \t#]{0,2}[0-9]|quot|copied|according|claim|printed"
    r"|\b(?:pages?|articles?|authors?|editors?|writers?|web ?sites?)\b",
    re.IGNORECASE,
)
# The form of the prompt, copied and not filled: "[your answer]", "[0-100]%", "___".
_PLACEHOLDER = re.compile(
    r"[\[<(][ \t]{0,2}(?:your|insert|the final|the most|the correct|the probability|most likely"
    r"|a number|0% ?-)",
    re.IGNORECASE | re.ASCII,
)
_NO_NUMBER = re.compile(
    r"(?:[\[<({][ \t]{0,2}(?:0[ \t]{0,2}%?[ \t]{0,2}(?:-|\u2013|to)[ \t]{0,2}100[ \t]{0,2}%?"
    r"|[a-z_][^0-9\n]{0,80})[\]>)}]|\.{2,6}|\u2026|_{2,6}|\?{1,3})[ \t]{0,2}%?[ \t*_`]{0,6}$",
    re.IGNORECASE,
)


def find_fields(reply: ReplyText, labels: Labels) -> list[LabelledField]:
    """Return every labelled, non-empty part in order; each ends before the next begins.

    Parts that stand in a quotation are marked.
    """
    if labels.tagged:
        return find_tags(reply, labels)
    found = _found(reply, labels)
    if not found:
        return found
    found.sort()
    found = with_quotations(reply, found, labels.scale, framed=bool(labels.frame))
    if not labels.terse and True in [f.inline for f in found]:
        found = _without_asides(reply, found)
    return each_bounded(reply, found, _bounded)


def _found(reply: ReplyText, labels: Labels) -> list[LabelledField]:
    """Return every label, without its value."""
    found: list[LabelledField] = []
    for part, words in ((ANSWER, labels.answer), (CONFIDENCE, labels.confidence)):
        for word in words:
            if word in reply.lower:  # of the spellings of a frame a reply has one
                _find(reply, word, part, found)
    if len({f.part for f in found}) < len(_PAIR):  # else the reply keeps to the prompt's words
        for part, word in labels.foreign[0 if reply.lower.isascii() else 1]:
            if word in reply.lower:
                _find_foreign(reply, word, part, found)
    if found and not labels.terse:
        frame = f"[{labels.frame}]" if labels.frame else ""
        _find(reply, f"{_CLASSES}s{frame}" if frame else _CLASSES, CLASSES, found)
        _find(reply, f"{_GROUP}{frame}", GROUP, found)
    return found


def has_step(reply: ReplyText, number: int) -> bool:
    """Say whether a line opens with this step; dressing such as ** or - or # may come before."""
    word = f"step {number}"
    at = reply.lower.find(word, reply.body)
    while at >= 0:
        after = at + len(word)
        if not reply.lower[after : after + 1].isdigit() and _opens_line(reply, at):
            return True
        at = reply.lower.find(word, after)
    return False


def _opens_line(reply: ReplyText, at: int) -> bool:
    floor = max(reply.body, at - _DRESSED)
    start = reply.text.rfind("\n", floor, at) + 1
    if not start and floor > reply.body:
        return False
    return not reply.text[start or floor : at].strip(_DRESSING)


def _without_asides(reply: ReplyText, found: list[LabelledField]) -> list[LabelledField]:
    """Drop confidences within a line, unless all are, and they follow an answer or a stop."""
    others = any(f.part is CONFIDENCE and not f.inline and not f.quoted for f in found)
    kept: list[LabelledField] = []
    answered = -1
    for field in found:
        if field.inline:
            follows = answered >= 0 and reply.text.find("\n", answered, field.start) < 0
            answered = -1
            if others or not (follows or _stops_at(reply.text, field.start)):
                continue
        elif field.part is ANSWER:
            answered = field.value
        kept.append(field)
    return kept


def _find(reply: ReplyText, word: str, part: ReplyPart, found: list[LabelledField]) -> None:
    """Add every place where the word is a label; the plain "Label:" is settled at once."""
    lower, body, size = reply.lower, reply.body, len(word)
    at = lower.find(word, body)
    while at >= 0:
        after = at + size
        if lower.startswith(":", after) and (at == body or lower[at - 1] == "\n"):
            found.append(LabelledField(at, part, after + 1))
        elif plain := _plain_label(lower, body, at, after, part):
            found.append(plain)
        elif not _runs_on(lower, after) and not _is_word_part(lower, at):
            mark = _COLON.match(lower, after) or _without_colon(reply, after, part)
            if mark is not None and (field := _field(reply, at, mark, part)):
                found.append(field)
        at = lower.find(word, after)


def _plain_label(
    lower: str, body: int, at: int, after: int, part: ReplyPart
) -> LabelledField | None:
    """Settle the plain "Final Answer:" and "Step 2 Confidence:" at once, which most are."""
    if not lower.startswith(":", after) or lower[at - 1 : at] != " ":
        return None
    start = max(body, lower.rfind("\n", max(body, at - 9), at) + 1)
    head = lower[start : at - 1]
    if head == "final":
        return LabelledField(start, part, after + 1)
    number = head[5:]
    if part is CONFIDENCE and head[:5] == "step " and number.isascii() and number.isdigit():
        return LabelledField(start, STEP, after + 1, step=int(number))
    return None


def _find_foreign(reply: ReplyText, word: str, part: ReplyPart, found: list[LabelledField]) -> None:
    """Add every place where a word of another language is a label, of a number if it has one."""
    at = reply.lower.find(word, reply.body)
    while at >= 0:
        mark = None if _is_word_part(reply.lower, at) else _COLON.match(reply.lower, at + len(word))
        if mark is not None and (part is ANSWER or _NUMERIC.match(reply.text, mark.end())):
            field = _field(reply, at, mark, part)
            if field is not None:
                found.append(field)
        at = reply.lower.find(word, at + len(word))


def _is_word_part(lower: str, at: int) -> bool:
    """Say whether a label word is the end of a longer one, such as passage_confidence."""
    if at == 0:
        return False
    before = lower[at - 1]
    if lower[at] >= _CJK and (before in _JOINED or before.isdigit()):
        return False
    if before != "_":
        return before.isalnum()
    return lower[at - 2 : at - 1].isalnum() and _qualified(lower, max(0, at - 16), at) == at


def _qualified(lower: str, floor: int, at: int) -> int:
    """Return where a label begins with its qualifier ("my final answer"), if it has one."""
    start = _word_before(lower, floor, at, _QUALIFIERS)
    return start if start == at else _word_before(lower, floor, start, _DETERMINERS)


def _word_before(lower: str, floor: int, at: int, words: tuple[str, ...]) -> int:
    """Return where one of these words begins, one or two blanks before a place; else the place."""
    head = lower[floor:at]
    bare = head.rstrip(" \t_")
    if not bare.endswith(words) or len(head) - len(bare) > 2:
        return at
    if len(head) == len(bare) and bare[-1] < _CJK:
        return at
    word = next(word for word in words if bare.endswith(word))
    return floor + len(bare) - len(word)


def _field(reply: ReplyText, at: int, mark: re.Match[str], part: ReplyPart) -> LabelledField | None:
    """Accept a label that opens a line; within a line only under stricter conditions."""
    start, opens_line = _line_start(reply, at)
    if mark.re is not _COLON and not (opens_line and _is_bold(reply, mark, start)):
        return None
    value = mark.end()
    if part is CONFIDENCE and "(" in mark[0] and _is_of_others(mark[0]):
        return None
    if part is CONFIDENCE and mark.re is _COLON and mark["step"]:
        return LabelledField(start, STEP, value, step=int(mark["step"]))
    if part is not CONFIDENCE:
        if not opens_line and not _after_stop(reply.text, start, at):
            return None
    elif (start < at or reply.text[at] >= _CJK) and (
        step := _STEP.search(reply.lower, max(reply.body, at - 16), at)
    ):
        return LabelledField(step.start(), STEP, value, step=int(step[1]))
    elif not opens_line:
        plain = _NUMERIC.match(reply.text, value)
        return LabelledField(start, part, value, inline=True) if plain else None
    return LabelledField(start, part, value)


def _is_of_others(label: str) -> bool:
    """Say whether a label's bracket makes its number the chance of error, or a passage's."""
    return turns_round(label) or _SOURCE.search(label) is not None


def _after_stop(text: str, start: int, at: int) -> bool:
    """Say whether a label within a line follows the end of a sentence, or is a JSON key."""
    if "[" in text[start:at]:
        return False
    return _stops_at(text, start) or text[at - 1 : at] == '"'


def _stops_at(text: str, start: int) -> bool:
    return text[start : start + 4].lstrip()[:1] in _STOPS


def _runs_on(lower: str, after: int) -> bool:
    """Say cheaply that a label word is just a word of a sentence; most are."""
    head = lower[after : after + 1]
    if head == " ":
        second = lower[after + 1 : after + 2]
        return second.isalpha() and second not in "slrip"
    return head in _SENTENCE


def _without_colon(reply: ReplyText, after: int, part: ReplyPart) -> re.Match[str] | None:
    """Match "Confidence - 90%" and a heading on a line of its own."""
    dash = _DASH.match(reply.lower, after) if part is CONFIDENCE else None
    return dash or _HEADING.match(reply.lower, after)


def _is_bold(reply: ReplyText, mark: re.Match[str], start: int) -> bool:
    """Say whether a label without a colon is a markdown heading, or needs not to be one."""
    return mark.re is _DASH or reply.text[start : start + 1] in {"#", "*"}


def _line_start(reply: ReplyText, at: int) -> tuple[int, bool]:
    """Say where the label begins with its qualifier and dressing, and whether it opens a line."""
    text, body = reply.text, reply.body
    if at == body or text[at - 1] == "\n":
        return at, True
    start = _qualified(reply.lower, max(body, at - 20), at)
    if start > body and text[start - 1].isalnum():
        start = at
    floor = max(body, start - 24)
    while start > floor and (c := text[start - 1]) != "\n" and not c.isalnum():
        start -= 1
    if start <= body or text[start - 1] == "\n":
        return start, True
    numbered = text[start - 1].isdigit() and (start - 1 <= body or text[start - 2] == "\n")
    return start, numbered or bool(_STEP_PREFIX.search(reply.lower, max(body, at - 16), at))


def _bounded(reply: ReplyText, field: LabelledField, limit: int) -> LabelledField | None:
    """Give a field its value: the rest of the line, else the next line; None if it is empty."""
    text, start = reply.text, field.value
    while start < limit and text[start] in _DECORATION:
        start += 1
    numeric = field.part is CONFIDENCE or field.part is STEP
    if numeric and start - field.value > 1 and text.count("\n", field.value, start) > 1:
        return _empty(field)
    end = limit if field.part is CLASSES else text.find("\n", start, limit)
    end = limit if end < 0 else end
    if text[start : start + 1] == '"':
        end = _quoted_end(text, start, end)
    if start >= end:
        return _empty(field)
    if not text[start].isalnum() and _is_placeholder(text, start, end, numeric=numeric):
        return _empty(field)
    at, part, step = field.start, field.part, field.step
    return LabelledField(at, part, start, end, step, field.inline, field.quoted, field.borrowed)


def _empty(field: LabelledField) -> LabelledField | None:
    """Drop a label without a value; that of a step is kept, for a step cannot be left out."""
    return field._replace(end=field.value) if field.part is STEP else None


def _is_placeholder(text: str, start: int, end: int, *, numeric: bool) -> bool:
    """Say whether a value is the prompt's own "[your answer]", said back."""
    if text[start] in _OPENERS and _PLACEHOLDER.match(text, start):
        return True
    return numeric and _NO_NUMBER.match(text, start, end) is not None


def _quoted_end(text: str, start: int, end: int) -> int:
    """End a quoted value at its closing quote where JSON goes on after it."""
    close = text.find('"', start + 1, end) + 1
    return close if close and text[close : close + 2].lstrip()[:1] in {",", "}"} else end
