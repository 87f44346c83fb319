"""Sentences that say the same but for a few words: what stands where the other has the answer?

Two versions of one article are the surest witnesses of a stale answer: same title, nearly the same
sentence, another value in the same place.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from novarag.annotation.competing_answers import title_of
from novarag.annotation.denial import ClaimSpan, denies
from novarag.annotation.matching import MentionKind
from novarag.annotation.tokens import is_stop, stems_of
from novarag.annotation.values import find_values, same_unit, unit_after

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.annotation.features import AnswerFeatures
    from novarag.annotation.tokens import Sentence

_TITLED = 0.5  # share of the words beside the answer in common, where the titles are equal
_UNTITLED = 0.75  # where one passage has no title
_LEAST = 4  # telling words that two sentences share beside the answer
_COPY = 0.6  # share of three-word runs that two versions of a passage have in common
_RUN = 3  # words that stand in a row, as the share above counts them
_LONGEST = 12  # words of a claim
_PRONOUNS = frozenset({"it", "its", "he", "she", "his", "her", "they", "their", "this", "these"})
_EDITIONS = frozenset({"edition", "issue", "rev", "revision", "release", "version"})


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Where a passage has another text in the answer's place; `of` is the passage that has it."""

    of: int
    start: int
    end: int
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class PassageSentences:
    """A passage with its sentences and, if known, the clues for the question at hand."""

    text: str
    sentences: Sequence[Sentence]
    clues: AnswerFeatures


def find_twin(
    cuts: Sequence[PassageSentences], at: int, supports: Sequence[bool], asked: frozenset[str]
) -> NearDuplicate | None:
    """Find a sentence that says what a supporting passage says, and denies the answer.

    This passage must not state the answer itself; a part of it, such as a surname, denies nothing
    and affirms nothing. `asked` are the stems of the question.
    """
    own = cuts[at]
    if _states_it(own):
        return None
    for number, other in enumerate(cuts):
        if not (supports[number] and other.clues.strong):
            continue
        for sentence in own.sentences:
            found = _in_place(own, sentence, other, asked)
            if found is not None:
                return NearDuplicate(number, *found, sentence)
    return None


def _states_it(cut: PassageSentences) -> bool:
    """Say whether a passage states the answer: its number beside another unit is another thing."""
    mention = cut.clues.mention
    if mention is None or not cut.clues.strong:
        return False
    if mention.how is not MentionKind.VALUE:
        return True
    meant = unit_after(mention.answer, find_values(mention.answer)[-1].end)
    said = unit_after(cut.text, mention.end)
    return not meant or not said or same_unit(meant, said)


def _least_alike(
    own: PassageSentences,
    sentence: Sentence,
    other: PassageSentences,
    said: Sentence,
    asked: frozenset[str],
) -> float | None:
    """Say how alike sentences must be; None where they are about different things.

    What the question names and the other sentence holds must stand here too, or in the title. Two
    titles that differ are two subjects, but for the number of an edition; where one passage has
    none, the sentences must be all the more alike, and both hold the rarest word of the question:
    "X is a village" and "Y is a village" are alike too.
    """
    a, b = own.clues.title, other.clues.title
    if not asked & said.stems <= sentence.stems | (a.stems if a is not None else frozenset()):
        return None
    if a is None or b is None:
        subject = own.clues.rarest
        if sentence.words[0].word in _PRONOUNS:  # nothing says of whom it speaks
            return None
        return _UNTITLED if subject in said.stems and subject in sentence.stems else None
    return _TITLED if _subject(a) == _subject(b) else None


def _subject(title: Sentence) -> list[str]:
    """Return the words of a title without the number of its edition."""
    words = [w.word for w in title.words]
    return [
        word
        for i, word in enumerate(words)
        if not (word[-1].isdigit() and i and words[i - 1] in _EDITIONS)
    ]


