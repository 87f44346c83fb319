"""How well scores rank one class before another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats


def separation(one: Floats, other: Floats) -> float:
    """Return how often a score of `one` is above one of `other` (AUROC); ties count one half.

    Hanley and McNeil, 1982, Radiology 143.

    >>> separation(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    ranked = np.sort(other)
    below = np.searchsorted(ranked, one, side="left") + np.searchsorted(ranked, one, side="right")
    return float(below.mean() / (2 * len(other)))
