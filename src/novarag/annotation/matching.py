"""Where a passage mentions an accepted answer: by its words, an alias, or its value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from novarag.annotation.tokens import is_stop, words_of
from novarag.annotation.values import ValueKind, find_values, whole_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.annotation.tokens import Word


class MentionKind(StrEnum):
    """How a mention was recognised; those after `VALUE` are weak and need context."""

    WORDS = "its words"
    ALIAS = "another name"
    VALUE = "its value"
    PART = "a part of it"
    SURNAME = "the surname alone"
    MOST = "most of its words"


STRONG = frozenset({MentionKind.WORDS, MentionKind.ALIAS, MentionKind.VALUE})


@dataclass(frozen=True, slots=True)
class Mention:
    """A place of a passage that mentions an answer."""

    answer: str
    how: MentionKind
    start: int
    end: int


_SAME = (
    ("us", "usa", "united states", "united states of america"),
    ("uk", "united kingdom"),
    ("ussr", "soviet union"),
    ("uae", "united arab emirates"),
    ("un", "united nations"),
    ("eu", "european union"),
    ("nyc", "new york city"),
    ("washington dc", "washington district of columbia"),
    ("wwi", "ww1", "world war i", "world war 1", "first world war"),
    ("wwii", "ww2", "world war ii", "world war 2", "second world war"),
)
_PLACE_WORDS = (
    "county river university street city lake mount mountain mountains island islands college"
    " school road avenue bridge park station airport church castle valley district province state"
    " states kingdom republic ocean beach bay club company band museum hospital stadium tower war"
    " league award awards prize cup records party association institute society council army"
)
_PLACES = frozenset(_PLACE_WORDS.split())
_LONG, _PERSON = 3, (2, 3)
_LETTERS = 4  # of a name that is also a word unless it stands in capitals
_SURNAME = 4  # letters of a surname that may stand alone
_MOST = 0.6  # share of a long answer's words that one sentence must hold
_PROSE = 8  # words of an answer that is a name; a longer one is prose
_REACH = 2  # words that may stand between a first name and a surname


def find_mentions(text: str, words: Sequence[Word], answers: Sequence[str]) -> list[Mention]:
    """Find where a text mentions any of the answers; each answer by its strongest way.

    >>> text = "Ruto was born on October 26, 1918 in the U.S."
    >>> [m.how.value for m in find_mentions(text, words_of(text), ["26 October 1918"])]
    ['its value']
    """
    found: list[Mention] = []
    for answer in answers:
        by_strength = _by_strength(text, words, answer)
        found += next((mentions for mentions in by_strength if mentions), [])
    return found


def _by_strength(text: str, words: Sequence[Word], answer: str) -> Iterator[list[Mention]]:
    """Try the ways to recognise an answer, the strongest first."""
    folded = [w.word for w in words_of(answer)]
    if not folded:
        return
    plain = [_singular(word) for word in folded]
    exact = _spots(words, plain, answer, MentionKind.WORDS)
    if _is_short(folded) and any(folded[0] in names for names in _SAME):
        exact = [m for m in exact if text[m.start : m.start + 2].isupper()]
    yield exact
    yield [
        m
        for alias in _aliases(folded)
        for m in _spots(words, alias, answer, MentionKind.ALIAS)
        if not _is_short(alias) or text[m.start : m.start + 2].isupper()
    ]
    yield _initials(text, words, answer)
    yield _values(text, answer)
    yield _person(words, answer, folded)
    head = answer.partition(",")[0]
    if head != answer and len(folded) <= _PROSE and len(head) > _SURNAME and head[0].isupper():
        part = [_singular(w.word) for w in words_of(head)]
        yield _spots(words, part, answer, MentionKind.PART)
    if whole_value(answer) is None:  # most words of a date are another date
        yield _most(words, plain, answer)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > _LONG and word[-1] == "s" else word


def _spots(
    words: Sequence[Word], wanted: Sequence[str], answer: str, how: MentionKind
) -> list[Mention]:
    size = len(wanted)
    return [
        Mention(answer, how, words[i].start, words[i + size - 1].end)
        for i in range(len(words) - size + 1)
        if size and all(_singular(words[i + j].word) == wanted[j] for j in range(size))
    ]


def _is_short(words: Sequence[str]) -> bool:
    """Say whether a name is short letters that may be another word: "us", "un"."""
    return len(words) == 1 and len(words[0]) <= _LETTERS


def _aliases(folded: Sequence[str]) -> list[list[str]]:
    name = " ".join(folded)
    family = next((names for names in _SAME if name in names), ())
    return [[_singular(w) for w in other.split()] for other in family if other != name]


def _initials(text: str, words: Sequence[Word], answer: str) -> list[Mention]:
    """Match "FBI" with "Federal Bureau of Investigation", either way round."""
    telling = [w for w in words_of(answer) if not is_stop(w.word)]
    if len(telling) >= _LONG and all(answer[w.start].isupper() for w in telling):
        short = "".join(w.word[0] for w in telling)
        return [
            Mention(answer, MentionKind.ALIAS, w.start, w.end)
            for w in words
            if w.word == short and text[w.start : w.end].isupper()
        ]
    letters = telling[0].word if len(telling) == 1 else ""
    if len(letters) < _LONG or not letters.isalpha() or not answer.strip(". ").isupper():
        return []
    names = [w for w in words if text[w.start].isupper()]
    size = len(letters)
    return [
        Mention(answer, MentionKind.ALIAS, names[i].start, names[i + size - 1].end)
        for i in range(len(names) - size + 1)
        if "".join(w.word[0] for w in names[i : i + size]) == letters
        and names[i + size - 1].end - names[i].start < 20 * size
    ]


def _values(text: str, answer: str) -> list[Mention]:
    gold = whole_value(answer)
    if gold is None or (gold.kind is ValueKind.NUMBER and gold.number < _LONG):
        return []
    return [
        Mention(answer, MentionKind.VALUE, v.start, v.end)
        for v in find_values(text)
        if gold.agrees(v)
    ]


def _person(words: Sequence[Word], answer: str, folded: Sequence[str]) -> list[Mention]:
    """Match a person with other middle names, else by the surname alone."""
    names = [part for part in answer.split() if part[:1].isupper()]
    if len(names) != len(answer.split()) or not _PERSON[0] <= len(folded) <= _PERSON[1]:
        return []
    first, last = folded[0], folded[-1]
    named = first.isalpha() and last.isalpha() and len(last) >= _SURNAME
    if not named or last in _PLACES:
        return []
    ends = [i for i, w in enumerate(words) if w.word == last]
    both = [
        Mention(answer, MentionKind.ALIAS, words[j].start, words[i].end)
        for i in ends
        for j in range(max(0, i - _REACH - 1), i)
        if words[j].word == first
    ]
    return both or [
        Mention(answer, MentionKind.SURNAME, words[i].start, words[i].end) for i in ends
    ]


def _most(words: Sequence[Word], wanted: Sequence[str], answer: str) -> list[Mention]:
    """Match a long answer where most of its telling words, and all its numbers, stand close."""
    telling = {w for w in wanted if not is_stop(w)}
    if len(telling) < _LONG:
        return []
    numbers = {w for w in telling if w[-1].isdigit()}
    reach = 2 * len(wanted) + 4
    for i, word in enumerate(words):
        if _singular(word.word) not in telling:
            continue
        near = words[i : i + reach]
        held = telling & {_singular(w.word) for w in near}
        if numbers <= held and len(held) >= _MOST * len(telling):
            last = max(w.end for w in near if _singular(w.word) in held)
            return [Mention(answer, MentionKind.MOST, word.start, last)]
    return []
