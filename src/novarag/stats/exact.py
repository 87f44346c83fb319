"""The binomial distribution, exactly, and quantiles of the beta distribution, with nothing to load.

All follows from the incomplete beta function alone. `scipy.stats` says the same and takes a second
to import, and `scipy.special` takes 28 MB of memory, which a live answer does not have.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, lgamma, log, log1p
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


_TINY = 1e-300  # stands in for a denominator of 0, as Lentz's method asks
_SETTLED = 1e-16  # relative, below the rounding of a float
_MOST = 100_000  # steps of the fraction; it takes about the root of the counts


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the chance of at most x: the regularised incomplete beta function.

    >>> round(beta_cdf(0.5, 2, 3), 12)
    0.6875
    """
    if not 0 < x < 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction of the other side is the quick one
        return 1 - beta_cdf(1 - x, b, a)
    head = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)
    return exp(head) * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method.

    Press, Teukolsky, Vetterling and Flannery, Numerical Recipes, section 6.4.
    """
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) <= _SETTLED:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def beta_quantile(level: float, a: float, b: float) -> float:
    """Return the x that has a chance of `level` at or below it, by halves.

    >>> round(beta_quantile(0.6875, 2, 3), 12)
    0.5
    """
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if beta_cdf(middle, a, b) < level else (low, middle)
    return middle
