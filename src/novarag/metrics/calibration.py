"""Does 80 % mean 80 %? Brier score and its parts, ECE three ways, and the bins they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.fft import irfft, rfft  # the same bits as scipy's, which take longer to load
from scipy.sparse import csr_array

from novarag.metrics.tally import add_up
from novarag.stats.binomial import clopper_pearson
from novarag.stats.isotonic import rising_fit

if TYPE_CHECKING:
    from novarag.metrics.tally import Tally
    from novarag.stats.arrays import Floats, Ints

BINS = 10  # of equal width, as most papers have them
_NARROWEST = 0.001  # width of a kernel, below which an error is none
_EDGE = 1e-6  # 0.7 kept as a 32-bit float must fall where 0.7 does


@dataclass(frozen=True, slots=True)
class ConfidenceBins:
    """Equal-width bins, left-closed, the last one closed; the picture and the number share them.

    `low` and `high` bound the accuracy of each bin (Clopper-Pearson, 95 %); empty bins are NaN.
    """

    edge: Floats
    count: Floats
    confidence: Floats
    accuracy: Floats
    low: Floats
    high: Floats


def bin_of(level: Floats, bins: int = BINS) -> Ints:
    """Return the bin of each confidence; every integer percent falls on the exact side.

    >>> bin_of(np.array([0.0, 0.3, 0.6, 0.7, 1.0])).tolist()
    [0, 3, 6, 7, 9]
    """
    return np.minimum((level * bins + _EDGE).astype(np.intp), bins - 1)


def pool_bins(per_level: Floats, level: Floats, bins: int = BINS) -> Floats:
    """Add up the last axis by bin; levels ascend, so a bin is a run of them."""
    edges = np.searchsorted(bin_of(level, bins), np.arange(bins + 1))
    below = np.zeros((*per_level.shape[:-1], per_level.shape[-1] + 1))
    np.cumsum(per_level, axis=-1, out=below[..., 1:])
    return np.diff(below[..., edges], axis=-1)


def make_bins(t: Tally, *, bins: int = BINS) -> ConfidenceBins:
    """Bin a tally for a reliability diagram."""
    count, right = pool_bins(t.count, t.level, bins), pool_bins(t.right, t.level, bins)
    with np.errstate(invalid="ignore"):
        confidence = pool_bins(t.count * t.level, t.level, bins) / count
        accuracy = right / count
    low, high = clopper_pearson(right, count)
    return ConfidenceBins(np.linspace(0, 1, bins + 1), count, confidence, accuracy, low, high)


def accuracy(t: Tally) -> Floats:
    """Share of answers that are right."""
    return t.rights / t.total


def mean_confidence(t: Tally) -> Floats:
    """Mean stated confidence."""
    return add_up(t.count * t.level) / t.total


def overconfidence(t: Tally) -> Floats:
    """Mean confidence minus accuracy: above zero is over-confident."""
    return mean_confidence(t) - accuracy(t)


def brier(t: Tally) -> Floats:
    """Mean squared distance between confidence and truth.

    Brier, 1950, Monthly Weather Review 78.
    """
    loss = t.right * (1 - t.level) ** 2 + t.wrong * t.level**2
    return add_up(loss) / t.total


def ece(t: Tally, *, bins: int = BINS) -> Floats:
    """Expected calibration error over equal-width bins.

    Naeini, Cooper and Hauskrecht, 2015, AAAI; Guo et al., 2017, ICML.
    """
    gap = pool_bins(t.count * t.level - t.right, t.level, bins)
    return add_up(np.abs(gap)) / t.total


def exact_ece(t: Tally) -> Floats:
    """Calibration error with every stated value its own bin."""
    return add_up(np.abs(t.count * t.level - t.right)) / t.total


def uncertainty(t: Tally) -> Floats:
    """Brier score of always stating the base rate: how hard the questions are."""
    rate = accuracy(t)
    return rate * (1 - rate)


def _recalibrated_brier(t: Tally) -> Floats:
    """Brier score after the best monotone relabelling of confidences (pool adjacent violators)."""

    def one(right: Floats, wrong: Floats) -> float:
        count = right + wrong
        used = count > 0
        n, r = count[used], right[used]
        fit = rising_fit(r / n, n)
        return float((r * (1 - fit) ** 2 + (n - r) * fit**2).sum() / n.sum())

    if t.right.ndim == 1:
        return np.asarray(one(t.right, t.wrong))
    return np.array([one(r, w) for r, w in zip(t.right, t.wrong, strict=True)])


def miscalibration(t: Tally) -> Floats:
    """The part of the Brier score that relabelling the confidences would remove.

    Dimitriadis, Gneiting and Jordan, 2021, PNAS 118; `discrimination` and `uncertainty` are the
    two other parts.
    """
    return brier(t) - _recalibrated_brier(t)


def discrimination(t: Tally) -> Floats:
    """The part of the uncertainty that the order of the confidences explains."""
    return uncertainty(t) - _recalibrated_brier(t)


def smooth_ece(t: Tally) -> Floats:
    """Calibration error under a Gaussian kernel whose width equals the error.

    Błasiok and Nakkiran, Smooth ECE, 2023.

    The integral over [0, 1] of the absolute gap, smoothed with reflection at both ends; the width
    is found by halving, to a thousandth.
    """
    right, count = np.atleast_2d(t.right), np.atleast_2d(t.count)
    gap = (count * t.level - right) / add_up(count)[:, None]
    wide, narrow = np.ones(len(gap)), np.zeros(len(gap))
    for _ in range(10):
        width = (wide + narrow) / 2
        below = (width < _NARROWEST) | (width < _smoothed(t.level, gap, width))
        narrow = np.where(below, width, narrow)
        wide = np.where(below, wide, width)
    return _smoothed(t.level, gap, wide).reshape(t.right.shape[:-1])


def _smoothed(level: Floats, gap: Floats, width: Floats) -> Floats:
    """Return the integral of the smoothed absolute gap of every replicate, each with its width.

    Reflected at both ends, a gap is an even wave of period two, and a Gaussian kernel damps each of
    its frequencies: so the kernel reaches as far as it is wide, with every image. What stands at an
    end meets its own image there and counts twice in the wave; as an end is half a cell of the
    grid, it counts once in the integral, like anything else.
    """
    out = np.empty(len(gap))
    for w in np.unique(width):
        points = max(2000, round(20 / w)) // 2 + 1
        grid = (_between(level, points).T @ gap[width == w].T).T
        grid[:, [0, -1]] *= 2
        even = np.concatenate([grid, grid[:, -2:0:-1]], axis=1)
        waves = rfft(even)
        damped = waves * np.exp(-((np.pi * w * np.arange(waves.shape[-1])) ** 2) / 2)
        blurred = np.abs(irfft(damped, even.shape[-1])[:, :points])
        out[width == w] = add_up(blurred) - (blurred[:, 0] + blurred[:, -1]) / 2
    return out


def _between(place: Floats, points: int) -> csr_array:
    """Interpolate linearly: a row per place, its two neighbours on the grid as columns."""
    at = place * (points - 1)
    left = np.clip(at.astype(np.intp), 0, points - 2)
    part = at - left
    columns = np.stack([left, left + 1], axis=1).ravel()
    weights = np.stack([1 - part, part], axis=1).ravel()
    ends = np.arange(0, 2 * place.size + 1, 2)
    return csr_array((weights, columns, ends), shape=(place.size, points))
