"""How much passages differ in looks and in words."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from novarag.grading import tokens
from novarag.noise.surface import length_of, typography_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from novarag.records import Passage

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
