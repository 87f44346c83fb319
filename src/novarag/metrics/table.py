"""The table of metrics. To add one: write a function of a tally and give it a row here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.imports import import_object
from novarag.metrics import calibration, ranking
from novarag.metrics.tally import Tally, tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike

    from novarag.stats.arrays import Floats


class Unit(StrEnum):
    """How a value is written: 0.250, 25.0 %, +25.0 pts, 25."""

    SCORE = "score"
    SHARE = "share"
    POINTS = "points"
    COUNT = "count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A figure of a tally: how to compute it, how to say it, and what would fool it.

    `better` is the direction: 1 up, -1 down, 0 neither. `unit` says how a value is written, `zero`
    what stands in place of zero. `ranks` marks metrics that look only at the order of confidences.
    `headline` metrics are compared between groups. `interval` is false where a bootstrap interval
    would mean nothing. Noise can only raise `inflated` metrics. `costly` ones get their interval
    from a tenth of the replicates.
    """

    name: str
    title: str
    of: Callable[[Tally], Floats]
    better: int
    means: str
    fooled_by: str
    unit: Unit = Unit.SCORE
    zero: str = ""
    ranks: bool = False
    headline: bool = False
    interval: bool = True
    inflated: bool = False
    costly: bool = False

    def __call__(self, confidence: ArrayLike, correct: ArrayLike) -> float:
        """Compute the metric from two columns."""
        return float(self.of(tally(confidence, correct)))


