"""Does one text, in the place of another, deny it? Values by value, names by a name that is new."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from novarag.annotation.tokens import is_stop, words_of
from novarag.annotation.values import ValueKind, find_values, sizes_differ, unit_after

if TYPE_CHECKING:
    from novarag.annotation.tokens import Word
    from novarag.annotation.values import TypedValue

_SPELT_ALIKE = 0.85
"""From which likeness of their letters on two words may be two spellings of one."""

_BEGUN = 3  # letters that a short name has of its long form


@dataclass(frozen=True, slots=True)
class ClaimSpan:
    """A part of a text, which may be looked at beyond its ends."""

    text: str
    start: int
    end: int

    @property
    def words(self) -> list[Word]:
        """The words that carry something, with their places in the text."""
        found = words_of(self.text[self.start : self.end])
        return [type(w)(w.word, w.start + self.start, w.end + self.start)
                for w in found if not is_stop(w.word)]  # fmt: skip

    @property
    def values(self) -> list[TypedValue]:
        """The numbers and dates that begin and end within the span, as the text has them."""
        return [v for v in find_values(self.text) if self.start <= v.start and v.end <= self.end]


def denies(claim: ClaimSpan, answer: ClaimSpan) -> bool:
    """Say whether a claim in the place of an answer denies it: both cannot be true.

    A number or a date denies by its value, whatever unit or month it keeps; other words by a word
    that the answer does not have. Where some words stay, those that changed must be names: "red
    valve" and "crimson valve" may be one valve, "Ada Keller" and "Ada Huber" are two people.
    """
    if answer.values:
        return _denies_value(claim, answer)
    old, new = answer.words, claim.words
    lost = [w for w in old if not _is_among(w, new)]
    fresh = [w for w in new if not _is_among(w, old)]
    if not lost or not fresh:
        return False
    if len(lost) == len(old):
        return True
    if old[-1].word == new[-1].word and _short_for(lost[0].word, fresh[0].word):
        return False
    return all(answer.text[w.start].isupper() for w in lost) and any(
        claim.text[w.start].isupper() for w in fresh
    )


def _denies_value(claim: ClaimSpan, answer: ClaimSpan) -> bool:
    """Say whether every value of the claim that can be compared is another one."""
    pairs = [
        (v, g)
        for v in claim.values
        for g in answer.values
        if v.kind is g.kind or (_is_number(v) and _is_number(g))
    ]
    return bool(pairs) and all(_differs(v, claim, g, answer) for v, g in pairs)


def _is_number(value: TypedValue) -> bool:
    """Say whether a value may be a count: four digits alone may be a year or one."""
    return value.kind is ValueKind.NUMBER or value.day[1:] == (None, None)


def _differs(value: TypedValue, claim: ClaimSpan, gold: TypedValue, answer: ClaimSpan) -> bool:
    if ValueKind.NUMBER in {value.kind, gold.kind}:
        return sizes_differ(
            gold.number, unit_after(answer.text, gold.end),
            value.number, unit_after(claim.text, value.end),
        )  # fmt: skip
    return not value.fits(gold) and not gold.agrees(value) and _is_as_full(value, gold)


def _is_as_full(value: TypedValue, gold: TypedValue) -> bool:
    """A date that denies another says its year where that one does."""
    return value.day[0] is not None or gold.day[0] is None


def _short_for(one: str, other: str) -> bool:
    """Say whether a first name may be short for another, as Danny for Daniel."""
    return one[:_BEGUN] == other[:_BEGUN] and len(one) > _BEGUN and len(other) > _BEGUN


def _is_among(word: Word, others: list[Word]) -> bool:
    """Say whether a word stands among others, perhaps in another spelling."""
    return any(_spelt_alike(word.word, other.word) for other in others)


def _spelt_alike(one: str, other: str) -> bool:
    if one == other:
        return True
    if not (one.isalpha() and other.isalpha()):
        return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _SPELT_ALIKE
