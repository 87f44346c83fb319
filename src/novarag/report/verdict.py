"""The verdict: may one act on these confidences as they are? Intervals decide, not values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from novarag.formatting import hundredths, percent, points, span, whole_percent

if TYPE_CHECKING:
    from novarag.metrics import CheckedThreshold, Decisions, Figure, Measurement, Panel

MARGIN = 0.05
"""How far promise and delivery may part for a confidence to be usable as it is."""

COIN = 0.5  # the AUROC of a confidence that tells nothing apart
NEAR_COIN = 0.6
"""An AUROC whose interval ends below this and holds 0.5 is as good as a coin."""

Act = Literal["no", "yes", "wait"]
"""Verdict: no, yes, undecided."""

Kind = Literal[
    "nothing",
    "backwards",
    "over",
    "under",
    "one-sided",
    "blind",
    "unsettled",
    "uneven",
    "usable",
    "compared",
    "beside",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceVerdict:
    """One line on whether to act on a confidence, its kind, and what stands behind it."""

    act: Act
    kind: Kind
    line: str
    because: str = ""


class _IntervalEnds(NamedTuple):
    low: float
    high: float

    @classmethod
    def of(cls, figure: Figure) -> _IntervalEnds | None:
        if figure.low is None or figure.high is None:
            return None
        return cls(figure.low, figure.high)


def judge(panel: Panel, decisions: Decisions | None = None) -> ConfidenceVerdict:
    """Judge one panel; with `decisions` the line names a threshold that was certified."""
    if panel.refusal:
        return ConfidenceVerdict(
            act="wait", kind="nothing", line=f"Nothing can be said yet: {panel.refusal}."
        )
    gap = panel.figures["overconfidence"]
    ends = _IntervalEnds.of(gap)
    if ends is None:
        return ConfidenceVerdict(
            act="wait", kind="nothing", line=f"Nothing can be said yet: {_said(panel)}."
        )
    for rule in (_backwards, _off, _one_sided, _blind, _wide, _uneven):
        found = rule(panel, ends)
        if found is not None:
            return found
    return _usable(panel, decisions)


def _pair(panel: Panel) -> tuple[str, str]:
    f = panel.figures
    return whole_percent(f["mean_confidence"].value), whole_percent(f["accuracy"].value)


def _said(panel: Panel) -> str:
    promised, delivered = _pair(panel)
    return f"it promises {promised}, delivers {delivered}"


def _gap(ends: _IntervalEnds) -> str:
    low, high = sorted(map(abs, ends))
    return f"{span(low, high, hundredths)} points"


def _auroc(panel: Panel) -> str:
    f = panel.figures["auroc"]
    interval = "" if f.low is None or f.high is None else f", {f.low:.2f} to {f.high:.2f}"
    return f"AUROC {f.value:.2f}{interval}"


def _backwards(panel: Panel, _: _IntervalEnds) -> ConfidenceVerdict | None:
    order = _IntervalEnds.of(panel.figures["auroc"])
    if order is None or order.high >= COIN:
        return None
    return ConfidenceVerdict(
        act="no", kind="backwards",
        line="Do not act on this confidence: it points the wrong way; wrong answers get more of it"
        " than right ones.",
        because=f"{_auroc(panel)}; {_said(panel)}.",
    )  # fmt: skip


def _off(panel: Panel, ends: _IntervalEnds) -> ConfidenceVerdict | None:
    """Promise and delivery are shown to part, and by more than the margin."""
    value = panel.figures["overconfidence"].value
    if ends.low <= 0 <= ends.high or abs(value) <= MARGIN:
        return None
    if value > 0:
        return ConfidenceVerdict(
            act="no", kind="over",
            line=f"Do not act on this confidence as it is: {_said(panel)}.",
            because=f"Over-confident by {_gap(ends)} (95 % interval); {_auroc(panel)}.",
        )  # fmt: skip
    return ConfidenceVerdict(
        act="no", kind="under",
        line=f"Do not act on this confidence as it is: it promises too little, {_pair(panel)[0]},"
        f" and delivers {_pair(panel)[1]}.",
        because=f"Under-confident by {_gap(ends)} (95 % interval); {_auroc(panel)}.",
    )  # fmt: skip


def _one_sided(panel: Panel, _: _IntervalEnds) -> ConfidenceVerdict | None:
    accuracy = panel.figures["accuracy"].value
    if 0 < accuracy < 1:
        return None
    all_of_them = "right" if accuracy == 1 else "wrong"
    return ConfidenceVerdict(
        act="wait", kind="one-sided",
        line=f"Nothing can be told apart yet: all answers were {all_of_them}.",
        because=f"{_said(panel).capitalize()}.",
    )  # fmt: skip


def _blind(panel: Panel, _: _IntervalEnds) -> ConfidenceVerdict | None:
    order = _IntervalEnds.of(panel.figures["auroc"])
    if order is not None and order.low > COIN:
        return None
    if order is not None and order.high < NEAR_COIN:
        return ConfidenceVerdict(
            act="no", kind="blind",
            line=f"Do not act on this confidence answer by answer: {_said(panel)}, but it tells"
            " right answers from wrong ones no better than a coin.",
            because=f"{_auroc(panel)}; a coin has 0.50.",
        )  # fmt: skip
    return ConfidenceVerdict(
        act="wait", kind="unsettled",
        line=f"Nothing sure can be said yet: {_said(panel)}, and whether it tells right answers"
        " from wrong ones is not shown.",
        because=f"{_auroc(panel)}; a coin has 0.50.",
    )  # fmt: skip


def _wide(panel: Panel, ends: _IntervalEnds) -> ConfidenceVerdict | None:
    """Tell that the gap may be over the margin, and about how many questions would settle it."""
    if ends.low >= -MARGIN and ends.high <= MARGIN:
        return None
    value, reach = panel.figures["overconfidence"].value, (ends.high - ends.low) / 2
    room = MARGIN - abs(value)
    more = ""
    if room > reach / 10:
        need = float(f"{panel.questions * (reach / room) ** 2:.2g}")
        more = f" About {need:,.0f} graded questions would settle it."
    return ConfidenceVerdict(
        act="wait", kind="unsettled",
        line=f"Nothing sure can be said yet: {_said(panel)}, and the gap may be"
        f" {span(ends.low, ends.high, points)} points.",
        because=f"{_auroc(panel)}.{more}",
    )  # fmt: skip


def _uneven(panel: Panel, _: _IntervalEnds) -> ConfidenceVerdict | None:
    error = panel.figures["ece"]
    if error.low is None or error.high is None or error.low <= MARGIN:
        return None
    return ConfidenceVerdict(
        act="no", kind="uneven",
        line=f"Do not act on this confidence as it is: {_said(panel)} on average, but single"
        f" confidences are off by {hundredths(error.value, decimals=0)} points.",
        because=f"Calibration error {span(error.low, error.high, hundredths)} points (95 %"
        f" interval); {_auroc(panel)}.",
    )  # fmt: skip


def _usable(panel: Panel, decisions: Decisions | None) -> ConfidenceVerdict:
    promised, delivered = _pair(panel)
    line = f"It promises {promised}, delivers {delivered}: usable as it is"
    best = strictest(decisions)
    if best is not None and best.advised is not None:
        line += f"; at {percent(best.advised)} or more, at most {percent(best.risk)} are wrong"
    return ConfidenceVerdict(act="yes", kind="usable", line=f"{line}.", because=f"{_auroc(panel)}.")


def strictest(decisions: Decisions | None) -> CheckedThreshold | None:
    """Return the threshold for the lowest risk that has one whose check did not fail."""
    found = decisions.thresholds if decisions else ()
    return next((c for c in found if c.advised is not None), None)


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
