"""Johnson's t: a one-sided test of a mean that corrects for skew, in Hall's monotone form.

Scores of questions are skewed: most are small, a few are far off. Student's t then rejects too
often on one side and too seldom on the other. Johnson (1978) takes the skew out to first order; his
correction turns back where the skew is strong, and Hall (1992) adds the cubic that keeps it rising.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats

_TINY = 1e-9


class _Moments(NamedTuple):
    count: int
    mean: Floats
    sd: Floats
    skew: Floats


def mean_above_zero(scores: Floats, *, least: float = -1.0) -> Floats:
    """Return p-values of "the mean is at most 0" against "it is more", along the last axis.

    `least` is the least score there can be. Where all that was seen is over 0, scores below it may
    have been missed: then p is at least the chance to miss them all at a mean of 0.

    >>> float(mean_above_zero(np.full(50, 0.1)).round(4))
    0.0085
    >>> float(mean_above_zero(np.array([-1.0, 1.0, -1.0, 1.0])).round(4))
    0.5
    """
    count, mean, sd, skew = _moments(scores)
    flat = sd < _TINY
    scaled = np.where(flat, 0.0, mean / np.where(flat, 1.0, sd))
    moved = scaled + skew * scaled**2 / 3 + skew**2 * scaled**3 / 27 + skew / (6 * count)
    p = np.where(flat, np.where(mean > _TINY, 0.0, 1.0), stdtr(count - 1, -moved * count**0.5))
    missed = (-least / (-least + np.maximum(mean, 0.0))) ** count
    return np.where(scores.min(axis=-1) > 0, np.maximum(p, missed), p)


def mean_bounds(scores: Floats, *, level: float = 0.05) -> tuple[Floats, Floats]:
    """Return the ends that the mean is below, and above, with a chance of `level` each.

    They are the means that the test just does not reject, along the last axis.

    >>> [float(end.round(3)) for end in mean_bounds(np.array([0.1, 0.2, 0.3, 0.4]))]
    [0.098, 0.402]
    """
    count, mean, sd, skew = _moments(scores)
    reach = stdtrit(count - 1, 1 - level) / count**0.5
    slope = np.where(np.abs(skew) < _TINY, _TINY, skew) / 3
    ends = [
        mean - sd * (np.cbrt(1 + 3 * slope * (side * reach - skew / (6 * count))) - 1) / slope
        for side in (1, -1)
    ]
    return ends[0], ends[1]


def _moments(scores: Floats) -> _Moments:
    count = scores.shape[-1]
    mean = scores.mean(axis=-1)
    away = scores - mean[..., None]
    sd = np.sqrt((away**2).sum(axis=-1) / (count - 1))
    third = (away**3).mean(axis=-1)
    skew = np.where(sd < _TINY, 0.0, third / np.where(sd < _TINY, 1.0, sd) ** 3)
    return _Moments(count, mean, sd, skew)
