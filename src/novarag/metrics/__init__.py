"""Honest measurement: every metric a function of a tally, one table of them, and `measure`."""

from __future__ import annotations

from novarag.metrics.baselines import BASELINES, EceFloor, noise_floor
from novarag.metrics.calibration import ConfidenceBins, bin_of, make_bins
from novarag.metrics.decisions import CheckedThreshold, Decisions, HalfCheck, RecalibrationGain
from novarag.metrics.measuring import measure_table
from novarag.metrics.mixing import MixedFigures, reweigh
from novarag.metrics.panels import (
    Measurement,
    PairedDifference,
    Panel,
    RiskCurve,
    UnreadBound,
    figures_frame,
)
from novarag.metrics.table import METRICS, Metric, Unit
from novarag.metrics.tally import Tally, tally
from novarag.metrics.views import LEAST_ROWS, group_name
from novarag.stats.figure import Figure

__all__ = [
    "BASELINES",
    "LEAST_ROWS",
    "METRICS",
    "CheckedThreshold",
    "ConfidenceBins",
    "Decisions",
    "EceFloor",
    "Figure",
    "HalfCheck",
    "Measurement",
    "Metric",
    "MixedFigures",
    "PairedDifference",
    "Panel",
    "RecalibrationGain",
    "RiskCurve",
    "Tally",
    "Unit",
    "UnreadBound",
    "bin_of",
    "figures_frame",
    "group_name",
    "make_bins",
    "measure_table",
    "noise_floor",
    "reweigh",
    "tally",
]
