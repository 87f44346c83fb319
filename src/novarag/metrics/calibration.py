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

BINS = 10
_EDGE = 1e-6  # 0.7 kept as a 32-bit float must fall where 0.7 does


@dataclass(frozen=True, slots=True)
class Bins:
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


def make_bins(t: Tally, *, bins: int = BINS) -> Bins:
    """Bin a tally for a reliability diagram."""
    count, right = pool_bins(t.count, t.level, bins), pool_bins(t.right, t.level, bins)
    with np.errstate(invalid="ignore"):
        confidence = pool_bins(t.count * t.level, t.level, bins) / count
        accuracy = right / count
    low, high = clopper_pearson(right, count)
    return Bins(np.linspace(0, 1, bins + 1), count, confidence, accuracy, low, high)


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
    """Mean squared distance between confidence and truth."""
    loss = t.right * (1 - t.level) ** 2 + t.wrong * t.level**2
    return add_up(loss) / t.total


def ece(t: Tally, *, bins: int = BINS) -> Floats:
    """Expected calibration error over equal-width bins."""
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
    """The part of the Brier score that relabelling the confidences would remove."""
    return brier(t) - _recalibrated_brier(t)


def discrimination(t: Tally) -> Floats:
    """The part of the uncertainty that the order of the confidences explains."""
    return uncertainty(t) - _recalibrated_brier(t)


def smooth_ece(t: Tally) -> Floats:
    """Calibration error under a Gaussian kernel whose width equals the error (Błasiok-Nakkiran).

    The mesh and the search are those of the authors' package, so that figures can be compared.
    """
    right, count = np.atleast_2d(t.right), np.atleast_2d(t.count)
    lines = np.stack([count * t.level - right, count], axis=1)
    wide, narrow = np.ones(len(lines)), np.zeros(len(lines))
    open_ = _smoothed_gap(t.level, lines, wide) <= wide
    for _ in range(10):
        width = np.where(open_, (wide + narrow) / 2, wide)
        below = (width < 0.001) | (width < _smoothed_gap(t.level, lines, width))
        narrow = np.where(open_ & below, width, narrow)
        wide = np.where(open_ & ~below, width, wide)
    return _smoothed_gap(t.level, lines, wide).reshape(t.right.shape[:-1])


def _smoothed_gap(level: Floats, lines: Floats, width: Floats) -> Floats:
    """Smooth the gap and the density of every replicate, each with its own width."""
    out = np.empty(len(lines))
    for w in np.unique(width):
        mesh = np.linspace(0, 1, max(round(10 / w), 200))
        smoothed = _smooth(level, lines[width == w], float(w), mesh)
        gap, density = smoothed[:, 0], smoothed[:, 1] + 1e-4
        out[width == w] = add_up(np.abs(gap)) / add_up(density)
    return out


def _smooth(level: Floats, lines: Floats, width: float, mesh: Floats) -> Floats:
    """Spread lines over a grid, blur it with reflection at both ends, read it at the mesh.

    The reflected grid is one period of an even wave, so blurring is a product of transforms.
    """
    points = max(2000, round(20 / width)) // 2 + 1
    offset = np.linspace(0, 1, points) - 0.5
    kernel = np.exp(-(offset**2) / (2 * width**2)) / (np.sqrt(2 * np.pi) * width)
    period = 2 * (points - 1)
    wave = np.roll(np.pad(kernel, (0, period - points)), -(points // 2))
    grid = (_between(level, points).T @ lines.reshape(-1, level.size).T).T
    even = np.concatenate([grid, grid[:, -2:0:-1]], axis=1)
    blurred = irfft(rfft(even) * rfft(wave), period)[:, :points]
    return (_between(mesh, points) @ blurred.T).T.reshape(*lines.shape[:-1], mesh.size)


def _between(place: Floats, points: int) -> csr_array:
    """Interpolate linearly: a row per place, its two neighbours on the grid as columns."""
    at = place * (points - 1)
    left = np.clip(at.astype(np.intp), 0, points - 2)
    part = at - left
    columns = np.stack([left, left + 1], axis=1).ravel()
    weights = np.stack([1 - part, part], axis=1).ravel()
    ends = np.arange(0, 2 * place.size + 1, 2)
    return csr_array((weights, columns, ends), shape=(place.size, points))
