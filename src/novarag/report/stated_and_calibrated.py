"""Stated and calibrated confidences of the same answers: one verdict on both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.report.verdict import ConfidenceVerdict, judge

if TYPE_CHECKING:
    from novarag.metrics import Measurement

BESIDE = "confidences"
"""The column that says which confidence a row has."""

STATED, CALIBRATED = "as stated", "calibrated"

_SURE = 0.05  # the usual level of a test


def is_beside(measurement: Measurement) -> bool:
    """Tell whether the two kinds of confidence are compared, and nothing else."""
    return measurement.by == (BESIDE,) and len(measurement.groups) > 1


def beside_verdict(measurement: Measurement) -> ConfidenceVerdict:
    """Judge both, and say what calibrating does to the Brier score; the calibrated one decides."""
    panels = {panel.name: panel for panel in measurement.groups}
    found = {
        name: judge(panels[name], measurement.decisions.get(name)) for name in (STATED, CALIBRATED)
    }
    said = " ".join(
        f"{name.capitalize()}: {verdict.line[0].lower()}{verdict.line[1:]}"
        for name, verdict in found.items()
    )
    return ConfidenceVerdict(
        act=found[CALIBRATED].act, kind="beside", line=said, because=_change(measurement)
    )


def _change(measurement: Measurement) -> str:
    panels = {panel.name: panel for panel in measurement.groups}
    if any(panel.refusal for panel in panels.values()):
        return ""
    before, after = (panels[name].figures["brier"].value for name in (STATED, CALIBRATED))
    p = next((d.p_holm for d in measurement.differences if d.metric == "brier"), 1.0)
    sure = "more than chance" if p < _SURE else "not shown to be more than chance"
    return f"Calibrating changes Brier from {before:.3f} to {after:.3f}, {sure}."
