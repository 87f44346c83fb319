"""What the pictures of a panel show, each in a sentence that stands over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from novarag.formatting import percent, span, whole_percent

if TYPE_CHECKING:
    from novarag.metrics import Panel


def reliability_finding(panel: Panel) -> str:
    """Say what the fullest bin of stated confidences delivers."""
    if panel.bins is None:
        return ""
    bins = panel.bins
    at = int(np.argmax(bins.count))
    share = float(bins.count[at] / np.sum(bins.count))
    return (
        f"Where it states {span(bins.edge[at], bins.edge[at + 1], whole_percent)},"
        f" {whole_percent(bins.accuracy[at])} are right"
        f" ({whole_percent(share)} of the answers are there)"
    )


def risk_finding(panel: Panel) -> str:
    """Say what is gained by keeping the surer half, or what is nearest to it."""
    if panel.curve is None:
        return ""
    curve = panel.curve
    error = 1 - panel.figures["accuracy"].value
    at = int(np.argmin(np.abs(curve.coverage - 0.5)))
    if curve.coverage[at] > 0.995:
        return f"No threshold withholds a part of the answers; {whole_percent(error)} are wrong"
    return (
        f"At {percent(curve.threshold[at])} or more {whole_percent(curve.coverage[at])} of the"
        f" answers are left, {whole_percent(curve.risk[at])} of them wrong instead of"
        f" {whole_percent(error)}"
    )
