"""How confidences do on graded answers: the figures that a calibration carries with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.calibration import ConfidenceFigures
from novarag.metrics.calibration import brier, smooth_ece
from novarag.metrics.ranking import auroc
from novarag.metrics.tally import fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from novarag.stats.arrays import Floats


def score_confidences(
    confidence: Floats, correct: NDArray[np.bool_], weight: Floats
) -> ConfidenceFigures:
    """Score confidences; `weight` is how many answers a row stands for."""
    level, at = np.unique(confidence, return_inverse=True)
    tally = fold(level, at, correct, [weight])
    order = float(auroc(tally)[0])
    return ConfidenceFigures(
        brier=float(brier(tally)[0]),
        smooth_ece=float(smooth_ece(tally)[0]),
        auroc=None if np.isnan(order) else order,
    )
