"""`measure_table`: a table of answers in, figures with intervals out, never one figure alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import ndtr

from novarag.defaults import MEASURE
from novarag.metrics.panels import Measurement, PairedDifference
from novarag.metrics.table import METRICS, Metric, find_metrics
from novarag.metrics.views import LEAST_ROWS, AnswerColumns, GroupView, figure_interval
from novarag.rows import tabulate
from novarag.stats.corrections import holm
from novarag.stats.figure import Figure
from novarag.stats.resampling import draws, interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from novarag.records import Trial

HEADLINES = tuple(name for name, m in METRICS.items() if m.headline)
"""Metrics on which groups of a measurement are compared."""


def measure_table(  # noqa: PLR0913 - settings of one measurement, by keyword
    trials: pl.DataFrame | Iterable[Trial],
    *,
    by: str | Sequence[str] = (),
    replicates: int = MEASURE.replicates,
    seed: int = MEASURE.seed,
    min_rows: int = LEAST_ROWS,
    metrics: Iterable[str | Metric] = (),
    progress: Callable[[int], None] | None = None,
) -> Measurement:
    """Measure calibration, discrimination and selective risk, with intervals and baselines.

    A frame has the columns `question`, `confidence` (null where the reply could not be read) and
    `correct` (null where nobody graded it); `by` names columns to group by. Intervals resample
    questions, not rows. Fewer than `min_rows` rows get no figures. `metrics` of one's own stand
    beside those of the table, as objects or as package.module:OBJECT. `progress` is called with
    the number of replicates just done.
    """
    frame = trials if isinstance(trials, pl.DataFrame) else tabulate(trials)
    by = (by,) if isinstance(by, str) else tuple(by)
    own = find_metrics(metrics)
    table = AnswerColumns(frame, by, min_rows=min_rows, more=own)
    whole = GroupView("all", np.ones(frame.height, dtype=np.bool_), table, replicates)
    groups = [
        GroupView(name, table.group == i, table, replicates) for i, name in enumerate(table.groups)
    ]
    groups = groups if by else []
    _resample([whole, *groups], table, replicates, seed, progress)
    known_groups = [view for view in groups if view.refusal is None]
    return Measurement(
        overall=whole.panel(seed=seed),
        groups=tuple(view.panel(seed=seed) for view in groups),
        macro=_macro(known_groups),
        differences=_differences(known_groups, HEADLINES),
        by=by,
        replicates=replicates,
        seed=seed,
        metrics=own,
    )


def compare_groups(
    frame: pl.DataFrame,
    metrics: Iterable[str],
    *,
    by: str,
    replicates: int = MEASURE.replicates,
    seed: int = MEASURE.seed,
) -> tuple[tuple[GroupView, ...], tuple[PairedDifference, ...]]:
    """Compare every two groups of a table on these metrics alone, over the same replicates.

    A group of too few rows says so in its `refusal`, and is not compared.
    """
    table = AnswerColumns(frame, (by,))
    groups = tuple(
        GroupView(name, table.group == i, table, replicates) for i, name in enumerate(table.groups)
    )
    _resample(groups, table, replicates, seed, None)
    known = [view for view in groups if view.refusal is None]
    return groups, _differences(known, tuple(metrics))


def _resample(
    views: Sequence[GroupView],
    table: AnswerColumns,
    replicates: int,
    seed: int,
    progress: Callable[[int], None] | None,
) -> None:
    """Compute every figure of every group under the same replicates."""
    known = [view for view in views if view.refusal is None]
    width = max((view.rows.level.size for view in known), default=1)
    done = 0
    for weights in draws(len(table.questions), replicates, seed=seed, width=width):
        for view in known:
            view.resample(weights, done, replicates)
        done += len(weights)
        if progress is not None:
            progress(len(weights))


def _macro(views: list[GroupView]) -> dict[str, Figure]:
    """Average every metric over the groups that could be measured, each group counting once."""
    if len(views) < 2:
        return {}
    n = sum(view.rows.size for view in views)
    figures = {}
    for m in views[0].table.metrics.values():
        value = float(np.mean([float(m.of(view.tally)) for view in views]))
        samples = np.mean([view.samples[m.name] for view in views], axis=0)
        figures[m.name] = Figure(value, *figure_interval(m, value, samples), n)
    return figures


def _differences(views: list[GroupView], metrics: Sequence[str]) -> tuple[PairedDifference, ...]:
    """Compare every two groups on some metrics; Holm over the pairs of each metric by itself.

    Whoever asks whether groups differ in a figure looks at the pairs of that figure. Figures go
    together (a worse accuracy is a worse Brier), so that a correction over all of them would take
    the power to see any; what is said of several figures says that each was corrected by itself.
    """
    found: list[PairedDifference] = []
    for name in metrics:
        of = METRICS[name].of
        pairs = [
            _difference(name, one, other)
            for one, other in combinations(views, 2)
            if not np.isnan(float(of(one.tally)) - float(of(other.tally)))
        ]
        adjusted = holm(np.array([d.p for d in pairs])) if pairs else ()
        found += [replace(d, p_holm=float(p)) for d, p in zip(pairs, adjusted, strict=True)]
    return tuple(found)


def _difference(metric: str, one: GroupView, other: GroupView) -> PairedDifference:
    m = METRICS[metric]
    value = float(m.of(one.tally)) - float(m.of(other.tally))
    drawn = one.samples[metric] - other.samples[metric]
    known = drawn[~np.isnan(drawn)]
    spread = float(known.std(ddof=1)) if known.size > 1 else 0.0
    p = float(2 * ndtr(-abs(value) / spread)) if spread > 0 else float(value == 0)
    return PairedDifference(
        metric=metric,
        one=one.name,
        other=other.name,
        figure=Figure(value, *interval(drawn), one.rows.size + other.rows.size),
        shared_questions=int(np.intersect1d(one.rows.question, other.rows.question).size),
        p=p,
        p_holm=p,
    )
