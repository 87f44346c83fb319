"""Question-cluster bootstrap: whole questions are drawn, with every row they have.

Rows of one question stand or fall together, so they are drawn together. A replicate is a weight
per question; replicates are made in chunks and only their figures are kept, so memory does not
grow with their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.metrics.tally import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from novarag.metrics.tally import Floats, Ints, Tally

CHUNK_CELLS = 500_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Read and graded rows: the level and the question of each, and whether it is right."""

    level: Floats
    at: Ints
    correct: NDArray[np.bool_]
    question: Ints

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.at.size

    def pick(self, mask: NDArray[np.bool_]) -> Rows:
        """Keep the rows under a mask, and only the levels they use."""
        level, at = np.unique(self.at[mask], return_inverse=True)
        return Rows(self.level[level], at, self.correct[mask], self.question[mask])

    def tally(self, weights: Floats | None = None) -> Tally:
        """Fold the rows; `weights` has one row of question weights per replicate."""
        by_row = None if weights is None else (w[self.question] for w in weights)
        return fold(self.level, self.at, self.correct, by_row)


def make_rows(confidence: Floats, correct: NDArray[np.bool_], question: Ints) -> Rows:
    """Index rows by their distinct confidence levels."""
    level, at = np.unique(confidence, return_inverse=True)
    return Rows(level, at, correct, question)


def draws(questions: int, replicates: int, *, seed: int, width: int) -> Iterator[Floats]:
    """Yield chunks of replicates, each a weight per question; `width` is the widest tally."""
    rng = np.random.default_rng(seed)
    chunk = max(1, min(replicates, CHUNK_CELLS // max(questions, width, 1)))
    for start in range(0, replicates, chunk):
        size = min(chunk, replicates - start)
        picked = rng.integers(0, questions, size=(size, questions))
        yield np.stack([np.bincount(p, minlength=questions) for p in picked]).astype(np.float64)


def interval(values: Floats, *, confidence: float = 0.95) -> tuple[float | None, float | None]:
    """Return the percentile interval; None when too many replicates have no value."""
    known = values[~np.isnan(values)]
    if known.size < max(20, 0.9 * values.size):
        return None, None
    tail = (1 - confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)


def inflated_interval(value: float, values: Floats) -> tuple[float | None, float | None]:
    """Return the interval of a figure that noise can only raise, such as a calibration error.

    Resampling raises it once more, so the percentile interval sits too high. Its lower end is
    mirrored about the value, which takes the bias back; the upper end is kept.
    """
    low, high = interval(values)
    if low is None or high is None:
        return None, None
    return max(0.0, min(low, 2 * value - high)), high


def holm(p_values: Floats) -> Floats:
    """Adjust p-values for their number, step-down (Holm).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    steps = p_values[order] * (p_values.size - np.arange(p_values.size))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
