"""Sentences that say the same but for a few words: what stands where the other has the answer?

Two versions of one article are the surest witnesses of a stale answer: same title, nearly the same
sentence, another value in the same place.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from novarag.annotation.rivals import title_of
from novarag.annotation.values import find_values
from novarag.annotation.wording import is_stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.annotation.clues import Clues
    from novarag.annotation.wording import Sentence

_TITLED = 0.5  # share of both sentences' words in common, where the titles are equal
_UNTITLED = 0.75  # where one passage has no title
_LEAST = 5  # telling words a sentence needs to have a twin
_COPY = 0.6  # share of three-word runs that two versions of a passage have in common
_RUN = 3
_LONGEST = 12  # words of a claim


@dataclass(frozen=True, slots=True)
class Twin:
    """Where a passage has another text in the answer's place; `of` is the passage that has it."""

    of: int
    start: int
    end: int
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Cut:
    """A passage with its sentences and, if known, the clues for the question at hand."""

    text: str
    sentences: Sequence[Sentence]
    clues: Clues


def find_twin(cuts: Sequence[Cut], at: int, supports: Sequence[bool]) -> Twin | None:
    """Find a sentence that says what a supporting passage says, with other words for the answer.

    This passage must not mention the answer at all. Two titles that differ are two subjects; where
    one passage has none, the sentences must be all the more alike, and both hold the rarest word
    of the question: "X is a village" and "Y is a village" are alike too.
    """
    own = cuts[at]
    if own.clues.mention is not None:
        return None
    for number, other in enumerate(cuts):
        if not (supports[number] and other.clues.strong):
            continue
        for sentence in own.sentences:
            alike = _least_alike(own, sentence, other)
            found = _in_place(other, sentence, alike) if alike is not None else None
            if found is not None:
                return Twin(number, *found, sentence)
    return None


def _least_alike(one: Cut, sentence: Sentence, other: Cut) -> float | None:
    """Say how alike sentences must be; None where they are about different things."""
    a, b, said = one.clues.title, other.clues.title, other.clues.sentence
    if a is None or b is None:
        subject = one.clues.rarest
        both = said is not None and subject in said.stems and subject in sentence.stems
        return _UNTITLED if both else None
    return _TITLED if [w.word for w in a.words] == [w.word for w in b.words] else None


def _in_place(other: Cut, sentence: Sentence, alike: float) -> tuple[int, int] | None:
    """Return the span that stands where the other passage mentions the answer."""
    said, mention = other.clues.sentence, other.clues.mention
    if said is None or mention is None or len(sentence.stems) < _LEAST:
        return None
    if len(said.stems & sentence.stems) < alike * len(said.stems | sentence.stems):
        return None
    a, b = [w.word for w in said.words], [w.word for w in sentence.words]
    inside = [
        i
        for i, w in enumerate(said.words)
        if mention.start <= w.start < mention.end and not is_stop(w.word)
    ]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if (
            tag == "replace"
            and inside
            and i1 <= inside[0]
            and inside[-1] < i2
            and j2 - j1 < _LONGEST
        ):
            return sentence.words[j1].start, sentence.words[j2 - 1].end
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
    return (
        a is not None and b is not None and [w.word for w in a.words] != [w.word for w in b.words]
    )


def _runs(sentences: Sequence[Sentence]) -> frozenset[tuple[str, ...]]:
    words = [w.word for s in sentences for w in s.words if not w.word[-1].isdigit()]
    return frozenset(tuple(words[i : i + _RUN]) for i in range(len(words) - _RUN + 1))


def _values(text: str) -> dict[tuple[object, ...], str]:
    return {(v.kind, v.number, v.day): text[v.start : v.end] for v in find_values(text)}
