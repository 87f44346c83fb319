"""Figures as a person reads them: formats, and a summary in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.metrics import LEAST_ROWS, METRICS
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.metrics import Measurement, Panel
    from novarag.stats.figure import Figure

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


def each(count: int, answers: int) -> str:
    """Format what one of several answers took.

    >>> each(600, 200), each(5, 2), each(123456, 10)
    ('3', '2.5', '12,346')
    """
    share = count / max(answers, 1)
    return f"{share:,.0f}" if share >= 100 or share == int(share) else f"{share:.1f}"


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
        return f"{100 * value:+.1f} pts"
    return f"{100 * value:.1f} %" if name in SHARES else f"{value:.3f}"


def span(name: str, figure: Figure) -> str:
    """Format an interval, or nothing where there is none."""
    if figure.low is None or figure.high is None or figure.high == 0:
        return ""
    low = number(name, figure.low).removesuffix(" %").removesuffix(" pts")
    return f"{low} to {number(name, figure.high)}"


def percent(value: float) -> str:
    """Format a confidence with as many digits as it needs.

    >>> percent(0.9), percent(0.996)
    ('90 %', '99.6 %')
    """
    return f"{round(100 * value, 2):g} %"


def whole(count: int) -> str:
    """Format a count with thin thousands.

    >>> whole(64000)
    '64,000'
    """
    return f"{count:,}"


def summary(measurement: Measurement) -> list[str]:
    """Say in plain sentences what was found, for someone who has never heard of ECE."""
    panel = measurement.overall
    counted = f"{whole(panel.rows)} answers to {_some(panel.questions, 'question')}"
    if panel.refusal:
        return [f"{counted}: {panel.refusal}. Nothing can be said yet.", *_unread(panel)]
    lines = [
        _gap(panel, counted, len(measurement.groups)),
        _order(panel),
        _worth(panel),
        _threshold(panel),
        *_unread(panel),
        _noise(panel),
        *_groups(measurement),
    ]
    return [line for line in lines if line]


def rivals(measurement: Measurement) -> list[str]:
    """Say of each group by itself what was found, and how sure their differences are."""
    lines = []
    for panel in measurement.groups:
        if not panel.refusal:
            brier, auroc = panel.figures["brier"], panel.figures["auroc"]
            wrong = auroc.high is not None and auroc.high < 0.5
            lines.append(
                f"{plain_text(panel.name, longest=60)}:"
                f" {number('accuracy', panel.figures['accuracy'].value)} right, Brier"
                f" {brier.value:.3f} ({span('brier', brier)}), AUROC {number('auroc', auroc.value)}"
                f" ({span('auroc', auroc)})" + (": it points the wrong way." if wrong else ".")
            )
    return [*lines, *_groups(measurement)]


def _some(count: int, thing: str) -> str:
    plural = "replies" if thing == "reply" else thing + "s"
    return f"{whole(count)} {thing if count == 1 else plural}"


def _gap(panel: Panel, counted: str, groups: int) -> str:
    f = panel.figures
    gap = f["overconfidence"]
    who = f"the {groups} groups together state" if groups > 1 else "the system states"
    verb = "are" if groups > 1 else "is"
    says = (
        f"Over {counted}, {who} {number('mean_confidence', f['mean_confidence'].value)} confidence"
        f" on average and {verb} right {number('accuracy', f['accuracy'].value)} of the time"
    )
    low, high = gap.low, gap.high
    if low is None or high is None or low <= 0 <= high:
        return f"{says}; the gap of {100 * gap.value:+.1f} points may be chance."
    ends = sorted(abs(100 * end) for end in (low, high))
    which = "over" if gap.value > 0 else "under"
    return (
        f"{says}: {which}-confident by {abs(100 * gap.value):.1f} points"
        f" (95 % interval {ends[0]:.1f} to {ends[1]:.1f})."
    )


def _order(panel: Panel) -> str:
    f = panel.figures["auroc"]
    if f.value != f.value:
        right = "right" if panel.figures["accuracy"].value == 1 else "wrong"
        return f"All answers were {right}, so confidence has nothing to tell apart."
    if f.low is None or f.high is None or f.low <= 0.5 <= f.high:
        how = "is not shown to tell right answers from wrong ones better than a coin"
    elif f.value < 0.5:
        how = "points the wrong way: wrong answers get more of it than right ones"
    else:
        words = ((0.6, "barely"), (0.7, "weakly"), (0.8, "moderately"))
        how = next((w for top, w in words if f.value < top), "clearly")
        how = f"{how} tells right answers from wrong ones"
    interval = f" (AUROC {span('auroc', f)})" if span("auroc", f) else ""
    return (
        f"Confidence {how}: of a right and a wrong answer, the right one has more of it"
        f" {number('accuracy', f.value)} of the time, ties counted half{interval}."
    )


def _worth(panel: Panel) -> str:
    own, flat = panel.figures["brier"], panel.baselines["constant"]["brier"]
    mended, worth = panel.baselines["isotonic"]["brier"], panel.worth
    if worth is None or worth.low is None or worth.high is None or worth.low <= 0 <= worth.high:
        how = "is not shown to differ in worth from"
    else:
        how = "beats" if worth.low > 0 else "is worth less than"
    return (
        f"Taken at face value it {how} always stating the accuracy (Brier {own.value:.3f} against"
        f" {flat.value:.3f}; lower is better). Relabelled by a curve fitted on other questions it"
        f" would score {mended.value:.3f}."
    )


def _threshold(panel: Panel) -> str:
    f = panel.figures["coverage_at_10"]
    if f.value == 0 or panel.curve is None:
        return "No threshold lets answers through with at most one in ten wrong: not attainable."
    curve = panel.curve
    at = max(i for i in range(len(curve.risk)) if curve.coverage[i] <= f.value + 1e-9)
    return (
        f"Answers stated at {percent(curve.threshold[at])} or more are wrong at most one time in"
        f" ten, and {number('coverage_at_10', f.value)} of the answers are"
        f" (95 % interval {span('coverage_at_10', f)}); the threshold was chosen on these answers,"
        " so check it on others."
    )


def _unread(panel: Panel) -> list[str]:
    lines = []
    missing = panel.rows - panel.read
    if missing:
        share = number("unread", missing / panel.rows)
        reasons = [f"{reason} ({whole(n)})" for reason, n in list(panel.flaws.items())[:3]]
        why = f" Mostly: {', '.join(reasons)}." if reasons else ""
        lines.append(
            f"{_some(missing, 'reply')} ({share}) could not be read and count in no other"
            f" figure.{why}{_bounds(panel)}"
        )
    if panel.ungraded:
        lines.append(f"{_some(panel.ungraded, 'answer')} not graded, and in no figure.")
    return lines


def _bounds(panel: Panel) -> str:
    if not panel.bounds:
        return ""
    acc, brier = panel.bounds["accuracy"], panel.bounds["brier"]
    return (
        f" Were they all wrong, accuracy would be {number('accuracy', acc.at_zero)} and Brier"
        f" between {brier.at_zero:.3f} and {brier.at_full:.3f}."
    )


def _noise(panel: Panel) -> str:
    gap = panel.figures["overconfidence"]
    shown = gap.low is not None and gap.high is not None and not gap.low <= 0 <= gap.high
    if panel.floor is None or panel.figures["ece"].value > panel.floor.line or shown:
        return ""
    return (
        f"The calibration error ({panel.figures['ece'].value:.3f}) is within what a perfectly"
        f" calibrated system would show on this many questions (up to {panel.floor.line:.3f}), so"
        " no miscalibration is shown."
    )


def _end(panel: Panel) -> str:
    gap = number("overconfidence", panel.figures["overconfidence"].value)
    name = plain_text(panel.name, longest=60)
    return f"{panel.figures['brier'].value:.3f} ({name}, confidence minus accuracy {gap})"


def _groups(measurement: Measurement) -> list[str]:
    refused = sum(1 for p in measurement.groups if p.refusal)
    known = [p for p in measurement.groups if not p.refusal]
    lines = []
    if len(known) > 1:
        ranked = sorted(known, key=lambda p: p.figures["brier"].value)
        ends = " to ".join(_end(p) for p in (ranked[0], ranked[-1]))
        pairs = [d for d in measurement.differences if d.metric == "brier"]
        sure = sum(1 for d in pairs if d.p_holm < 0.05)
        lines.append(
            f"By {', '.join(measurement.by)}, Brier runs from {ends}; {sure} of"
            f" {whole(len(pairs))} pairs differ by more than chance after correction for their"
            " number."
        )
    if refused:
        lines.append(
            f"{whole(refused)} of {_some(len(measurement.groups), 'group')} have too few answers"
            f" (under {LEAST_ROWS} read and graded) or questions and get no figures."
        )
    return lines
