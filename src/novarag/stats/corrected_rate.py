"""The rate of wrong answers from a judge's marks on many rows and people's labels on few.

Power-tuned prediction-powered inference (Angelopoulos, Duchi and Zrnic, 2023, PPI++, arXiv
2311.01453): the mean of the labels, corrected by how far the judge's mean on the labelled rows lies
from its mean on all rows, times a weight from the data. Labels of one source stand together, so
that every variance is one of clusters (Cochran, 1977, Sampling Techniques, chapter 6 on ratios).

With a weight of 0 the result is that of the labels alone. A weight that is estimated from few
sources adds noise of its own; where the labels do not show that the judge goes with them, it is
shrunk to 0, so that a judge who knows nothing costs next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats, Ints

_TAIL = 0.025  # of a 95 % interval
_LEAST_LEFT = 0.1  # of a cluster's residual, where the weight hangs on that cluster alone
_NOISE = 2.0  # of an F statistic: what chance alone gives it, and a margin of as much


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """A rate with its 95 % interval, beside that of the labels alone.

    `weight` is what the judge counts, from 0 (nothing) up; `saved` is the share of labels that the
    judge saves: with so many fewer of them the interval would be as wide as from labels alone.
    """

    rate: float
    low: float
    high: float
    labels_alone: float
    alone_low: float
    alone_high: float
    judged: float
    weight: float
    rows: int
    labelled: int
    clusters: int  # with labels

    @property
    def saved(self) -> float:
        """The share of labels that the judge saves; 0 where it saves none."""
        alone = self.alone_high - self.alone_low
        return max(0.0, 1 - ((self.high - self.low) / alone) ** 2) if alone > 0 else 0.0


def correct_rate(
    judged: Floats, label: Floats, cluster: Ints, *, weight: float | None = None
) -> CorrectedRate:
    """Estimate the mean of the labels over all rows.

    Args:
        judged: The judge's mark of each row, such as 1 for wrong.
        label: What people say of each row, on the same scale; NaN where nobody has labelled it.
        cluster: Numbers of the sources. The labelled ones are drawn among all at random, each with
            all of its rows.
        weight: What the judge counts, in place of a weight from the data.

    Returns:
        The rate, with the interval of Student's t with one degree of freedom less than there are
        labelled clusters.

    Example:
        >>> judged = np.tile([1.0, 0.0, 0.0, 0.0], 50)
        >>> label = np.where(np.arange(200) < 80, judged, np.nan)
        >>> label[4:12] = [0, 0, 0, 0, 1, 1, 0, 0]  # people overrule it twice
        >>> found = correct_rate(judged, label, np.arange(200) // 2)
        >>> f"{found.rate:.4f}; {found.labels_alone:.4f} from labels alone; {found.saved:.0%} saved"
        '0.2500; 0.2500 from labels alone; 50% saved'
    """
    known = ~np.isnan(label)
    held = _ClusterSums.of(judged[known], label[known], cluster[known])
    if held.rows.size < 2:
        raise ValueError("labels of two clusters are the least that an interval can be made of")
    whole = _ClusterSums.of(judged, judged, cluster)
    mean = float(held.labels.sum() / held.rows.sum())
    own = float(held.judged.sum() / held.rows.sum())
    everywhere = float(whole.judged.sum() / whole.rows.sum())
    label_part = (held.labels - mean * held.rows) / held.rows.mean()
    judge_part = (held.judged - own * held.rows) / held.rows.mean()
    if weight is None:
        weight = _weight(label_part, judge_part)
    far = (whole.judged - everywhere * whole.rows) / whole.rows.mean()
    rate = mean + weight * (everywhere - own)
    reach = _t(held.rows.size - 1) * sqrt(_variance(label_part, judge_part, far, weight))
    alone = _t(held.rows.size - 1) * sqrt(_variance(label_part, judge_part, far, 0.0))
    return CorrectedRate(
        rate=rate,
        low=rate - reach,
        high=rate + reach,
        labels_alone=mean,
        alone_low=mean - alone,
        alone_high=mean + alone,
        judged=everywhere,
        weight=weight,
        rows=judged.size,
        labelled=int(known.sum()),
        clusters=held.rows.size,
    )


def share_saved(rows: Floats, judged: Floats, labels: Floats) -> float:
    """Return the share of labels that a judge saves if it marks very many rows; 0 for none.

    Args:
        rows: How many rows each labelled cluster has.
        judged: The sum of the judge's marks in each.
        labels: The sum of people's labels in each.

    Example:
        >>> ones = np.ones(40)
        >>> share_saved(ones, np.arange(40) % 2.0, np.arange(40) % 2.0)
        1.0
        >>> share_saved(ones, np.arange(40) % 2.0, np.arange(40) // 2 % 2.0)
        0.0
    """
    label = (labels - labels.sum() / rows.sum() * rows) / rows.mean()
    judge = (judged - judged.sum() / rows.sum() * rows) / rows.mean()
    alone = _variance(label, judge, judge[:0], 0.0)
    beside = _variance(label, judge, judge[:0], _weight(label, judge))
    return max(0.0, 1 - beside / alone) if alone > 0 else 0.0


@dataclass(frozen=True, slots=True)
class _ClusterSums:
    """Sums over the rows of each cluster: how many, the judge's marks, the labels."""

    rows: Floats
    judged: Floats
    labels: Floats

    @classmethod
    def of(cls, judged: Floats, label: Floats, cluster: Ints) -> _ClusterSums:
        at = np.unique(cluster, return_inverse=True)[1].ravel()
        sums = (np.bincount(at, of) for of in (np.ones(at.size), judged, label))
        return cls(*(one.astype(np.float64) for one in sums))


def _weight(label: Floats, judge: Floats) -> float:
    """Return the slope of labels on marks over clusters, shrunk by how well it is shown."""
    square = float(judge @ judge)
    freedom = label.size - 2
    if square == 0 or freedom < 1:
        return 0.0
    slope = float(label @ judge) / square
    left = float(((label - slope * judge) ** 2).sum()) / freedom
    shown = slope**2 * square / left if left > 0 else inf
    return slope * max(0.0, 1 - _NOISE / shown) if shown > 0 else 0.0


def _variance(label: Floats, judge: Floats, far: Floats, weight: float) -> float:
    """Return the variance of labels + weight * (all marks - marks beside labels).

    What is left of the labels comes from the labelled clusters, the rest from all: the two go
    together as far as what is left goes with the marks.
    """
    few, many = label.size, far.size
    rest = label - weight * judge
    if weight and (square := float(judge @ judge)) > 0:
        # the weight was fitted to these very clusters (HC3: MacKinnon and White, 1985)
        rest = rest / np.maximum(1 - judge**2 / square, _LEAST_LEFT)
    left = float(rest @ rest) / (few - 1) / few
    if not many:  # marks without end: their own mean is known
        return max(0.0, left)
    spread = weight**2 * float(far @ far) / (many - 1) / many if many > 1 else 0.0
    both = 2 * weight * float(rest @ judge) / (few - 1) / many
    return max(0.0, left + spread + both)


def _t(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(-stdtrit(freedom, _TAIL))
