"""Question-cluster bootstrap: whole questions are drawn, with every row they have.

Rows of one question stand or fall together, so they are drawn together. A replicate is a weight
per question; replicates are made in chunks and only their figures are kept, so memory does not
grow with their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.stats.arrays import Floats

CHUNK_CELLS = 500_000


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
