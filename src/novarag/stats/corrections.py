"""P-values adjusted for their number."""

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
