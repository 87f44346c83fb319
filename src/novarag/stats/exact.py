"""The binomial distribution, exactly, from the incomplete beta function alone.

`scipy.stats` says the same and takes a second to import, which a live answer does not have.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainc, betaincinv, ndtri

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats


def binomial_cdf(hits: Floats, count: Floats, rate: Floats | float) -> Floats:
    """Return the chance of at most `hits` among `count` at a rate; counts may be fractions.

    >>> binomial_cdf(np.array([0.0, 1.0]), np.array([2.0, 2.0]), 0.5).round(9).tolist()
    [0.25, 0.75]
    """
    inside = (hits >= 0) & (hits < count)
    chance = betainc(np.where(inside, count - hits, 1.0), np.maximum(hits, 0.0) + 1, 1 - rate)
    return np.where(inside, chance, np.where(hits < 0, 0.0, 1.0))


def most_hits(count: Floats, rate: float, level: Floats | float) -> Floats:
    """Return the most hits whose chance, that many or fewer, is at most `level`; -1 for none.

    >>> most_hits(np.array([10.0, 18.0]), 0.2, 0.1).tolist()
    [-1.0, 1.0]
    """
    middle, spread = count * rate, np.sqrt(count * rate * (1 - rate))
    low = np.maximum(np.floor(middle - 8 * spread - 8), -1.0)
    low = np.where(binomial_cdf(low, count, rate) <= level, low, -1.0)
    high = np.minimum(np.floor(middle + 8 * spread + 8), np.floor(count)) + 1
    near = np.floor(middle + ndtri(level) * spread)
    tried = [near - 2, near + 2]  # the normal distribution is seldom further off; then by halves
    while (high - low > 1).any():
        at = tried.pop() if tried else np.floor((low + high) / 2)
        fits, inside = binomial_cdf(at, count, rate) <= level, (low < at) & (at < high)
        low, high = np.where(fits & inside, at, low), np.where(~fits & inside, at, high)
    return low


@lru_cache(maxsize=4096)
def least_count(hits: int, rate: float, level: float) -> int:
    """Return the least count at which `hits` or fewer have a chance of at most `level`.

    >>> least_count(0, 0.2, 0.1), least_count(1, 0.2, 0.1)
    (11, 18)
    """
    low, high = hits, hits + 1

    def fits(count: int) -> bool:
        chance = binomial_cdf(np.array([float(hits)]), np.array([float(count)]), rate)
        return bool(chance[0] <= level)

    while not fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def upper_bound(hits: float, count: float, level: float) -> float:
    """Return the rate at which `hits` or fewer among `count` have a chance of just `level`.

    One side of Clopper and Pearson, 1934, Biometrika 26.

    >>> round(upper_bound(0, 11, 0.1), 3)
    0.189
    """
    return 1.0 if hits >= count else float(betaincinv(hits + 1, count - hits, 1 - level))
