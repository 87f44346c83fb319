"""Figures as a person reads them: formats, and a summary in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.metrics import LEAST_ROWS, METRICS

if TYPE_CHECKING:
    from novarag.metrics import Figure, Measurement, Panel

SHARES = frozenset(
    {
        "accuracy",
        "mean_confidence",
        "overconfidence",
        "tie_share",
        "accuracy_at_80",
        "coverage_at_10",
        "unread",
        "abstained",
        "passage_judgment",
        "group_judgment",
    }
)
"""Figures shown in percent; the others are scores."""

RATIO_TITLES = {
    "unread": ("Unread", "Share of replies no confidence could be read from."),
    "abstained": ("Abstained", "Share of graded answers that decline to answer; counted wrong."),
    "passage_judgment": (
        "Passage judgments",
        "Share of passages whose stated class is the true one.",
    ),
    "group_judgment": (
        "Group judgments",
        "Share of replies whose stated evidence state is the true one.",
    ),
}


def title_of(name: str) -> str:
    """Return the title of a metric or a share."""
    return METRICS[name].title if name in METRICS else RATIO_TITLES[name][0]


def number(name: str, value: float | None) -> str:
    """Format one value the way its metric is read.

    >>> number("accuracy", 0.5), number("brier", 0.25), number("levels", 11)
    ('50.0 %', '0.250', '11')
    """
    if value is None or value != value:
        return "\u2013"
    if name == "levels":
        return f"{value:.0f}"
    if name == "coverage_at_10" and value == 0:
        return "none"
    if name == "overconfidence":
        return f"{100 * value:+.1f} points"
    return f"{100 * value:.1f} %" if name in SHARES else f"{value:.3f}"


def span(name: str, figure: Figure) -> str:
    """Format an interval, or nothing where there is none."""
    if figure.low is None or figure.high is None or figure.high == 0:
        return ""
    low = number(name, figure.low).removesuffix(" %").removesuffix(" points")
    return f"{low} to {number(name, figure.high)}"


def plain_text(text: str, *, longest: int = 200) -> str:
    """Make a foreign text safe to show in one line: no control or direction characters."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def whole(count: int) -> str:
    """Format a count with thin thousands.

    >>> whole(64000)
    '64,000'
    """
    return f"{count:,}"


def summary(measurement: Measurement) -> list[str]:
    """Say in plain sentences what was found, for someone who has never heard of ECE."""
    panel = measurement.overall
    counted = f"{whole(panel.rows)} answers to {whole(panel.questions)} questions"
    if panel.refusal:
        return [f"{counted}: {panel.refusal}. Nothing can be said yet."]
    lines = [
        _gap(panel, counted),
        _order(panel),
        _worth(panel),
        _threshold(panel),
        _unread(panel),
        _noise(panel),
        *_groups(measurement),
    ]
    return [line for line in lines if line]


def _gap(panel: Panel, counted: str) -> str:
    f = panel.figures
    gap = f["overconfidence"]
    says = (
        f"Over {counted}, the system states {number('mean_confidence', f['mean_confidence'].value)}"
        f" confidence on average and is right {number('accuracy', f['accuracy'].value)} of the time"
    )
    ends = sorted(abs(100 * end) for end in (gap.low or 0, gap.high or 0))
    points = f"{abs(100 * gap.value):.1f} points (95 % interval {ends[0]:.1f} to {ends[1]:.1f})"
    if gap.low is not None and gap.low > 0:
        return f"{says}: it is over-confident by {points}."
    if gap.high is not None and gap.high < 0:
        return f"{says}: it is under-confident by {points}."
    return f"{says}; the gap of {100 * gap.value:+.1f} points may be chance."


