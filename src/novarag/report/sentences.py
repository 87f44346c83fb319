"""What a report says in plain sentences: verdicts first, what to do, then the evidence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.formatting import fixed_percent, hundredths, percent, points, whole_percent
from novarag.formatting import span as interval
from novarag.metrics import LEAST_ROWS
from novarag.records import TOLERANCE
from novarag.report.advice import advice_lines, reach
from novarag.report.findings import differences_text
from novarag.report.verdict import ConfidenceVerdict, beside_verdict, is_beside, judge
from novarag.report.words import graded_text, number, span, ungraded_text
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.metrics import CheckedThreshold, Decisions, Measurement, Panel
    from novarag.report.advice import RowReach
    from novarag.report.verdict import Act

_ACTS: dict[Act, str] = {
    "no": "do not act on", "yes": "usable as it is", "wait": "undecided for",
}  # fmt: skip

MOST_JUDGED = 24
"""Groups that get a verdict of their own on a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPanel:
    """A panel with its verdict, what its answers allow, and what each threshold keeps."""

    panel: Panel
    verdict: ConfidenceVerdict
    decisions: Decisions | None
    reach: RowReach | None


def judged(measurement: Measurement) -> list[JudgedPanel]:
    """Judge each group by itself, or all answers where nothing is compared."""
    panels = measurement.groups if len(measurement.groups) > 1 else (measurement.overall,)
    known = [panel for panel in panels if not panel.refusal][:MOST_JUDGED]
    return [_judged(panel, measurement.decisions.get(panel.name)) for panel in known]


def _judged(panel: Panel, decisions: Decisions | None) -> JudgedPanel:
    return JudgedPanel(
        panel=panel,
        verdict=judge(panel, decisions),
        decisions=decisions,
        reach=reach(panel, decisions),
    )


def headline(measurement: Measurement) -> ConfidenceVerdict:
    """Return the verdict that stands first; of groups that are compared, how many have which."""
    if len(measurement.groups) <= 1:
        panel = measurement.overall
        found = judge(panel, measurement.decisions.get(panel.name))
        return ConfidenceVerdict(
            act=found.act, kind=found.kind, line=found.line,
            because=" ".join(part for part in (found.because, read_text(panel)) if part),
        )  # fmt: skip
    if is_beside(measurement):
        found = beside_verdict(measurement)
        return replace(found, because=f"{found.because} {read_text(measurement.overall)}".strip())
    panels = [p for p in measurement.groups if not p.refusal]
    count = Counter(judge(p, measurement.decisions.get(p.name)).act for p in panels)
    act: Act = next(iter(count)) if len(count) == 1 else "wait"
    return ConfidenceVerdict(
        act=act, kind="compared", line=_together(panels, count),
        because=read_text(measurement.overall),
    )  # fmt: skip


def _together(panels: Sequence[Panel], count: Mapping[Act, int]) -> str:
    """Say how many have which verdict, and from where to where promise and delivery run."""
    if not panels:
        return "Nothing can be said yet: no group has enough answers."
    ends = [
        f"{verb} {_ends([panel.figures[name].value for panel in panels])}"
        for verb, name in (("promise", "mean_confidence"), ("deliver", "accuracy"))
    ]
    said = ", ".join(ends)
    if count["no"] == len(panels):
        return f"Do not act on any of these {len(panels)} confidences as they are: they {said}."
    if count["yes"] == len(panels):
        return f"All {len(panels)} confidences are usable as they are: they {said}."
    parts = ", ".join(f"{words} {count[name]}" for name, words in _ACTS.items() if count[name])
    return f"{_some(len(panels), 'group')}, each judged by itself: {parts}. They {said}."


def _ends(values: Sequence[float]) -> str:
    low, high = whole_percent(min(values)), whole_percent(max(values))
    return low if low == high else interval(min(values), max(values), whole_percent)


def read_text(panel: Panel) -> str:
    """Say how many answers were read and graded, of how many."""
    used = panel.read - _ungraded_read(panel)
    if used == panel.rows:
        return f"{_some(panel.rows, 'answer')}, all read."
    return f"{panel.read:,} of {_some(panel.rows, 'answer')} were read."


def _ungraded_read(panel: Panel) -> int:
    return 0 if panel.ungraded == 0 else panel.read - _used(panel)


def _used(panel: Panel) -> int:
    return panel.figures["accuracy"].n if "accuracy" in panel.figures else panel.read


