"""What is owed where many figures are looked at: adjusted p-values, intervals that hold for all.

Where many figures are looked at, the most striking one is lucky. Its luck depends on how the
figures go together, so for intervals their joint distribution is drawn: normal, with the covariance
that whole questions give them (a multiplier bootstrap: Chernozhukov, Chetverikov and Kato,
2013, Annals of Statistics 41), over a root of chi-square as few questions ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats


def holm(p_values: Floats) -> Floats:
    """Adjust p-values for their number, step-down, along the last axis.

    Holm, 1979, Scandinavian Journal of Statistics 6.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, axis=-1)
    count = p_values.shape[-1]
    steps = np.take_along_axis(p_values, order, axis=-1) * (count - np.arange(count))
    adjusted = np.empty_like(p_values)
    held = np.minimum(np.maximum.accumulate(steps, axis=-1), 1)
    np.put_along_axis(adjusted, order, held, axis=-1)
    return adjusted


def bonferroni(p_values: Floats) -> Floats:
    """Adjust p-values for their number: each times all of them, at most 1."""
    return np.minimum(p_values * p_values.size, 1)


_DRAWS = 10_000  # the level of a 95 % quantile of so many is off by .2 points


def standard_errors(influence: Floats) -> Floats:
    """Return the standard error of each figure; `influence` as in `MaxStatistic`."""
    count = len(influence)
    found = np.sqrt((influence**2).sum(axis=0) * count / (count - 1))
    return np.where(found > 1e-12, found, 0.0)


class MaxStatistic:
    """How large the largest of several standardised figures is where all are zero in truth.

    `influence` has a row for each question and a column for each figure: how far the question
    moves the figure. Its columns add up to zero.
    """

    def __init__(self, influence: Floats, *, seed: int) -> None:
        count = len(influence)
        held = influence[:, standard_errors(influence) > 0]
        unit = held / np.sqrt((held**2).sum(axis=0))
        values, axes = np.linalg.eigh(unit.T @ unit)
        rng = np.random.default_rng(seed)
        normal = rng.standard_normal((_DRAWS, len(values)))
        drawn = (normal * np.sqrt(np.clip(values, 0, None))) @ axes.T
        drawn /= np.sqrt(rng.chisquare(count - 1, size=(_DRAWS, 1)) / (count - 1))
        self._largest = np.abs(drawn).max(axis=1, initial=0.0)

    def width(self, level: float) -> float:
        """Return how many standard errors hold all figures at once, with this confidence."""
        return float(np.quantile(self._largest, level))

    def luck(self, figure: float, error: float) -> float:
        """Return how often the largest is as far from zero by chance alone."""
        seen = np.count_nonzero(self._largest * error >= abs(figure)) if figure else _DRAWS
        return float((1 + seen) / (1 + _DRAWS))
