"""What the pictures of a panel show, each in a sentence that stands over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from novarag.formatting import percent

if TYPE_CHECKING:
    from novarag.metrics import Panel


def reliability_finding(panel: Panel) -> str:
    """Say what the fullest bin of stated confidences delivers."""
    if panel.bins is None:
        return ""
    bins = panel.bins
    at = int(np.argmax(bins.count))
    share = float(bins.count[at] / np.sum(bins.count))
    low, high = 100 * bins.edge[at], 100 * bins.edge[at + 1]
    return (
        f"Where it states {low:.0f} to {high:.0f} %, {100 * bins.accuracy[at]:.0f} % are right"
        f" ({100 * share:.0f} % of the answers are there)"
    )


def risk_finding(panel: Panel) -> str:
    """Say what is gained by keeping the surer half, or what is nearest to it."""
    if panel.curve is None:
        return ""
    curve = panel.curve
    error = 1 - panel.figures["accuracy"].value
    at = int(np.argmin(np.abs(curve.coverage - 0.5)))
    if curve.coverage[at] > 0.995:
        return f"No threshold withholds a part of the answers; {100 * error:.0f} % are wrong"
    return (
        f"At {percent(curve.threshold[at])} or more {100 * curve.coverage[at]:.0f} % of the answers"
        f" are left, {100 * curve.risk[at]:.0f} % of them wrong instead of {100 * error:.0f} %"
    )
