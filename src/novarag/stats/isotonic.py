"""The best monotone curve through points: pool adjacent violators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats


def rising_fit(values: Floats, weights: Floats) -> Floats:
    """Return the values that never fall and lie nearest to those given, by weighted squares.

    >>> rising_fit(np.array([0.0, 0.6, 0.2]), np.array([1.0, 1.0, 3.0])).round(6).tolist()
    [0.0, 0.3, 0.3]
    """
    return np.asarray(isotonic_regression(values, weights=weights).x)