def _order(panel: Panel) -> str:
    f = panel.figures["auroc"]
    if f.value != f.value:
        return "All answers were right, or all wrong, so confidence cannot tell them apart."
    if f.low is not None and f.low <= 0.5 <= (f.high or 1):
        how = "is not shown to tell right answers from wrong ones better than a coin"
    elif f.value < 0.5:
        how = "points the wrong way: wrong answers get more of it than right ones"
    else:
        words = ((0.6, "barely tells"), (0.7, "weakly tells"), (0.8, "fairly tells"))
        how = next((w for top, w in words if f.value < top), "clearly tells")
        how += " right answers from wrong ones"
    return (
        f"Its confidence {how}: of a right and a wrong answer, the right one has more confidence"
        f" {number('accuracy', f.value)} of the time, ties counted half (AUROC {span('auroc', f)})."
    )


def _worth(panel: Panel) -> str:
    own, flat = panel.figures["brier"], panel.baselines["constant"]["brier"]
    mended = panel.baselines["isotonic"]["brier"]
    scores = f"Brier {own.value:.3f} against {flat.value:.3f}; lower is better"
    if own.value >= flat.value:
        return (
            f"Taken at face value it is worth less than always stating the accuracy ({scores})."
            f" Relabelled by a curve fitted on other questions it would score {mended.value:.3f}."
        )
    return (
        f"Taken at face value it beats always stating the accuracy ({scores})."
        f" Relabelled by a curve fitted on other questions it would score {mended.value:.3f}."
    )


def _threshold(panel: Panel) -> str:
    f = panel.figures["coverage_at_10"]
    if f.value == 0:
        return "No threshold lets answers through with at most one in ten wrong: not attainable."
    curve = panel.curve
    if curve is None:
        return ""
    at = max(i for i in range(len(curve.risk)) if curve.coverage[i] <= f.value + 1e-9)
    return (
        f"Answers stated at {100 * curve.threshold[at]:.0f} % or more are wrong at most one time in"
        f" ten, and {number('coverage_at_10', f.value)} of the answers are"
        f" (95 % interval {span('coverage_at_10', f)}); the threshold was chosen on these answers,"
        " so check it on others."
    )


def _unread(panel: Panel) -> str:
    missing = panel.rows - panel.read
    if not missing:
        return ""
    acc, brier = panel.bounds["accuracy"], panel.bounds["brier"]
    return (
        f"{whole(missing)} replies ({number('unread', missing / panel.rows)}) could not be read and"
        f" are in no other figure. Were they all wrong, accuracy would be"
        f" {number('accuracy', acc.at_zero)} and Brier between {brier.at_zero:.3f} and"
        f" {brier.at_full:.3f}."
    )


def _noise(panel: Panel) -> str:
    if panel.floor is None or panel.figures["ece"].value > panel.floor.line:
        return ""
    return (
        f"The calibration error ({panel.figures['ece'].value:.3f}) is within what a perfectly"
        f" calibrated system would show on this many questions (up to {panel.floor.line:.3f}), so"
        " no miscalibration is shown."
    )


def _groups(measurement: Measurement) -> list[str]:
    refused = sum(1 for p in measurement.groups if p.refusal)
    known = [p for p in measurement.groups if not p.refusal]
    lines = []
    if len(known) > 1:
        ranked = sorted(known, key=lambda p: p.figures["brier"].value)
        best, worst = ranked[0], ranked[-1]
        sure = sum(1 for d in measurement.differences if d.metric == "brier" and d.p_holm < 0.05)
        pairs = sum(1 for d in measurement.differences if d.metric == "brier")
        lines.append(
            f"By {', '.join(measurement.by)}, Brier runs from"
            f" {best.figures['brier'].value:.3f} ({best.name}) to"
            f" {worst.figures['brier'].value:.3f} ({worst.name}); {sure} of {pairs} pairs differ by"
            " more than chance after correction for their number."
        )
    if refused:
        lines.append(
            f"{whole(refused)} of {whole(len(measurement.groups))} groups have fewer than"
            f" {LEAST_ROWS} read and graded answers and get no figures."
        )
    return lines
