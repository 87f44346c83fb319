"""Question-cluster bootstrap: whole questions are drawn, with every row they have.

Rows of one question stand or fall together, so they are drawn together. A replicate is a weight
per question (Efron and Tibshirani, An Introduction to the Bootstrap, 1993; chapter 13 has the
percentile interval). Replicates are made in chunks and only their figures are kept, so memory does
not grow with their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.stats.arrays import Floats

CHUNK_CELLS = 500_000
"""Weights of a chunk, or cells of its widest tally."""

BLOCK, BLOCK_CELLS = 16, 4_000_000
"""Replicates that a product of matrices wants at once, and the most cells it may take."""


def draws(questions: int, replicates: int, *, seed: int, width: int) -> Iterator[Floats]:
    """Yield chunks of replicates, each a weight per question; `width` is the widest tally."""
    rng = np.random.default_rng(seed)
    cells = max(questions, width, 1)
    most = max(CHUNK_CELLS // cells, min(BLOCK, BLOCK_CELLS // cells))
    chunk = max(1, min(replicates, most))
    for start in range(0, replicates, chunk):
        size = min(chunk, replicates - start)
        picked = rng.integers(0, questions, size=(size, questions))
        counted = np.stack([np.bincount(p, minlength=questions) for p in picked])
        yield counted.astype(np.float64, order="F")  # a question's weights stand together


def interval(values: Floats, *, confidence: float = 0.95) -> tuple[float | None, float | None]:
    """Return the percentile interval; None when too many replicates have no value."""
    known = values[~np.isnan(values)]
    # a quantile of 2.5 % of fewer than 20 values, or of what is mostly missing, means nothing
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