def answer_first(measurement: Measurement) -> list[str]:
    """Say all of it: the verdict, what to do, then the evidence."""
    first = headline(measurement)
    lines = [f"{first.line} {first.because}".strip()]
    if is_beside(measurement):
        allowed = [(plain_text(g.panel.name), _allowed(g)) for g in judged(measurement)]
        return [
            *lines,
            *(f"{name}: {said}" for name, said in allowed if said),
            *rivals(measurement),
        ]
    if len(measurement.groups) > 1:
        lines += [_one(group) for group in judged(measurement)]
    else:
        found = measurement.decisions.get(measurement.overall.name)
        lines += advice_lines(found) if found else []
    said = summary(measurement)
    if measurement.overall.refusal and len(measurement.groups) <= 1:
        said = said[1:]  # the verdict says it
    return [*lines, *said, *_brought(measurement)]


def _brought(measurement: Measurement) -> list[str]:
    """Say the figures of metrics that somebody brought."""
    metrics, panel = {m.name: m for m in measurement.metrics}, measurement.overall
    found = {name: panel.figures[name] for name in metrics if name in panel.figures}
    return [
        f"{metrics[name].title}: {number(name, figure.value, metrics)}"
        f" ({span(name, figure, metrics) or 'no interval'}). {metrics[name].means}"
        for name, figure in found.items()
    ]


def _one(group: JudgedPanel) -> str:
    name = plain_text(group.panel.name, longest=60)
    return f"{name}: {group.verdict.line} {_allowed(group)}".rstrip()


def _allowed(group: JudgedPanel) -> str:
    """Say which thresholds a group has, for each risk."""
    if group.decisions is None:
        return ""
    thresholds = group.decisions.thresholds
    if all(c.threshold is None for c in thresholds):
        return f"No threshold is attainable, up to {percent(thresholds[-1].risk)} wrong."
    if all(c.advised is None for c in thresholds):
        return f"No threshold can be advised, up to {percent(thresholds[-1].risk)} wrong."
    found = [f"{percent(c.risk)}: {_short(c)}" for c in thresholds]
    return f"At most this many wrong: {'; '.join(found)}."


def _short(checked: CheckedThreshold) -> str:
    if checked.threshold is None:
        return "not attainable"
    if checked.failed:
        return "no advice, as its check failed"
    return f"{percent(checked.threshold)} or more, which keeps {fixed_percent(checked.kept)}"


def summary(measurement: Measurement) -> list[str]:
    """Say in plain sentences what was found, for someone who has never heard of ECE."""
    panel = measurement.overall
    if len(measurement.groups) > 1:
        return [*_unread(replace(panel, bounds={})), *_groups(measurement)]
    counted = f"{_counted(panel)} to {_some(panel.questions, 'question')}"
    if panel.refusal:
        return [f"{counted}: {panel.refusal}. Nothing can be said yet.", *_unread(panel)]
    lines = [
        _gap(panel, counted),
        _order(panel),
        _baseline_sentence(panel),
        "" if measurement.decisions else _threshold(panel),
        *_unread(panel),
        _noise(panel),
        *_groups(measurement),
    ]
    return [line for line in lines if line]


def _counted(panel: Panel) -> str:
    """Count the answers that figures are made of; those left out are named as such."""
    used = _used(panel)
    if used == panel.rows:
        return _some(used, "answer")
    return f"{used:,} of {_some(panel.rows, 'answer')} (the others are unread or not graded)"


def rivals(measurement: Measurement) -> list[str]:
    """Say of each group by itself what was found, the best first, and how sure differences are."""
    lines = []
    known = [panel for panel in measurement.groups if not panel.refusal]
    for panel in sorted(known, key=lambda p: p.figures["brier"].value):
        brier, auroc = panel.figures["brier"], panel.figures["auroc"]
        wrong = auroc.high is not None and auroc.high < 0.5
        lines.append(
            f"{plain_text(panel.name, longest=60)}:"
            f" {number('accuracy', panel.figures['accuracy'].value)} right, Brier"
            f" {brier.value:.3f} ({span('brier', brier)}), AUROC {number('auroc', auroc.value)}"
            f" ({span('auroc', auroc)})" + (": it points the wrong way." if wrong else ".")
        )
    return [*lines, *_groups(measurement)]


