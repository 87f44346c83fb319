"""What passages have in common: with each other, pair by pair, and with the question."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from novarag.grading import normalize
from novarag.overlap import OVERLAPS, count_words, overlap_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CueTable = tuple["NDArray[np.float64]", list[str]]

_RUN = 3  # words
_MODULI = (2, 3, 4, 5, 6, 7)
_NEAR = 5  # passages between which lengths are compared modulo a number
# Rough ends of sentences do: both passages of a pair are cut alike.
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_SHARED = (
    "words shared", f"runs of {_RUN} words shared", "sentences shared", "the same last word",
    "the same first word",
)  # fmt: skip
_UNITS = ("words", "characters")


class GroupParts:
    """The words and sentences of one group's passages, taken apart once."""

    def __init__(self, texts: Sequence[str], words: Sequence[Sequence[str]]) -> None:
        self.words = [frozenset(w) for w in words]
        self.runs = [frozenset(zip(*(w[i:] for i in range(_RUN)), strict=False)) for w in words]
        self.sentences = [frozenset(filter(None, map(normalize, _BREAK.split(t)))) for t in texts]
        self.ends = [tuple(w[-1:]) for w in words]
        self.starts = [tuple(w[:1]) for w in words]
        self.sizes = [(len(t.split()), len(t)) for t in texts]

    def shared(self, i: int, j: int) -> list[float]:
        """Say what two passages share, in the order of `_SHARED`."""
        return [
            _alike(self.words[i], self.words[j]),
            _alike(self.runs[i], self.runs[j]),
            float(len(self.sentences[i] & self.sentences[j])),
            float(self.ends[i] == self.ends[j] != ()),
            float(self.starts[i] == self.starts[j] != ()),
        ]


def _alike(one: frozenset[object], other: frozenset[object]) -> float:
    return len(one & other) / max(len(one | other), 1)


def pair_table(groups: Sequence[GroupParts], most: int) -> CueTable:
    """Lay out what each pair of the first `most` passages shares, and which pair shares most.

    Mean and most over all pairs come first: they tell where passages were shuffled.
    """
    pairs = list(combinations(range(most), 2)) or [(0, 0)]
    cells = np.zeros((len(groups), len(pairs), len(_SHARED)))
    for row, group in enumerate(groups):
        for at, (i, j) in enumerate(pairs):
            if i < j < len(group.words):
                cells[row, at] = group.shared(i, j)
    first = np.argmax(cells[:, :, :3], axis=1)[:, None, :] == np.arange(len(pairs))[:, None]
    leading = first & (cells[:, :, :3] > 0)
    parts = [cells.mean(axis=1), cells.max(axis=1), _flat(cells), _flat(leading.astype(float))]
    where = [f"passages {i + 1} and {j + 1}" for i, j in pairs]
    names = [f"{how} of {what}" for how in ("mean", "most") for what in _SHARED]
    names += [f"{what}: {pair}" for pair in where for what in _SHARED]
    names += [f"most {what}: {pair}" for pair in where for what in _SHARED[:3]]
    return np.hstack(parts), names


def remainder_table(groups: Sequence[GroupParts], most: int) -> CueTable:
    """Lay out lengths modulo small numbers: of each passage, of all, and between two.

    Every remainder is a column of its own, since a remainder is a name and no quantity.
    """
    sizes = np.zeros((len(groups), most, len(_UNITS)), dtype=np.int64)
    there = np.zeros((len(groups), most), dtype=bool)
    for row, group in enumerate(groups):
        shown = group.sizes[:most]
        sizes[row, : len(shown)], there[row, : len(shown)] = shown, True
    pairs = list(combinations(range(min(most, _NEAR)), 2))
    apart = [(sizes[:, i] - sizes[:, j], there[:, i] & there[:, j]) for i, j in pairs]
    seen = [(sizes[:, i], there[:, i]) for i in range(most)]
    total = np.array([np.sum(g.sizes, axis=0) for g in groups])
    looks = [*seen, (total, np.ones(len(groups), dtype=bool)), *apart]
    names = [f"of passage {i + 1}" for i in range(most)] + ["of all passages"]
    names += [f"between passages {i + 1} and {j + 1}" for i, j in pairs]
    columns, named = [], []
    for (values, known), name in zip(looks, names, strict=True):
        for unit, what in enumerate(_UNITS):
            for modulus in _MODULI:
                rest = values[:, unit] % modulus
                columns += [(rest == r) & known for r in range(modulus)]
                named += [f"{what} {name} modulo {modulus} is {r}" for r in range(modulus)]
    return np.array(columns, dtype=float).T, named


def question_table(questions: Sequence[Sequence[str]], groups: Sequence[GroupParts]) -> CueTable:
    """Lay out how many of the question's words passages hold."""
    seen = count_words(questions)
    rows = [overlap_of(q, group.words, seen) for q, group in zip(questions, groups, strict=True)]
    return np.array(rows), list(OVERLAPS)


def _flat(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    return cells.reshape(len(cells), -1)
