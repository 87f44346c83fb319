"""Reciprocal rank fusion: several rankings into one, without comparing their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CONSTANT = 2.0
"""Added to each rank. The usual 60 lets a passage that two searches rank twentieth beat one that
the better search ranks first; `validation/fusion.py` shows what that costs."""


def fuse(rankings: Iterable[Sequence[str]], *, constant: float = CONSTANT) -> list[str]:
    """Order names by the sum of 1 / (constant + rank); of equals, the first seen comes first.

    >>> fuse([["a", "b", "c"], ["b", "d"]])
    ['b', 'a', 'd', 'c']
    """
    score: dict[str, float] = {}
    for names in rankings:
        for rank, name in enumerate(names, start=1):
            score[name] = score.get(name, 0.0) + 1 / (constant + rank)
    return sorted(score, key=score.__getitem__, reverse=True)
