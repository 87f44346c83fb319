"""What one can see of passages without reading, and of the question's words in them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from novarag.grading import tokens
from novarag.noise.relations import GroupParts, pair_table, question_table, remainder_table
from novarag.taxonomy import Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from novarag.records import Passage, PassageGroup

_MARKS = {
    "double spaces": "  ", "spaces before commas": " ,", "spaces before stops": " .",
    "tokenised possessives": " '", "tokenised dashes": " - ", "straight double quotes": '"',
    "curly quotes": "\u2019", "curly double quotes": "\u201c", "backticks": "`", "brackets": "(",
    "long dashes": "\u2014", "en dashes": "\u2013", "asterisks": "*", "semicolons": ";",
    "colons": ":", "commas": ",", "stops": ".", "hyphens": "-", "apostrophes": "'", "tags": "<",
    "line breaks": "\n",
}  # fmt: skip
# What is counted in a text.
_DIGITS, _CAPITALS, _WORDS = re.compile(r"[0-9]"), re.compile(r"[A-Z]"), re.compile(r"\S+")
# Rough ends of sentences, of which only the number is a cue.
_SENTENCE = re.compile(r"[.!?](?:\s|$)")
_VOCABULARY, _RARE = 1500, 5
_PLACES = 10  # passages of a group that are looked at place by place and pair by pair


def typography_of(text: str) -> list[float]:
    """Count marks for each hundred characters of a passage, and look at its ends."""
    scale = 100 / max(len(text), 1)
    counts = [text.count(mark) * scale for mark in _MARKS.values()]
    shares = [len(kind.findall(text)) * scale for kind in (_DIGITS, _CAPITALS)]
    foreign = sum(not c.isascii() for c in text) * scale
    ends = [float(text[-1:] in {".", "!", "?"}), float(text[:1].isupper())]
    return [*counts, *shares, foreign, *ends]


TYPOGRAPHY = (
    *_MARKS,
    "digits",
    "capitals",
    "letters beyond ASCII",
    "a final stop",
    "a capital first",
)
_LENGTHS = ("words", "sentences", "letters a word")


def length_of(text: str) -> list[float]:
    """Measure a passage: words, sentences, letters a word."""
    words = _WORDS.findall(text)
    return [
        float(len(words)),
        float(len(_SENTENCE.findall(text))),
        sum(map(len, words)) / max(len(words), 1),
    ]


class GroupSurface:
    """The looks of many groups, measured once; every cue is a table of numbers with names."""

    def __init__(self, groups: Sequence[PassageGroup]) -> None:
        self.groups = groups
        self.most = min(max(len(g.passages) for g in groups), _PLACES)
        self.typography = [[typography_of(p.text) for p in g.passages] for g in groups]
        self.length = [[length_of(p.text) for p in g.passages] for g in groups]
        spelt = [[tokens(p.text) for p in g.passages] for g in groups]
        self.words = [[set(words) for words in passages] for passages in spelt]
        self.related = [
            GroupParts([p.text for p in g.passages], words)
            for g, words in zip(groups, spelt, strict=True)
        ]

    def lengths(self) -> tuple[NDArray[np.float64], list[str]]:
        """Lengths, whatever the order of the passages."""
        return _pooled(self.length, _LENGTHS)

    def typographies(self) -> tuple[NDArray[np.float64], list[str]]:
        """Typography, whatever the order of the passages."""
        return _pooled(self.typography, TYPOGRAPHY)

    def positions(self) -> tuple[NDArray[np.float64], list[str]]:
        """How each passage differs from the others of its group, place by place."""
        names = [*_LENGTHS, *TYPOGRAPHY]
        table = np.zeros((len(self.groups), self.most, len(names)))
        for row, (a, b) in enumerate(zip(self.length, self.typography, strict=True)):
            looks = np.array([[*x, *y] for x, y in zip(a, b, strict=True)])
            shown = (looks - looks.mean(axis=0))[: self.most]
            table[row, : len(shown)] = shown
        named = [f"{n} of passage {i}" for i in range(1, self.most + 1) for n in names]
        return table.reshape(len(self.groups), -1), named

    def provenances(self) -> tuple[NDArray[np.float64], list[str]]:
        """How many passages have each provenance."""
        kinds = [*Provenance, None]
        rows = [[sum(p.provenance is x for p in g.passages) for x in kinds] for g in self.groups]
        return np.array(rows, dtype=float), [f"{x or 'unknown'} passages" for x in kinds]

    def vocabulary(self) -> tuple[NDArray[np.float64], list[str]]:
        """Which words occur in how many passages of the group."""
        seen: Counter[str] = Counter()
        for passages in self.words:
            seen.update(set().union(*passages) if passages else ())
        often = sorted((-n, word) for word, n in seen.items() if n >= _RARE)
        known = [word for _, word in often[:_VOCABULARY]]
        place = {word: i for i, word in enumerate(known)}
        table = np.zeros((len(self.groups), len(known)))
        for row, passages in enumerate(self.words):
            for words in passages:
                table[row, [place[w] for w in words if w in place]] += 1
        return table, [f"the word {w!r}" for w in known]

    def togetherness(self) -> tuple[NDArray[np.float64], list[str]]:
        """How many words the passages share with each other, pair by pair, most alike first."""
        pairs = max(self.most * (self.most - 1) // 2, 1)
        table = np.zeros((len(self.groups), pairs))
        for row, passages in enumerate(self.words):
            first = passages[: self.most]
            shared = [
                len(a & b) / max(len(a | b), 1) for i, a in enumerate(first) for b in first[i + 1 :]
            ]
            table[row, : len(shared)] = sorted(shared, reverse=True)
        return table, [f"words shared by the {i}. most alike pair" for i in range(1, pairs + 1)]

    def pairs(self) -> tuple[NDArray[np.float64], list[str]]:
        """What each pair of passages shares: words, runs of words, sentences, first and last."""
        return pair_table(self.related, self.most)

    def remainders(self) -> tuple[NDArray[np.float64], list[str]]:
        """Lengths modulo small numbers."""
        return remainder_table(self.related, self.most)

    def beside_question(self) -> tuple[NDArray[np.float64], list[str]]:
        """How many of the question's words the passages hold."""
        return question_table([tokens(g.question.text) for g in self.groups], self.related)

    def everything(self) -> tuple[NDArray[np.float64], list[str]]:
        """All of it together, as seen by somebody who reads the passages but not the question."""
        parts = [cue.look(self) for cue in CUES.values() if cue.in_all]
        parts.append(self.togetherness())
        return np.hstack([table for table, _ in parts]), [n for _, names in parts for n in names]


