"""Tests by ranks: do some systems get higher ratings than others, and which?

Kruskal-Wallis and Dunn take every rating for an independent one. Friedman and Wilcoxon compare
within blocks, such as questions that every system answered.

Kruskal and Wallis, 1952, JASA 47; Dunn, 1964, Technometrics 6; Friedman, 1937, JASA 32; Wilcoxon,
1945, Biometrics Bulletin 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.stats.arrays import Floats

_LEAST_FRIEDMAN = 3  # systems
_DIGITS = 9  # a mean of thirds must tie with its equal
_FEW = 13  # differences: where some tie, scipy tries every pattern of signs up to here, one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTest:
    """A statistic with its degrees of freedom and p-value; `n` is what was ranked, or blocks."""

    statistic: float
    freedom: int
    p: float
    n: int


def kruskal_wallis(samples: Sequence[Floats]) -> RankTest:
    """Test whether samples come from one distribution; NaN where every value is the same."""
    whole = np.concatenate(samples)
    freedom = len(samples) - 1
    if min(s.size for s in samples) == 0 or np.unique(whole).size == 1:
        return RankTest(statistic=np.nan, freedom=freedom, p=np.nan, n=whole.size)
    found = stats.kruskal(*samples)
    return RankTest(
        statistic=float(found.statistic), freedom=freedom, p=float(found.pvalue), n=whole.size
    )


def dunn(samples: Sequence[Floats]) -> Floats:
    """Return Dunn's two-sided p-value of each pair of samples, in the order of `combinations`.

    All samples are ranked together, and the variance is corrected for ties.
    """
    whole = np.concatenate(samples)
    ranks, n = stats.rankdata(whole), whole.size
    ties = np.unique(whole, return_counts=True)[1].astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = n * (n + 1) / 12 - (ties**3 - ties).sum() / np.float64(12 * (n - 1))
        size = np.array([s.size for s in samples], dtype=np.float64)
        sums = [part.sum() for part in np.split(ranks, np.cumsum(size).astype(int)[:-1])]
        mean = np.array(sums) / size
        apart = [
            (mean[i] - mean[j]) / np.sqrt(spread * (1 / size[i] + 1 / size[j]))
            for i, j in combinations(range(len(samples)), 2)
        ]
    return np.asarray(2 * stats.norm.sf(np.abs(apart)))


def friedman(blocks: Floats) -> RankTest | None:
    """Test whether columns differ within the rows of a table; None for fewer than three columns.

    NaN where no row tells the columns apart.
    """
    table = np.round(blocks, _DIGITS)
    n, columns = table.shape
    if columns < _LEAST_FRIEDMAN:
        return None
    if not (table != table[:, :1]).any():
        return RankTest(statistic=np.nan, freedom=columns - 1, p=np.nan, n=n)
    found = stats.friedmanchisquare(*table.T)
    return RankTest(
        statistic=float(found.statistic), freedom=columns - 1, p=float(found.pvalue), n=n
    )


def wilcoxon(blocks: Floats) -> Floats:
    """Return the signed-rank p-value of each pair of columns, in the order of `combinations`."""
    pairs = combinations(range(blocks.shape[1]), 2)
    return np.array(
        [_signed_rank(np.round(blocks[:, i] - blocks[:, j], _DIGITS)) for i, j in pairs]
    )


def _signed_rank(apart: Floats) -> float:
    sizes = np.abs(apart)
    if not sizes.any():
        return 1.0
    distinct = sizes.all() and np.unique(sizes).size == sizes.size
    if apart.size > _FEW or distinct:
        return float(stats.wilcoxon(apart).pvalue)
    return _over_all_signs(apart[apart != 0])


def _over_all_signs(apart: Floats) -> float:
    """Count the patterns of signs by their sum of ranks, twice each so that ties are whole."""
    ranks = np.rint(2 * stats.rankdata(np.abs(apart))).astype(int)
    patterns = np.ones(1)
    for rank in ranks:
        patterns = np.pad(patterns, (0, rank)) + np.pad(patterns, (rank, 0))
    at = ranks[apart > 0].sum()
    extreme = min(patterns[: at + 1].sum(), patterns[at:].sum())
    return float(min(1.0, 2 * extreme / patterns.sum()))
