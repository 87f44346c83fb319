"""The one thing every metric is a function of: how often each confidence was right and wrong.

A table of answers is folded once into its distinct confidence levels. Metrics then cost the number
of levels, not of rows, and a bootstrap replicate is the same levels with other weights: `right` and
`wrong` may carry leading axes, one tally per replicate, and every metric works along the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csc_array

    from novarag.stats.arrays import Floats, Ints


def add_up(values: Floats) -> Floats:
    """Sum along the last axis, one figure per replicate."""
    return np.asarray(values.sum(axis=-1), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Tally:
    """Distinct confidence levels, ascending, with the weight of right and wrong answers at each."""

    level: Floats
    right: Floats
    wrong: Floats

    @property
    def count(self) -> Floats:
        """The weight of all answers at each level."""
        return self.right + self.wrong

    @property
    def total(self) -> Floats:
        """The weight of all answers."""
        return add_up(self.count)

    @property
    def rights(self) -> Floats:
        """The weight of all right answers."""
        return add_up(self.right)

    @property
    def wrongs(self) -> Floats:
        """The weight of all wrong answers."""
        return add_up(self.wrong)


def checked(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    """Return both columns as arrays, or raise ValueError saying what is wrong with them."""
    c, raw = np.asarray(confidence, dtype=np.float64), np.asarray(correct)
    if c.shape != raw.shape or c.ndim != 1 or c.size == 0:
        raise ValueError(f"need two equal, non-empty columns; got shapes {c.shape} and {raw.shape}")
    if not ((c >= 0) & (c <= 1)).all():
        raise ValueError("confidence must lie in [0, 1]; divide percents by 100, drop unread rows")
    y = raw.astype(bool)
    if raw.dtype != np.bool_ and not np.array_equal(y, raw):
        raise ValueError("correct must be true/false or 1/0")
    return c, y


def tally(confidence: ArrayLike, correct: ArrayLike) -> Tally:
    """Fold confidences and correctness into a tally.

    >>> tally([0.9, 0.5, 0.9], [True, False, False])
    Tally(level=array([0.5, 0.9]), right=array([0., 1.]), wrong=array([1., 1.]))
    """
    c, y = checked(confidence, correct)
    level, at = np.unique(c, return_inverse=True)
    return fold(level, at, y)


def fold(
    level: Floats,
    at: Ints,
    correct: NDArray[np.bool_],
    weights: Iterable[Floats] | None = None,
) -> Tally:
    """Fold rows whose level index is known; `weights` gives the rows' weights per replicate."""
    code, size = 2 * at + correct, 2 * level.size
    if weights is None:
        both = np.bincount(code, minlength=size).astype(np.float64)
    else:
        both = np.stack([np.bincount(code, w, size) for w in weights])
    return Tally(level, both[..., 1::2], both[..., 0::2])


@dataclass(frozen=True)
class GradedRows:
    """Read and graded rows: the level and the question of each, and whether it is right."""

    level: Floats
    at: Ints
    correct: NDArray[np.bool_]
    question: Ints

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.at.size

    def pick(self, mask: NDArray[np.bool_]) -> GradedRows:
        """Keep the rows under a mask, and only the levels they use."""
        level, at = np.unique(self.at[mask], return_inverse=True)
        return GradedRows(self.level[level], at, self.correct[mask], self.question[mask])

    def tally(self, weights: Floats | None = None) -> Tally:
        """Fold the rows; `weights` has one row of question weights per replicate."""
        if weights is None:
            return fold(self.level, self.at, self.correct)
        questions, counts = self._counts
        drawn = weights.T if questions.size == weights.shape[1] else weights.T[questions]
        both = np.ascontiguousarray((counts @ drawn).T)
        return Tally(self.level, both[..., 1::2], both[..., 0::2])

    @cached_property
    def _counts(self) -> tuple[Ints, csc_array]:
        """The questions of these rows, and how often each has every level, wrong and right.

        A replicate weighs questions, so its tally is this sparse matrix times its weights: counts
        are whole numbers, which add up to the same in any order.
        """
        questions, column = np.unique(self.question, return_inverse=True)
        cells = (2 * self.at + self.correct, column)
        shape = (2 * self.level.size, questions.size)
        return questions, coo_array((np.ones(self.size), cells), shape=shape).tocsc()


def make_rows(confidence: Floats, correct: NDArray[np.bool_], question: Ints) -> GradedRows:
    """Index rows by their distinct confidence levels."""
    level, at = np.unique(confidence, return_inverse=True)
    return GradedRows(level, at, correct, question)
