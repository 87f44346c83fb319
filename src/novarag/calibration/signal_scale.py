"""Scales of signals: a signal of any unit becomes a normal score by its rank among graded rows.

What a value is in its own unit does not matter, only where it stands among the others, so that
heavy tails and odd units do no harm (van der Waerden's scores: 1952, Indagationes Mathematicae 14).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats

COARSE: Floats = np.linspace(0, 1, 21)
"""Quantiles, five percent apart, between which a signal's scale is straight."""

_TAIL: Floats = np.array([0.0, 0.005, 0.01, 0.02, 0.035])
FINE: Floats = np.concatenate([_TAIL, COARSE[1:-1], 1 - _TAIL[::-1]])
"""The same with more of them in the tails, where values may be far apart."""


class SignalScale(NamedTuple):
    """How values of a signal become normal scores: straight between knots, flat outside."""

    name: str
    values: tuple[float, ...]
    scores: tuple[float, ...]

    def one(self, value: float) -> float:
        """Return the score of one value."""
        at = bisect_left(self.values, value)
        if at in {0, len(self.values)}:
            return self.scores[max(at - 1, 0)]
        left, right = self.values[at - 1], self.values[at]
        low, high = self.scores[at - 1], self.scores[at]
        return low + (high - low) / (right - left) * (value - left)

    def many(self, values: Floats) -> Floats:
        """Return the score of each value; NaN stays NaN."""
        return np.asarray(np.interp(values, self.values, self.scores))


def learn_scale(name: str, values: Floats, rows: Floats, quantiles: Floats = COARSE) -> SignalScale:
    """Learn the scale of a signal from values, each with the number of rows that have it.

    Between `quantiles` the scale is straight.

    >>> scale = learn_scale("similarity", np.array([0.2, 0.9]), np.array([3.0, 1.0]))
    >>> round(scale.one(0.5), 3)
    0.62
    """
    from scipy.special import ndtri

    values, back = np.unique(values, return_inverse=True)
    held = np.bincount(back.ravel(), rows).astype(float)
    last = np.cumsum(held) - 1  # the rank of the last row with each value
    size = last[-1] + 1
    ranks = (quantiles * (size - 1)).round(9)  # a whole rank stays one
    knots = _ranked(ranks, values, last)
    scores = ndtri((ranks + 0.5) / size)  # normal scores, by Hazen's plotting position
    distinct, back = np.unique(knots, return_inverse=True)
    middle = np.bincount(back, scores) / np.bincount(back)
    return SignalScale(name, tuple(distinct.tolist()), tuple(middle.tolist()))


def _ranked(rank: Floats, values: Floats, last: Floats) -> Floats:
    """Return the values at some ranks, straight between whole ones; `last` is each value's last."""
    below = np.floor(rank)
    low, high = (values[np.searchsorted(last, at)] for at in (below, np.ceil(rank)))
    return np.asarray(low + (rank - below) * (high - low))
