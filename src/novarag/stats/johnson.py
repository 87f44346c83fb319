"""Johnson's t: a one-sided test of a mean that corrects for skew, and a guard for rare losses.

Scores of questions are skewed: most are small, a few are far off. Student's t then rejects too
often on one side and too seldom on the other. Johnson (1978) takes the skew out to first order; his
correction turns back where the skew is strong, and Hall (1992) adds the cubic that keeps it rising.

No such test sees what is not in the sample. Where scores far below 0 are rare, a sample may hold
too few of them and look as if the mean were over 0. Their count is binomial, so a second p-value
asks for the chance to see so few of them, were they as frequent as a mean of 0 takes; the larger
of both counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from novarag.stats.exact import binomial_cdf

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats

_TINY = 1e-9  # a spread below it is rounding: all scores are the same
_FAR = 0.25
"""What part of the least score counts as far below 0."""


class _Moments(NamedTuple):
    size: int
    mean: Floats
    sd: Floats
    skew: Floats


def mean_above_zero(scores: Floats, *, least: float = -1.0) -> Floats:
    """Return p-values of "the mean is at most 0" against "it is more", along the last axis.

    `least` is the least score there can be, or its mean where that differs by question.

    >>> float(mean_above_zero(np.full(50, 0.1)).round(4))
    0.0085
    >>> float(mean_above_zero(np.array([-1.0, 1.0, -1.0, 1.0])).round(4))
    0.6875
    """
    size, mean, sd, skew = _moments(scores)
    flat = sd < _TINY
    scaled = mean / np.where(flat, 1.0, sd)
    moved = scaled + skew * scaled**2 / 3 + skew**2 * scaled**3 / 27 + skew / (6 * size)
    p = np.where(flat, np.where(mean > _TINY, 0.0, 1.0), stdtr(size - 1, -moved * size**0.5))
    return np.maximum(p, _too_few_far(scores, least))


def mean_bounds(scores: Floats, *, level: float = 0.05) -> tuple[Floats, Floats]:
    """Return the ends that the mean is below, and above, with a chance of `level` each.

    They are the means that Johnson's t just does not reject, along the last axis.

    >>> [float(end.round(3)) for end in mean_bounds(np.array([0.1, 0.2, 0.3, 0.4]))]
    [0.098, 0.402]
    """
    size, mean, sd, skew = _moments(scores)
    reach = stdtrit(size - 1, 1 - level) / size**0.5
    slope = np.where(np.abs(skew) < _TINY, _TINY, skew) / 3
    ends = [
        mean - sd * (np.cbrt(1 + 3 * slope * (side * reach - skew / (6 * size))) - 1) / slope
        for side in (1, -1)
    ]
    return ends[0], ends[1]


def _moments(scores: Floats) -> _Moments:
    size = scores.shape[-1]
    mean = scores.mean(axis=-1)
    away = scores - mean[..., None]
    sd = np.sqrt((away**2).sum(axis=-1) / (size - 1))
    third = (away**3).mean(axis=-1)
    skew = np.where(sd < _TINY, 0.0, third / np.where(sd < _TINY, 1.0, sd) ** 3)
    return _Moments(size, mean, sd, skew)


def _too_few_far(scores: Floats, least: float) -> Floats:
    """Return the chance of as few scores far below 0, at the rate that a mean of 0 takes.

    Their size is the mean of those seen and of one more at the least score.
    """
    far = scores < _FAR * least
    seen = far.sum(axis=-1).astype(np.float64)
    loss = (np.where(far, scores, 0.0).sum(axis=-1) + least) / (seen + 1)
    size = np.full(seen.shape, float(scores.shape[-1]))
    gain = np.where(far, 0.0, scores).sum(axis=-1) / np.maximum(size - seen, 1.0)
    rate = np.maximum(gain, 0.0) / (np.maximum(gain, 0.0) - loss)
    return np.where(gain > 0, binomial_cdf(seen, size, rate), 1.0)
