"""From groups to questions: what several groups of one question say is averaged."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.stats.arrays import Floats


def by_question(names: Sequence[str], values: Floats) -> dict[str, float]:
    """Average the values of groups by their question's id, without groups that have none (NaN).

    >>> by_question(["a", "a", "b", "c"], np.array([0.25, 0.75, 1.0, np.nan]))
    {'a': 0.5, 'b': 1.0}
    """
    found: dict[str, list[float]] = {}
    for name, value in zip(names, values.tolist(), strict=True):
        if not np.isnan(value):
            found.setdefault(name, []).append(value)
    return {name: fmean(held) for name, held in found.items()}
