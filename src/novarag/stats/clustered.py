"""Shares of cases that come in clusters, such as several attacks on one question.

Cases of one question are alike, so that counting each as an independent one would promise too much.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from novarag.stats.binomial import clopper_pearson
from novarag.stats.figure import Figure

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats

_UPPER = 0.975  # the upper end of an interval of 95 %


def clustered_share(hits: Floats, counts: Floats) -> Figure:
    """Return the share of hits with its 95 % interval; one entry for each cluster.

    The interval is the exact binomial one at the effective number of cases (Korn and Graubard 1998,
    Survey Methodology 24): that many independent cases would know as much as these. Where nothing,
    or everything, was a hit, each cluster counts as one case. NaN where there are no cases.

    >>> one_each = clustered_share(np.array([1.0, 0.0, 0.0]), np.ones(3))
    >>> all_alike = clustered_share(np.array([9.0, 0.0, 0.0]), 9 * np.ones(3))
    >>> round(one_each.high, 2) <= round(all_alike.high, 2)
    True
    """
    total = float(counts.sum())
    if not total:
        return Figure(math.nan, None, None, 0)
    share = float(hits.sum()) / total
    effective = np.array([_effective(hits, counts, share)])
    low, high = clopper_pearson(share * effective, effective)
    return Figure(share, float(low[0]), float(high[0]), round(total))


def _effective(hits: Floats, counts: Floats, share: float) -> float:
    """Return how many independent cases would be worth as much as these."""
    clusters, total = counts.size, float(counts.sum())
    if share in {0.0, 1.0} or clusters < 2:
        return float(clusters)
    spread = clusters / (clusters - 1) * float(((hits - share * counts) ** 2).sum()) / total**2
    if spread == 0:
        return total
    students = stdtrit(total - 1, _UPPER) / stdtrit(clusters - 1, _UPPER) if total > 2 else 1.0
    return float(min(total, max(1.0, share * (1 - share) / spread * students**2)))


def difference(one: Figure, other: Figure, correlation: float = 0.0) -> Figure:
    """Return the difference of two shares of the same cases, with its 95 % interval.

    The interval is made of those of the two shares (Zou and Donner 2008, Statistics in Medicine 27;
    with shares of pairs it is Newcombe's method 10). A negative correlation counts as none.
    """
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Figure(math.nan, None, None, 0)
    tied = min(1.0, max(0.0, correlation))
    value = one.value - other.value
    below = _reach(one.value - one.low, other.high - other.value, tied)
    above = _reach(one.high - one.value, other.value - other.low, tied)
    return Figure(value, max(-1.0, value - below), min(1.0, value + above), one.n)


def _reach(one: float, other: float, tied: float) -> float:
    return math.sqrt(max(0.0, one**2 - 2 * tied * one * other + other**2))


def correlation(one: Floats, other: Floats) -> float:
    """Return the correlation of two rows of numbers; 0 where one of them does not vary."""
    if one.size < 2 or one.std() == 0 or other.std() == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def sum_cdf(chances: Floats, most: int) -> float:
    """Return the chance that at most `most` of independent events happen, each with its own chance.

    >>> sum_cdf(np.array([0.5, 0.5]), 0), sum_cdf(np.array([1.0, 0.25]), 1)
    (0.25, 0.75)
    """
    spread = np.zeros(most + 1)
    spread[0] = 1.0
    for chance in chances:
        spread[1:] = spread[1:] * (1 - chance) + spread[:-1] * chance
        spread[0] *= 1 - chance
    return float(min(1.0, spread.sum()))
