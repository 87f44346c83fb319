"""A page on a calibration: what it does to each stated confidence, over the graded answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from novarag.atomic import write_whole
from novarag.calibration.calibration import STATED_BESIDE
from novarag.calibration.fused_rows import fuse_rows
from novarag.calibration.graded_answers import UNKNOWN
from novarag.formatting import fixed_percent, hundredths, whole_percent
from novarag.report.fusion import fusion_notes, shown_name, way_of
from novarag.report.svg import PlotArea, axes, path_through, svg, tag, with_title
from novarag.report.templating import render_page
from novarag.report.words import graded_text, ungraded_text
from novarag.stats.binomial import clopper_pearson

if TYPE_CHECKING:
    from pathlib import Path

    from markupsafe import Markup

    from novarag.calibration.calibration import (
        Calibration,
        ConfidenceFigures,
        FitRecord,
        ObservedRange,
    )
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.calibration.signal_fusion import SignalGain
    from novarag.stats.arrays import Floats

TITLE = "What the calibration does"
FEW = 100
"""Graded questions below which the width of the intervals is said first."""

_ASKED = np.linspace(0, 1, 101)
_BINS = 10  # tens of percent
SHOWN_CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""Stated confidences that a table says the worth of."""

_SAME = 0.002  # a change of Brier that is none
_STRAYS = 0.35  # size of level effects, in log-odds, from which they are spoken of


def calibration_notes(calibration: Calibration) -> list[str]:
    """Say in plain sentences what was fitted, what it gains, and what to mind."""
    fitted = _fitted(calibration)
    lines = [_what(calibration, fitted), _gain(fitted)]
    if calibration.fusion is not None:
        lines += fusion_notes(calibration.fusion)
    if fitted.questions < FEW:
        width = hundredths(_width(calibration), decimals=0)
        left = whole_percent(calibration.identity)
        stays = f", and leaving confidences as they are still has a weight of {left}"
        lines.append(
            f"With {fitted.questions} graded questions intervals are wide ({width} points on"
            f" average){'' if calibration.fusion else stays}. Grade about {FEW} to narrow them."
        )
    if fitted.design_effect > 1:
        lines.append(
            "Several rows belong to one question and depend on each other: each counts as"
            f" {whole_percent(1 / fitted.design_effect)} of a row whose question stands alone."
        )
    if calibration.unseen_variance**0.5 > _STRAYS:
        lines.append(
            "Single stated values part from the line by more than usual: some percentages mean"
            " less, or more, than their neighbours. Intervals are wider for it."
        )
    if fitted.unread:
        said = "reply could" if fitted.unread == 1 else "replies could"
        lines.append(
            f"{fitted.unread:,} {said} not be read and taught it nothing."
            f"{graded_text(fitted.unread, fitted.unread_graded)}"
        )
    if fitted.ungraded:
        lines.append(ungraded_text(fitted.ungraded))
    return [*lines, *fitted.remarks, _source(calibration)]


class CalibrationVerdict(NamedTuple):
    """What stands first on the page: whether to use the calibration."""

    act: str
    word: str
    line: str


def calibration_verdict(fitted: FitRecord) -> CalibrationVerdict:
    """Say whether the calibration beats the stated confidences on questions it has not seen."""
    than = "as stated" if fitted.beside == STATED_BESIDE else "a constant"
    change = fitted.stated.brier - fitted.calibrated.brier
    scores = f"Brier {fitted.stated.brier:.3f} becomes {fitted.calibrated.brier:.3f}"
    if change > _SAME:
        return CalibrationVerdict(
            "yes", f"Better than {than}", f"Use it: on questions not seen, {scores}."
        )
    if change < -_SAME:
        return CalibrationVerdict(
            "no", f"Worse than {than}", f"Do not use it: on questions not seen, {scores}."
        )
    return CalibrationVerdict(
        "wait", "No difference shown", f"It changes little: on questions not seen, {scores}."
    )


def state_finding(calibration: Calibration, state: str) -> str:
    """Say what the middle of the stated confidences of a state becomes."""
    seen = calibration.seen[state]
    stated = round((seen.least + seen.most) / 2, 2)
    made = calibration.one(stated, state or None)
    said = "stated" if calibration.fusion is None else "fused"
    return (
        f"{(state or 'Any state').capitalize()}: {said} {whole_percent(stated)}, right about"
        f" {whole_percent(made.probability)}"
    )


def _fitted(calibration: Calibration) -> FitRecord:
    if calibration.fitted is None:
        raise ValueError("a calibration without a word on what it was fitted on has no page")
    return calibration.fitted


def _what(calibration: Calibration, fitted: FitRecord) -> str:
    states = ", ".join(
        f"{state_title(name)} {seen.rows:,}" for name, seen in calibration.seen.items()
    )
    if calibration.fusion is not None:
        names = ", ".join(repr(shown_name(name)) for name in calibration.fusion.names)
        return f"Fitted on {fitted.rows:,} graded answers ({states}) and the signals {names}."
    signal = f" The signal {calibration.signal.name!r} joins." if calibration.signal else ""
    return f"Fitted on {fitted.rows:,} graded answers ({states}).{signal}"


def _gain(fitted: FitRecord) -> str:
    before, after = fitted.stated, fitted.calibrated
    verdict = "better than" if after.brier < before.brier - _SAME else "about as good as"
    if after.brier > before.brier + _SAME:
        verdict = "WORSE than"
    return (
        f"On questions it was not fitted on (cross-validated) it is {verdict}"
        f" {fitted.beside}: Brier score {before.brier:.3f} to {after.brier:.3f}, calibration error"
        f" (smooth ECE) {fixed_percent(before.smooth_ece)} to {fixed_percent(after.smooth_ece)},"
        f" AUROC {_order(before)} to {_order(after)}."
    )