accuracy = Metric(
    name="accuracy",
    title="Accuracy",
    of=calibration.accuracy,
    unit=Unit.SHARE,
    better=1,
    means="Share of read answers that are right.",
    fooled_by="Leaving hard questions unread; see the unread share and its bounds.",
    headline=True,
)
mean_confidence = Metric(
    name="mean_confidence",
    title="Mean confidence",
    of=calibration.mean_confidence,
    unit=Unit.SHARE,
    better=0,
    means="Average confidence the system stated.",
    fooled_by="Nothing by itself: it is only good or bad beside the accuracy.",
)
overconfidence = Metric(
    name="overconfidence",
    title="Over-confidence",
    of=calibration.overconfidence,
    unit=Unit.POINTS,
    better=0,
    means="Mean confidence minus accuracy; zero is best, above zero promises too much.",
    fooled_by="Errors that cancel: half the answers far too sure, half far too shy, gives zero.",
)
brier = Metric(
    name="brier",
    title="Brier",
    of=calibration.brier,
    better=-1,
    means="Mean squared distance between confidence and truth; rewards honesty and knowing.",
    fooled_by="Easy questions: compare it with the uncertainty, the score of a constant.",
    headline=True,
)
miscalibration = Metric(
    name="miscalibration",
    title="Miscalibration",
    of=calibration.miscalibration,
    better=-1,
    means="Part of the Brier score that relabelling the confidences would remove.",
    fooled_by="A constant at the base rate has none; small samples inflate it.",
    inflated=True,
)
discrimination = Metric(
    name="discrimination",
    title="Discrimination",
    of=calibration.discrimination,
    better=1,
    means="Part of the uncertainty that the order of the confidences explains.",
    fooled_by="Small samples inflate it.",
    inflated=True,
)
uncertainty = Metric(
    name="uncertainty",
    title="Uncertainty",
    of=calibration.uncertainty,
    better=0,
    means="Brier score of always stating the base rate; Brier = miscalibration - discrimination"
    " + uncertainty.",
    fooled_by="It describes the questions, not the system.",
)
ece = Metric(
    name="ece",
    title="ECE",
    of=calibration.ece,
    better=-1,
    means="Mean distance between confidence and accuracy over ten bins.",
    fooled_by="A constant at the base rate wins it; finite samples inflate it up to the noise"
    " floor.",
    headline=True,
    inflated=True,
)
exact_ece = Metric(
    name="exact_ece",
    title="ECE, exact values",
    of=calibration.exact_ece,
    better=-1,
    means="The same with every stated value its own bin, so bin edges cannot hide anything.",
    fooled_by="A constant; and many distinct values, each with few answers, inflate it.",
    inflated=True,
)
smooth_ece = Metric(
    name="smooth_ece",
    title="Smooth ECE",
    of=calibration.smooth_ece,
    better=-1,
    means="Calibration error under a smooth kernel; no bins to choose.",
    fooled_by="A constant at the base rate wins it.",
    costly=True,
    inflated=True,
)
auroc = Metric(
    name="auroc",
    title="AUROC",
    of=ranking.auroc,
    better=1,
    means="Chance that a right answer has more confidence than a wrong one; ties count one half.",
    fooled_by="Many ties pull it to 0.5; it says nothing of the values themselves.",
    ranks=True,
    headline=True,
)
tie_share = Metric(
    name="tie_share",
    title="Tie share",
    of=ranking.tie_share,
    unit=Unit.SHARE,
    better=0,
    means="Share of right-wrong pairs with equal confidence, each counted one half in AUROC.",
    fooled_by="Nothing; read it beside AUROC.",
    ranks=True,
)
levels = Metric(
    name="levels",
    title="Distinct levels",
    of=ranking.levels,
    unit=Unit.COUNT,
    better=0,
    means="How many different confidences were stated.",
    fooled_by="It grows with the sample.",
    ranks=True,
    interval=False,
)
error_auprc = Metric(
    name="error_auprc",
    title="Error AUPRC",
    of=ranking.error_auprc,
    better=1,
    means="Average precision of finding the wrong answers by low confidence.",
    fooled_by="A low accuracy: its floor is the error rate.",
    ranks=True,
)
aurc = Metric(
    name="aurc",
    title="AURC",
    of=ranking.aurc,
    better=-1,
    means="Mean error rate over all coverages, when the least confident answers are withheld"
    " first.",
    fooled_by="A high accuracy makes it small by itself; see E-AURC.",
    ranks=True,
    headline=True,
)
excess_aurc = Metric(
    name="excess_aurc",
    title="E-AURC",
    of=ranking.excess_aurc,
    better=-1,
    means="AURC above the best one possible at this accuracy.",
    fooled_by="Still shrinks as the accuracy nears 0 or 1.",
    ranks=True,
)
augrc = Metric(
    name="augrc",
    title="AUGRC",
    of=ranking.augrc,
    better=-1,
    means="Mean share of all answers that are accepted and wrong, over all coverages.",
    fooled_by="A high accuracy makes it small by itself.",
    ranks=True,
)
accuracy_at_80 = Metric(
    name="accuracy_at_80",
    title="Accuracy at 80 % coverage",
    of=partial(ranking.accuracy_at_coverage, coverage=0.8),
    unit=Unit.SHARE,
    better=1,
    means="Accuracy when the least confident fifth of the answers is withheld.",
    fooled_by="A high accuracy overall; ties at the cut count in part.",
    ranks=True,
)
coverage_at_10 = Metric(
    name="coverage_at_10",
    title="Coverage at 10 % risk",
    of=partial(ranking.coverage_at_risk, risk=0.1),
    unit=Unit.SHARE,
    zero="none",
    better=1,
    means="Largest share of answers a threshold can let through with at most one in ten wrong;"
    " 0 means not attainable.",
    fooled_by="The threshold is chosen on the same answers, so it flatters; use a held-out set.",
    ranks=True,
)

METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        accuracy,
        mean_confidence,
        overconfidence,
        brier,
        miscalibration,
        discrimination,
        uncertainty,
        ece,
        exact_ece,
        smooth_ece,
        auroc,
        tie_share,
        levels,
        error_auprc,
        aurc,
        excess_aurc,
        augrc,
        accuracy_at_80,
        coverage_at_10,
    )
}
"""Every metric by name, in the order reports show them."""


def find_metrics(names: Iterable[str | Metric]) -> tuple[Metric, ...]:
    """Import metrics that are given as package.module:OBJECT; a name may be taken only once."""
    found: dict[str, Metric] = {}
    for name in names:
        metric = import_object(name) if isinstance(name, str) else name
        if not isinstance(metric, Metric):
            raise UsageError(f"{name!r} is not a Metric but a {type(metric).__name__}")
        if metric.name in METRICS or metric.name in found:
            raise UsageError(f"a metric is called {metric.name!r} already")
        found[metric.name] = metric
    return tuple(found.values())