def _pooled(
    looks: list[list[list[float]]], names: Sequence[str]
) -> tuple[NDArray[np.float64], list[str]]:
    rows = [np.array(passages) for passages in looks]
    table = np.array([np.concatenate([r.mean(0), r.min(0), r.max(0)]) for r in rows])
    return table, [f"{how} {name}" for how in ("mean", "least", "most") for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """Something to look at, as a table of numbers with names.

    `sparse`: a few of its many columns would tell, so the best are chosen before it is fitted.
    `gates`: telling groups by it is a shortcut; otherwise it is reported and nothing more.
    `evidence`: only the two kinds of groups with evidence are told apart by it.
    `in_all`: it is part of what "passages alone" sees.
    """

    look: Callable[[GroupSurface], tuple[NDArray[np.float64], list[str]]]
    sparse: bool = False
    gates: bool = True
    evidence: bool = False
    in_all: bool = False


CUES: dict[str, Cue] = {
    "position": Cue(look=GroupSurface.positions, in_all=True),
    "length": Cue(look=GroupSurface.lengths, in_all=True),
    "length modulo": Cue(look=GroupSurface.remainders, sparse=True),
    "typography": Cue(look=GroupSurface.typographies, in_all=True),
    "provenance": Cue(look=GroupSurface.provenances, in_all=True),
    "words": Cue(look=GroupSurface.vocabulary, in_all=True),
    "pairs": Cue(look=GroupSurface.pairs, sparse=True, in_all=True),
    "passages alone": Cue(look=GroupSurface.everything),
    "evidence": Cue(look=GroupSurface.beside_question, evidence=True),
    "question": Cue(look=GroupSurface.beside_question, gates=False),
}
"""Every cue by name. To add one, add a row."""


_SHARING = 30.0  # how much words shared with an anchor count beside looks


def closest(offered: Sequence[Passage], model: Passage) -> Passage:
    """Choose the passage that looks most like another, so that it does not stand out."""
    return min(offered, key=lambda p: unlike(p.text, model.text))


def apart(companions: Sequence[Passage], anchors: Sequence[Passage]) -> float:
    """Say how much companions differ in looks, and in how much each shares with its anchor."""
    shared = []
    for companion, anchor in zip(companions, anchors, strict=True):
        one, other = words_of(companion.text), words_of(anchor.text)
        shared.append(len(one & other) / max(len(one | other), 1))
    looks = sum(unlike(a.text, b.text) for a, b in combinations(companions, 2))
    return looks + _SHARING * (max(shared) - min(shared))


@lru_cache(maxsize=8192)
def words_of(text: str) -> frozenset[str]:
    """Return the different words of a text, normalised."""
    return frozenset(tokens(text))


@lru_cache(maxsize=8192)
def _looks(text: str) -> NDArray[np.float64]:
    return np.array([*length_of(text), *typography_of(text)])


def unlike(one: str, other: str) -> float:
    """Say how much two texts differ in words, sentences, letters a word and marks."""
    a, b = _looks(one), _looks(other)
    return float((np.abs(a - b) / (1 + np.abs(a) + np.abs(b))).sum())