def _asked_by(calibration: Calibration) -> str:
    return "Stated confidence, %" if calibration.fusion is None else "Fused score, %"


def _gain_rows(calibration: Calibration) -> list[tuple[str, str, SignalGain]]:
    """Lay out what each signal adds: its name, its direction, and the gain."""
    fusion = calibration.fusion
    if fusion is None or not fusion.gains:
        return []
    ways = {signal.name: way_of(signal) for signal in fusion.signals}
    return [(gain.name, ways[gain.name], gain) for gain in fusion.gains]


def _order(score: ConfidenceFigures) -> str:
    return "unknown" if score.auroc is None else f"{score.auroc:.2f}"


def _source(calibration: Calibration) -> str:
    source = calibration.source
    if UNKNOWN in {source.model, source.prompt}:
        return (
            "The table does not name one model and one prompt for all answers, so nothing can tell"
            " whether the calibration is used on answers of another model."
        )
    prompt = source.prompt[:12]
    return f"The calibration holds for the model {source.model!r} and the prompt {prompt!r} alone."


def _width(calibration: Calibration) -> float:
    """Return the mean width of intervals at the stated values that were graded."""
    widths = [
        made.high - made.low
        for name, levels in calibration.levels.items()
        for percent in levels
        for made in [calibration.one(percent / 100, name or None)]
    ]
    return float(np.mean(widths))


def asked_values(seen: ObservedRange) -> Floats:
    """List the whole percents that were graded in a state, for a curve through them."""
    inside = np.abs(_ASKED - (seen.least + seen.most) / 2) <= (seen.most - seen.least) / 2 + 0.005
    return _ASKED[inside] if inside.sum() > 1 else np.array([seen.least, seen.most])


def state_title(state: str) -> str:
    """Name an evidence state, or say that there is none."""
    return state or "no evidence state"


def draw_state(calibration: Calibration, graded: GradedAnswers, state: str) -> Markup:
    """Draw what stated confidences become in one state, over the graded answers of that state."""
    frame = PlotArea(54, 12, 380, 300)
    asked = asked_values(calibration.seen[state])
    made = calibration.apply(asked, [state] * asked.size)
    low, high = ([(frame.x(c), frame.y(v)) for c, v in zip(asked, end, strict=True)]
                 for end in (made.low, made.high))  # fmt: skip
    middle = [(frame.x(c), frame.y(p)) for c, p in zip(asked, made.probability, strict=True)]
    body = [
        axes(frame, x_label=_asked_by(calibration), y_label="Right, %"),
        tag("path", d=path_through([(frame.x(0), frame.y(0)), (frame.x(1), frame.y(1))]),
            class_="ideal"),
        tag("path", d=path_through([*low, *high[::-1]], close=True), class_="band"),
        tag("path", d=path_through(middle), class_="line"),
    ]  # fmt: skip
    if calibration.fusion is not None:
        graded = fuse_rows(calibration, graded)
    names = np.array([graded.state_name(number) for number in graded.state])
    body += _points(frame, graded.rows(graded.read & (names == state)))
    return svg(448, 360, f"What stated confidences become: {state_title(state)}", body)


def _points(frame: PlotArea, rows: GradedAnswers) -> list[Markup]:
    """Draw the graded answers by tens of percent: share right, with its exact interval."""
    at = np.minimum((rows.confidence * _BINS + 1e-6).astype(np.intp), _BINS - 1)
    count = np.bincount(at, minlength=_BINS).astype(float)
    right = np.bincount(at, rows.correct, minlength=_BINS).astype(float)
    middle = np.bincount(at, rows.confidence, minlength=_BINS)
    low, high = clopper_pearson(right, count)
    shapes = []
    for i in np.flatnonzero(count):
        x, share = frame.x(float(middle[i] / count[i])), right[i] / count[i]
        says = (
            f"{count[i]:.0f} graded answers around {whole_percent(middle[i] / count[i])}:"
            f" {whole_percent(share)} right ({hundredths(low[i], decimals=0)} to"
            f" {hundredths(high[i], decimals=0)})"
        )
        y_low, y_high = frame.y(low[i]), frame.y(high[i])
        shapes.append(tag("line", x1=x, x2=x, y1=y_low, y2=y_high, class_="whisker"))
        size = round(2 + min(float(count[i]) ** 0.5 / 3, 5), 1)
        dot = tag("circle", cx=x, cy=frame.y(float(share)), r=size, class_="graded")
        shapes.append(with_title(dot, says))
    return shapes


def write_calibration_page(calibration: Calibration, graded: GradedAnswers, path: Path) -> Path:
    """Write the page; `graded` are the rows that the calibration was fitted on."""
    states = list(calibration.seen)
    table = [
        (stated, [calibration.one(stated, state or None) for state in states])
        for stated in SHOWN_CONFIDENCES
    ]
    page = render_page(
        "calibration.html.j2", title=TITLE, c=calibration, fitted=_fitted(calibration),
        states=states, table=table, gains=_gain_rows(calibration),
        stated="stated confidence" if calibration.fusion is None else "fused score",
        before="as stated" if _fitted(calibration).beside == STATED_BESIDE else "a constant",
        summary=calibration_notes(calibration), order=_order,
        verdict=calibration_verdict(_fitted(calibration)),
        finding=lambda state: state_finding(calibration, state),
        pictures=[(state, draw_state(calibration, graded, state)) for state in states],
    )  # fmt: skip
    write_whole(path, page.encode())
    return path
