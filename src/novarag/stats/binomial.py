"""Exact bounds of a share, from the binomial distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from novarag.stats.resampling import interval

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats

_TAIL = 0.025  # on either side of a 95 % interval


def clopper_pearson(hits: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Return the exact 95 % bounds of each share; NaN where nothing was counted.

    Clopper and Pearson, 1934, Biometrika 26.
    """
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, betaincinv(hits, count - hits + 1, _TAIL), 0.0)
        high = np.where(hits < count, betaincinv(hits + 1, count - hits, 1 - _TAIL), 1.0)
    empty = count == 0
    low[empty] = high[empty] = np.nan
    return low, high


def share_ends(drawn: Floats, questions: int) -> tuple[float | None, float | None]:
    """Return the interval of a share; what was never seen may still be there.

    A bootstrap of nothing is nothing. Of `questions` without it, the exact upper bound is what as
    many draws miss with a chance of 2.5 %; and the same from above.
    """
    low, high = interval(drawn)
    unseen = 1 - _TAIL ** (1 / max(questions, 1))
    if high == 0:
        high = unseen
    if low == 1:
        low = 1 - unseen
    return low, high