def _some(count: int, noun: str) -> str:
    plural = "replies" if noun == "reply" else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"


def _gap(panel: Panel, counted: str) -> str:
    f = panel.figures
    gap = f["overconfidence"]
    says = (
        f"Over {counted}, the system states"
        f" {number('mean_confidence', f['mean_confidence'].value)} confidence on average and is"
        f" right {number('accuracy', f['accuracy'].value)} of the time"
    )
    low, high = gap.low, gap.high
    if low is None or high is None or low <= 0 <= high:
        return f"{says}; the gap of {points(gap.value)} points may be chance."
    least, most = sorted((abs(low), abs(high)))
    which = "over" if gap.value > 0 else "under"
    return (
        f"{says}: {which}-confident by {hundredths(abs(gap.value))} points"
        f" (95 % interval {interval(least, most, hundredths)})."
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


def _baseline_sentence(panel: Panel) -> str:
    own, flat = panel.figures["brier"], panel.baselines["constant"]["brier"]
    mended, worth = panel.baselines["isotonic"]["brier"], panel.worth
    if worth is None or worth.low is None or worth.high is None or worth.low <= 0 <= worth.high:
        how = "are not shown to differ in Brier score from"
    else:
        how = f"have a {'better' if worth.low > 0 else 'worse'} Brier score than"
    return (
        f"As stated, confidences {how} always stating the accuracy ({own.value:.3f} against"
        f" {flat.value:.3f}; lower is better). Relabelled by a curve fitted on other questions it"
        f" would score {mended.value:.3f}."
    )


def _threshold(panel: Panel) -> str:
    f = panel.figures["coverage_at_10"]
    if f.value == 0 or panel.curve is None:
        return "No threshold lets answers through with at most one in ten wrong: not attainable."
    curve = panel.curve
    at = max(i for i in range(len(curve.risk)) if curve.coverage[i] <= f.value + TOLERANCE)
    return (
        f"Answers stated at {percent(curve.threshold[at])} or more are wrong at most one time in"
        f" ten here; {number('coverage_at_10', f.value)} of the answers are stated so surely"
        f" (95 % interval {span('coverage_at_10', f)}). The threshold was chosen on these answers,"
        " so check it on others."
    )


def _unread(panel: Panel) -> list[str]:
    lines = []
    if panel.unread:
        share = number("unread", panel.unread / panel.rows)
        reasons = [f"{reason} ({n:,})" for reason, n in list(panel.flaws.items())[:3]]
        why = f" Mostly: {', '.join(reasons)}." if reasons else ""
        lines.append(
            f"{_some(panel.unread, 'reply')} ({share}) could not be read and count in no other"
            f" figure.{why}{_bounds(panel)}"
        )
    if panel.ungraded:
        lines.append(ungraded_text(panel.ungraded))
    return lines


def _bounds(panel: Panel) -> str:
    whose = graded_text(panel.unread, panel.unread_graded)
    if not panel.bounds:
        return whose
    acc, brier = panel.bounds["accuracy"], panel.bounds["brier"]
    return (
        f"{whose} Were {'those' if whose else 'they'} all wrong, accuracy would be"
        f" {number('accuracy', acc.at_zero)} and Brier between {brier.at_zero:.3f} and"
        f" {brier.at_full:.3f}."
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


def _accuracies(panels: Sequence[Panel]) -> str:
    ranked = sorted(panels, key=lambda p: p.figures["accuracy"].value)
    return " to ".join(
        f"{number('accuracy', p.figures['accuracy'].value)} ({plain_text(p.name, longest=60)})"
        for p in (ranked[0], ranked[-1])
    )


def _groups(measurement: Measurement) -> list[str]:
    refused = sum(1 for p in measurement.groups if p.refusal)
    known = [p for p in measurement.groups if not p.refusal]
    lines = []
    if len(known) > 1:
        ranked = sorted(known, key=lambda p: p.figures["brier"].value)
        ends = " to ".join(_end(p) for p in (ranked[0], ranked[-1]))
        lines.append(
            f"By {', '.join(measurement.by)}, accuracy runs from {_accuracies(known)}, Brier from"
            f" {ends}."
        )
        lines += differences_text(measurement.differences)
    if refused:
        lines.append(
            f"{refused:,} of {_some(len(measurement.groups), 'group')} have too few answers"
            f" (under {LEAST_ROWS} read and graded) or questions and get no figures."
        )
    return lines
