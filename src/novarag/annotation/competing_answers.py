"""The value a passage gives where the question asks for one: of the answer's type, and not it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from novarag.annotation.tokens import is_stop, stem, words_of
from novarag.annotation.values import ValueKind, find_values, whole_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.annotation.tokens import Lexicon, Sentence
    from novarag.annotation.values import TypedValue
    from novarag.records import Question

# A capitalised word, and up to six more of them or small numbers; between two there may stand two
# small words that names hold ("Bank of the West"). Every repeat is bounded, as texts are hostile.
_NAME = re.compile(
    r"[^\W\d_a-z][\w'\u2019.-]{0,30}"
    r"(?:\s(?:(?:of|the|de|da|di|van|von|del|la|le|and|for|to)\s){0,2}"
    r"(?:[^\W\d_a-z][\w'\u2019.-]{0,30}|[0-9]{1,4}\b)){0,6}"
)
_COUNTED = re.compile(r"\bhow (?:many|much|old|tall|long|far|big|large|deep|high|often|fast)\b")


class AnswerType(StrEnum):
    """The type of answer a question wants, as far as its words tell."""

    DATE = "date"
    NUMBER = "number"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class CompetingAnswer:
    """A value of the wanted type that is not the answer, and how well its sentence fits."""

    wanted: AnswerType
    text: str
    start: int
    end: int
    sentence: Sentence
    near: float


def wanted_type(question: Question) -> AnswerType | None:
    """Infer the type from the shape of the accepted answers; None where they have none.

    >>> from novarag.records import Question
    >>> wanted_type(Question(id="q", text="When did it end?", answers=("11 November 1918",)))
    <AnswerType.DATE: 'date'>
    """
    values = [whole_value(answer) for answer in question.answers]
    known = {v.kind for v in values if v is not None}
    if len(known) == 1 and None not in values:
        asked = _COUNTED.search(question.text.lower())
        return AnswerType.NUMBER if asked or ValueKind.NUMBER in known else AnswerType.DATE
    telling = [
        (answer[w.start].isupper(), answer)
        for answer in question.answers
        for w in words_of(answer)
        if not is_stop(w.word)
    ]
    return AnswerType.NAME if telling and all(upper for upper, _ in telling) else None


def find_rival(
    text: str, sentences: Sequence[Sentence], question: Question, asked: frozenset[str],
    lexicon: Lexicon,
) -> CompetingAnswer | None:  # fmt: skip
    """Return the other value in the sentence that fits the question best, if there is one."""
    wanted = wanted_type(question)
    if wanted is None:
        return None
    title = title_of(text, sentences)
    best: CompetingAnswer | None = None
    for sentence in sentences:
        if sentence is title:
            continue
        spans = list(_others(text, sentence, question, wanted))
        if not spans:
            continue
        around = sentence.stems | (title.stems if title is not None else frozenset())
        near = lexicon.share(asked, around)
        if best is None or near > best.near:
            start, end = _closest(spans, sentence, asked)
            best = CompetingAnswer(wanted, text[start:end], start, end, sentence, near)
    return best


def title_of(text: str, sentences: Sequence[Sentence]) -> Sentence | None:
    """Return the title: a first line that is no sentence."""
    if not sentences:
        return None
    first = sentences[0]
    ended = text[first.start : first.end].rstrip()[-1:] in {".", "!", "?"}
    return (
        first
        if len(sentences) > 1 and text[first.end : first.end + 1] == "\n" and not ended
        else None
    )


def _others(
    text: str, sentence: Sentence, question: Question, wanted: AnswerType
) -> Iterator[tuple[int, int]]:
    part = text[sentence.start : sentence.end]
    found = _names(part, question) if wanted is AnswerType.NAME else _values(part, question, wanted)
    for start, end in found:
        yield sentence.start + start, sentence.start + end


def _values(part: str, question: Question, wanted: AnswerType) -> Iterator[tuple[int, int]]:
    gold = [v for answer in question.answers for v in find_values(answer)]
    known = [*gold, *find_values(question.text)]
    kind = ValueKind.DATE if wanted is AnswerType.DATE else ValueKind.NUMBER
    for value in find_values(part):
        if value.kind is kind and not any(_same(value, v) for v in known) and _full(value, gold):
            yield value.start, value.end


def _same(value: TypedValue, known: TypedValue) -> bool:
    return value.fits(known) or known.agrees(value)


def _full(value: TypedValue, gold: Sequence[TypedValue]) -> bool:
    """A date that denies another must say at least its year, where that one does."""
    return value.day[0] is not None or all(g.day[0] is None for g in gold)


def _names(part: str, question: Question) -> Iterator[tuple[int, int]]:
    known = {w.word for said in (question.text, *question.answers) for w in words_of(said)}
    for match in _NAME.finditer(part):
        words = words_of(match[0])
        telling = [w.word for w in words if not is_stop(w.word)]
        fresh = [word for word in telling if word not in known]
        lone = match.start() == 0 and len(telling) == 1
        if fresh and len(fresh) * 2 > len(telling) and not lone:
            yield match.start() + words[0].start, match.start() + words[-1].end


def _closest(
    spans: Sequence[tuple[int, int]], sentence: Sentence, asked: frozenset[str]
) -> tuple[int, int]:
    """Choose the span whose nearest asked-for words are nearest."""
    places = [w.start for w in sentence.words if stem(w.word) in asked]
    return min(spans, key=lambda s: (sum(sorted(abs(p - s[0]) for p in places)[:3]), s))
