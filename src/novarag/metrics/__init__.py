"""Honest measurement: every metric a function of a tally, one table of them, and `measure`."""

from __future__ import annotations

from novarag.metrics.baselines import BASELINES, Floor, noise_floor
from novarag.metrics.calibration import Bins, bin_of, make_bins
from novarag.metrics.decisions import Checked, Decisions, HalfCheck, Recalibrated
from novarag.metrics.frames import figures_frame
from novarag.metrics.measuring import measure_table
from novarag.metrics.mixing import Mixed, reweigh
from novarag.metrics.panels import Bound, Curve, Difference, Measurement, Panel
from novarag.metrics.table import METRICS, Metric, Unit
from novarag.metrics.tally import Tally, tally
from novarag.metrics.views import LEAST_ROWS, group_name
from novarag.stats.figure import Figure

__all__ = [
    "BASELINES",
    "LEAST_ROWS",
    "METRICS",
    "Bins",
    "Bound",
    "Checked",
    "Curve",
    "Decisions",
    "Difference",
    "Figure",
    "Floor",
    "HalfCheck",
    "Measurement",
    "Metric",
    "Mixed",
    "Panel",
    "Recalibrated",
    "Tally",
    "Unit",
    "bin_of",
    "figures_frame",
    "group_name",
    "make_bins",
    "measure_table",
    "noise_floor",
    "reweigh",
    "tally",
]
