"""Texts cut into sentences and folded words that remember where they stood."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from novarag.grading import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# An abbreviation with dots (U.S.), a number with its separators, or letters with apostrophes.
_WORD = re.compile(
    r"(?:[^\W\d_]\.){2,6}|\d+(?:[.,]\d+)*|[^\W_]+(?:['\u2019\u02bc][^\W_]+){0,2}", re.UNICODE
)
_POSSESSIVE = re.compile(r"['\u2019\u02bc]s?$")
# The end of a sentence: a stop, closing quotes, a space, and no small letter after it.
_END = re.compile(r"[.!?][\"'\u201d\u2019)\]]{0,3}\s+(?=[\"'\u201c\u2018(\[]{0,2}[^\W_a-z])|\n+")
# What ends with a stop and goes on: an initial, a title, "vs.", "approx.".
_SHORT_FORM = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Z]|[A-Za-z]\.[A-Za-z]|[Mm]rs?|[Dd]r|[Ss]t|[Jj]r|[Ss]r|vs?|no|No|Vol|[Cc]a?"
    r"|Gen|Col|Capt|Lt|Sgt|Prof|Rev|Hon|Mt|Ft|Inc|Ltd|Co|feat|ft|approx|etc|e\.g|i\.e)$"
)
_STOP_WORDS = (
    "a an the of in on at by to for from with as and or but nor so than then that this these those"
    " it its he she they them his her their him i you we our your my me us who whom whose which"
    " what when where why how is are was were be been being am do does did done has have had"
    " having will would shall should can could may might must not no also both either neither"
    " there here about into over under between after before during through up down out off again"
    " s t most more much many any some such same other another each every all if name named called"
    " known one ones while because since until against among per via just only own too very get"
    " gets got"
)
_STOP = frozenset(_STOP_WORDS.split())
_ENDINGS = ("ing", "ed", "es", "s", "ly", "er", "or", "ion", "e", "y")
_STEM = 4  # letters a word keeps at least when it loses its ending
_TAIL = 30  # characters before a stop that say whether it ends a sentence


@dataclass(frozen=True, slots=True)
class Word:
    """A folded word and where it stood."""

    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence by its place in the text, with its words."""

    start: int
    end: int
    words: tuple[Word, ...]
    stems: frozenset[str]


def words_of(text: str) -> list[Word]:
    """Cut a text into folded words with their places; possessives go, articles too.

    >>> [w.word for w in words_of("The U.S.'s Zoë paid 1,000")]
    ['us', 'zoe', 'paid', '1000']
    """
    found = []
    for match in _WORD.finditer(text):
        folded = _folded(match[0])
        if folded:
            found.append(Word(folded, match.start(), match.end()))
    return found


@lru_cache(maxsize=65536)
def _folded(word: str) -> str:
    bare = _POSSESSIVE.sub("", word)
    folded = "".join(tokens(bare))
    return "" if folded in {"a", "an", "the", "s"} else folded


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Cut the ending of a folded word, so that its forms are one.

    >>> stem("released"), stem("releases"), stem("director"), stem("directed")
    ('releas', 'releas', 'direct', 'direct')
    """
    if word[:1].isdigit():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            return word[: -len(ending)].removesuffix("e")
    return word


def is_stop(word: str) -> bool:
    """Say whether a folded word carries nothing by itself."""
    return word in _STOP or (len(word) == 1 and not word.isdigit())


def stems_of(words: Iterable[Word]) -> frozenset[str]:
    """Return the stems of the words that carry something."""
    return frozenset(stem(w.word) for w in words if not is_stop(w.word))


def cut_sentences(text: str) -> tuple[Sentence, ...]:
    r"""Cut a text into sentences; a title on a line of its own is one.

    >>> text = "J. Doe met Dr. Who. He ran."
    >>> [text[s.start : s.end] for s in cut_sentences(text)]
    ['J. Doe met Dr. Who.', 'He ran.']
    """
    edges, start = [], 0
    for match in _END.finditer(text):
        stop = match.start()
        if text[stop] == "." and _SHORT_FORM.search(text[max(0, stop - _TAIL) : stop]):
            continue
        edges.append((start, stop + 1 if text[stop] != "\n" else stop))
        start = match.end()
    edges.append((start, len(text)))
    return tuple(_sentence(text, a, b) for a, b in edges if text[a:b].strip())


def _sentence(text: str, start: int, end: int) -> Sentence:
    words = tuple(Word(w.word, w.start + start, w.end + start) for w in words_of(text[start:end]))
    return Sentence(start, end, words, stems_of(words))


@dataclass(frozen=True, slots=True)
class Lexicon:
    """How rare each stem is among the passages at hand."""

    passages: int
    found_in: Counter[str]

    def weight(self, word: str) -> float:
        """Weigh a stem by how few passages hold it; one that none holds weighs as a rare one."""
        seen = self.found_in[word]
        return math.log(1 + (self.passages + 1) / (seen + 1))

    def share(self, wanted: Iterable[str], found: frozenset[str]) -> float:
        """Return the weighed share of the wanted stems that were found; 0 where none is wanted."""
        both = [(self.weight(w), w in found) for w in sorted(wanted)]
        total = math.fsum(weight for weight, _ in both)
        return math.fsum(weight for weight, held in both if held) / total if total else 0.0


def make_lexicon(passages: Iterable[Sequence[Sentence]]) -> Lexicon:
    """Count in how many passages each stem occurs."""
    counts: Counter[str] = Counter()
    number = 0
    for sentences in passages:
        number += 1
        counts.update(frozenset().union(*(s.stems for s in sentences)))
    return Lexicon(number, counts)
