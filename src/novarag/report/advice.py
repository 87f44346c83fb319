"""What to do with these confidences, in words: thresholds, and what a calibration would change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.formatting import fixed_percent, hundredths, percent
from novarag.records import TOLERANCE
from novarag.report.words import span

if TYPE_CHECKING:
    from novarag.metrics import CheckedThreshold, Decisions, Panel, RecalibrationGain

SHOWN = (50, 60, 70, 80, 90, 95, 99, 100)
"""Thresholds in percent that are shown without a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowReach:
    """How many graded answers are at or above each whole percent, and how many are wrong."""

    answers: int
    kept: tuple[int, ...]
    wrong: tuple[int, ...]
    start: int


def reach(panel: Panel, decisions: Decisions | None = None) -> RowReach | None:
    """Count graded answers at or above each whole percent; unread ones are in `answers` alone."""
    if panel.curve is None:
        return None
    curve, read = panel.curve, panel.figures["accuracy"].n
    last = np.searchsorted(-curve.threshold, -(np.arange(101) / 100 - TOLERANCE), side="right")
    kept = np.rint(np.append(0.0, curve.coverage)[last] * read).astype(int)
    wrong = np.rint(np.append(0.0, curve.risk)[last] * kept).astype(int)
    return RowReach(
        answers=read + panel.unread_graded,
        kept=tuple(kept.tolist()),
        wrong=tuple(wrong.tolist()),
        start=_start(decisions),
    )


def _start(decisions: Decisions | None) -> int:
    """Begin at the threshold for one in ten, or the nearest risk that has one."""
    found = [c for c in decisions.thresholds if c.advised is not None] if decisions else []
    if not found:
        return 90
    nearest = min(found, key=lambda c: abs(c.risk - 0.1))
    return int(np.ceil(100 * (nearest.advised or 0.0) - 1e-9))


def reach_text(counts: RowReach, at: int) -> str:
    """Say what a threshold keeps and how much of it is wrong, as the slider does."""
    kept, wrong = counts.kept[at], counts.wrong[at]
    if not kept:
        return f"At {at} % or more: no answer."
    return (
        f"At {at} % or more: {kept:,} of {counts.answers:,} answers"
        f" ({part(kept, counts.answers)} %), {wrong:,} of them wrong ({part(wrong, kept)} %)."
    )


def part(count: int, of: int) -> str:
    """Write a share in percent; halves go up, as they do in the script.

    >>> part(45, 400)
    '11.3'
    """
    return hundredths(count / of + 1e-11)


def threshold_text(checked: CheckedThreshold) -> str:
    """Say what to do for one risk, in a sentence or two."""
    risk = percent(checked.risk)
    if checked.threshold is None:
        return f"At most {risk} wrong: not attainable with these rows; {need_text(checked)}."
    if checked.failed:
        return (
            f"At most {risk} wrong: no threshold to advise. A gate on all of these rows would be"
            f" set at {percent(checked.threshold)} or more, but a check failed:"
            f" {half_text(checked)}"
        )
    return (
        f"At most {risk} wrong: answer at {percent(checked.threshold)} or more, which keeps"
        f" {fixed_percent(checked.kept)} of the answers. {CHECKED[checked.half is not None]}"
        f"{half_text(checked)}"
    )


CHECKED = {
    True: "Checked: ",
    False: "Not checked: half of the questions are too few to choose a threshold by.",
}


def half_text(checked: CheckedThreshold) -> str:
    """Say what a threshold that half of the questions chose let through of the other half."""
    half = checked.half
    if half is None:
        return ""
    same = checked.threshold is not None and abs(half.threshold - checked.threshold) < TOLERANCE
    chose = "the same threshold" if same else f"{percent(half.threshold)} or more"
    lead = f"one half of the questions chose {chose}; of the other half"
    if half.error is None:
        return f"{lead}, no answer is stated at {percent(half.at)} or more."
    return (
        f"{lead}, {fixed_percent(half.error.value)} of the answers stated at {percent(half.at)} or"
        f" more are wrong (95 % interval {span('accuracy', half.error)})."
    )


def gate_text(decisions: Decisions) -> str:
    """Say what the thresholds are, so that nobody wonders why a gate has others."""
    return (
        "These are the thresholds of a gate on the same rows, with"
        f" {percent(decisions.confidence_level)} probability and one row a question; a gate"
        " that is to be surer, or that goes by calibrated confidences, has others."
    )


def need_text(checked: CheckedThreshold) -> str:
    """Say about how many graded questions a risk would take."""
    if checked.need is None:
        return "no number of such rows is likely to do"
    return f"about {checked.need:,} graded questions would do"


def need_short(checked: CheckedThreshold) -> str:
    """Say the same where there is little room."""
    if checked.need is None:
        return "more grades would not help"
    return f"about {checked.need:,} would do"


def calibration_text(found: RecalibrationGain) -> str:
    """Say what a calibration would change, by its interval."""
    low, high = found.gain.low, found.gain.high
    if low is not None and low > 0:
        how = "would help"
    elif high is not None and high < 0:
        how = "would do harm"
    else:
        how = "is not shown to change much"
    return (
        f"A calibration {how}: on questions it was not fitted on, Brier {found.before:.3f} becomes"
        f" {found.after:.3f} (gain {found.gain.value:+.3f}, 95 % interval {low:+.3f} to"
        f" {high:+.3f}; {found.questions:,} questions, cross-fitted)."
    )


def advice_lines(decisions: Decisions, *, alone: bool = True) -> list[str]:
    """Say what to do, a sentence for each risk and one for a calibration.

    What kind of thresholds they are is said with them where they stand `alone`.
    """
    lines = [threshold_text(checked) for checked in decisions.thresholds]
    if alone and any(checked.threshold is not None for checked in decisions.thresholds):
        lines.append(gate_text(decisions))
    if decisions.recalibrated is not None:
        lines.append(calibration_text(decisions.recalibrated))
    return lines
