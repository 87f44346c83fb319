"""Quantiles of the beta distribution, one at a time, with nothing but the standard library.

`scipy.special.betaincinv` says the same of arrays, and takes 28 MB of memory to load, which a
process that serves needs for nothing else.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p

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