def _in_place(
    own: PassageSentences, sentence: Sentence, other: PassageSentences, asked: frozenset[str]
) -> tuple[int, int] | None:
    """Return the span that stands where the other passage has the answer, and denies it."""
    said, mention = other.clues.sentence, other.clues.mention
    if said is None or mention is None or sentence is own.clues.title or not sentence.words:
        return None
    alike = _least_alike(own, sentence, other, said, asked)
    inside = [
        i
        for i, w in enumerate(said.words)
        if mention.start <= w.start < mention.end and not is_stop(w.word)
    ]
    if alike is None or not inside:
        return None
    a, b = [w.word for w in said.words], [w.word for w in sentence.words]
    steps = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    place = _counterpart(steps, inside[0], inside[-1])
    if place is None or place[1] - place[0] >= _LONGEST:
        return None
    frame = stems_of(w for i, w in enumerate(said.words) if not inside[0] <= i <= inside[-1])
    here = stems_of(w for j, w in enumerate(sentence.words) if not place[0] <= j < place[1])
    shared, title = frame & here, own.clues.title
    telling = shared | title.stems if title is not None and shared else shared
    if len(shared) < alike * len(frame | here) or len(telling) < _LEAST:
        return None
    start, end = sentence.words[place[0]].start, sentence.words[place[1] - 1].end
    answer = ClaimSpan(other.text, said.words[inside[0]].start, said.words[inside[-1]].end)
    return (start, end) if denies(ClaimSpan(own.text, start, end), answer) else None


def _counterpart(
    steps: Sequence[tuple[str, int, int, int, int]], first: int, last: int
) -> tuple[int, int] | None:
    """Return what stands in the place of some words; None where none of them was replaced."""
    touched = [s for s in steps if s[1] < s[2] and s[1] <= last and first < s[2]]
    if not touched or not any(tag == "replace" for tag, *_ in touched):
        return None
    tag, i1, _, start, _ = touched[0]
    start += first - i1 if tag == "equal" else 0
    tag, i1, _, begin, end = touched[-1]
    end = begin + last - i1 + 1 if tag == "equal" else end
    return (start, end) if start < end else None


def find_near_copy(
    cuts: Sequence[PassageSentences], at: int, supports: Sequence[bool]
) -> int | None:
    """Find a supporting passage that this one nearly copies, with another number or date in it.

    Nobody can be sure that such a passage is only related: it may say the answer's sentence in
    other words.
    """
    own = cuts[at]
    if own.clues.strong:
        return None
    others = [i for i, other in enumerate(cuts) if i != at and supports[i] and other.clues.strong]
    for number in others:
        texts = [(cut.text, cut.sentences) for cut in (own, cuts[number])]
        if next(stale_pairs(texts), None) is not None:
            return number
    return None


def stale_pairs(
    texts: Sequence[tuple[str, Sequence[Sentence]]],
) -> Iterator[tuple[int, int, str, str]]:
    """Yield pairs of near-identical passages that differ in numbers or dates, and those."""
    runs = [_runs(sentences) for _, sentences in texts]
    for i in range(len(texts)):
        for j in range(i + 1, len(texts)):
            both, either = len(runs[i] & runs[j]), len(runs[i] | runs[j])
            skip = texts[i][0] == texts[j][0] or _titles_differ(texts[i], texts[j])
            if not both or both < _COPY * either or skip:
                continue
            one, other = _values(texts[i][0]), _values(texts[j][0])
            only, there = [v for v in one if v not in other], [v for v in other if v not in one]
            if only and there:
                yield i, j, one[only[0]], other[there[0]]


def _titles_differ(
    one: tuple[str, Sequence[Sentence]], other: tuple[str, Sequence[Sentence]]
) -> bool:
    a, b = title_of(*one), title_of(*other)
    return a is not None and b is not None and _subject(a) != _subject(b)


def _runs(sentences: Sequence[Sentence]) -> frozenset[tuple[str, ...]]:
    words = [w.word for s in sentences for w in s.words if not w.word[-1].isdigit()]
    return frozenset(tuple(words[i : i + _RUN]) for i in range(len(words) - _RUN + 1))


def _values(text: str) -> dict[tuple[object, ...], str]:
    return {(v.kind, v.number, v.day): text[v.start : v.end] for v in find_values(text)}
