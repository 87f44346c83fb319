"""What `measure` returns: figures with intervals, panel by panel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from novarag.metrics.baselines import EceFloor
    from novarag.metrics.calibration import ConfidenceBins
    from novarag.metrics.decisions import Decisions
    from novarag.metrics.table import Metric
    from novarag.report.plots import Axes
    from novarag.stats.arrays import Floats
    from novarag.stats.figure import Figure

_SHOWN = 5  # groups that a `repr` shows


@dataclass(frozen=True, slots=True)
class UnreadBound:
    """What a figure would be if every unread reply with a grade were wrong, at 0 % and at 100 %."""

    at_zero: float
    at_full: float


@dataclass(frozen=True, slots=True)
class RiskCurve:
    """Error rate against coverage, at every threshold that can be set."""

    threshold: Floats
    coverage: Floats
    risk: Floats


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Panel:
    """All that is known of one group of rows; `refusal` says why nothing more is.

    `worth` is the Brier score of the constant baseline minus that of the stated confidence.
    `ungraded` counts answers that were read and have no grade; `unread_graded` counts the unread
    replies that say something of the answers: an unread reply nobody graded is no evidence.
    """

    name: str
    rows: int
    questions: int
    read: int
    ungraded: int
    flaws: Mapping[str, int]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    bounds: Mapping[str, UnreadBound] = field(default_factory=dict)
    baselines: Mapping[str, Mapping[str, Figure]] = field(default_factory=dict)
    worth: Figure | None = None
    floor: EceFloor | None = None
    bins: ConfidenceBins | None = None
    curve: RiskCurve | None = None
    refusal: str | None = None
    unread_graded: int = 0

    @property
    def unread(self) -> int:
        """How many replies could not be read, graded or not."""
        return self.rows - self.read

    def __repr__(self) -> str:
        """Show the headline figures in a line."""
        return f"Panel({_line(self)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """A paired difference between two groups over the same resampled questions.

    `p_holm` is corrected for the number of pairs that were compared on the same metric.
    """

    metric: str
    one: str
    other: str
    figure: Figure
    shared_questions: int
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Measurement:
    """Everything `measure` found, and how; `sources` and `notes` are for who reads it.

    `decisions` says by the name of a panel what its answers allow: of each group by itself where
    groups are compared, of "all" otherwise. `metrics` are those that somebody brought.
    """

    overall: Panel
    groups: tuple[Panel, ...]
    macro: Mapping[str, Figure]
    differences: tuple[PairedDifference, ...]
    by: tuple[str, ...]
    replicates: int
    seed: int
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    decisions: Mapping[str, Decisions] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()

    def __repr__(self) -> str:
        """Show the headline figures of all and of the first groups, a line each."""
        head = f"Measurement by {', '.join(self.by)}:" if self.by else "Measurement:"
        lines = [_line(panel) for panel in (self.overall, *self.groups[:_SHOWN])]
        more = len(self.groups) - _SHOWN
        return "\n  ".join([head, *lines, *([f"… and {more:,} more groups"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        from novarag.report.fragments import show_measurement

        return show_measurement(self)

    def plot(self, ax: Axes | None = None, *, group: str | None = None) -> Axes:
        """Draw a reliability diagram with intervals and counts; needs novarag[plot].

        Args:
            ax: The Axes to draw into; None makes new ones.
            group: The name of the group to draw; None draws the groups beside each other, or all
                answers where nothing is compared.
        """
        from novarag.report.plots import draw_measurement

        return draw_measurement(self, ax, group=group)

    def to_latex(self, metrics: Sequence[str] | None = None) -> str:
        """Lay the figures out as a LaTeX tabular in the style of booktabs.

        Args:
            metrics: The names of the figures, such as "brier"; None takes the headline ones.
        """
        from novarag.report.latex import write_tabular
        from novarag.report.shown_tables import tabulate_measurement

        return write_tabular(tabulate_measurement(self, metrics))


def _line(panel: Panel) -> str:
    shown = ("accuracy", "mean_confidence", "ece", "brier", "auroc")
    found = [f"{name} {panel.figures[name].value:.3f}" for name in shown if name in panel.figures]
    name = plain_text(panel.name, longest=60)
    about = f"{name}: {panel.rows:,} rows of {panel.questions:,} questions"
    return f"{about}; {', '.join(found) or panel.refusal}"


SCHEMA = {
    "group": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "refusal": pl.String,
}
MACRO = "macro average"


def figures_frame(measurement: Measurement) -> pl.DataFrame:
    """Lay a measurement's figures out, one row per group and metric.

    The group is `all` for the whole table. A group that was too small to measure has one row, with
    the reason in `refusal`. `to_pandas` makes it a pandas frame.

    Args:
        measurement: What `measure` returned.
    """
    return pl.DataFrame(list(_rows(measurement)), schema=SCHEMA, orient="row")


def _rows(measurement: Measurement) -> Iterator[tuple[object, ...]]:
    for panel in (measurement.overall, *measurement.groups):
        if panel.refusal is not None:
            yield panel.name, None, None, None, None, panel.rows, panel.refusal
        for metric, figure in panel.figures.items():
            yield _row(panel.name, metric, figure)
    for metric, figure in measurement.macro.items():
        yield _row(MACRO, metric, figure)


def _row(group: str, metric: str, figure: Figure) -> tuple[object, ...]:
    return group, metric, figure.value, figure.low, figure.high, figure.n, None
