"""One table of answers, and one group of its rows while it is being measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from novarag.errors import UsageError
from novarag.metrics.baselines import (
    BASELINES,
    FOLDS,
    WORD_OVERLAP,
    folds,
    noise_floor,
    word_overlap,
)
from novarag.metrics.calibration import BINS, ConfidenceBins, make_bins, pool_bins
from novarag.metrics.panels import Panel, RiskCurve, UnreadBound
from novarag.metrics.questions import question_keys
from novarag.metrics.ranking import risk_curve
from novarag.metrics.table import METRICS
from novarag.metrics.tally import make_rows
from novarag.overlap import OVERLAPS
from novarag.stats.figure import Figure
from novarag.stats.resampling import inflated_interval, interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from novarag.metrics.table import Metric
    from novarag.metrics.tally import GradedRows
    from novarag.stats.arrays import Floats, Ints

LEAST_ROWS, LEAST_QUESTIONS = 50, 10
BASELINE_METRICS = ("brier", "ece", "auroc", "aurc")
BOUND_METRICS = ("accuracy", "brier", "ece", "auroc")
RATIOS = {
    "unread": ("unread", "rows"),
    "abstained": ("abstained", "graded"),
    "passage_judgment": ("passages_right", "passages_judged"),
    "group_judgment": ("group_right", "group_judged"),
}
"""Figures that are shares: what is counted, out of what."""

OVERLAP = "word_overlap"
"""The column with the five numbers of `novarag.overlap` for the passages of each row, if any."""

_COUNTED = ("passages_right", "passages_judged", "group_right", "group_judged", "abstained")


class AnswerColumns:
    """The columns of a frame as arrays, its questions and groups numbered."""

    def __init__(
        self,
        frame: pl.DataFrame,
        by: tuple[str, ...],
        *,
        min_rows: int = LEAST_ROWS,
        more: Sequence[Metric] = (),
    ) -> None:
        self.min_rows = min_rows
        self.metrics = METRICS | {m.name: m for m in more}
        missing = [c for c in ("question", "confidence", "correct", *by) if c not in frame.columns]
        if missing:
            raise UsageError(f"the table has no column {missing}; it has {frame.columns}")
        if nested := [c for c in by if frame[c].dtype.is_nested()]:
            raise UsageError(f"cannot group by {nested}: it holds lists or objects")
        if frame.is_empty():
            raise UsageError("the table has no rows")
        if frame["question"].has_nulls():
            raise UsageError("every row needs a question: rows of one question go together")
        self.questions, self.question = _codes(question_keys(frame["question"]).to_frame())
        self.groups, self.group = _codes(
            frame.select(group_name(by)) if by else frame.select(pl.repeat("all", pl.len()))
        )
        self.fold = folds(self.questions)
        self.confidence = frame["confidence"].cast(pl.Float64).to_numpy()
        self.unread = np.isnan(self.confidence)
        if not ((self.confidence >= 0) & (self.confidence <= 1) | self.unread).all():
            raise UsageError("confidence must lie in [0, 1]; divide percents by 100")
        correct = frame["correct"].drop_nulls()
        if correct.dtype != pl.Boolean and not correct.cast(pl.Float64).is_in([0.0, 1.0]).all():
            raise UsageError("correct must be true or false, or 1 or 0")
        graded = frame["correct"].cast(pl.Boolean)
        self.ungraded = graded.is_null().to_numpy()
        self.correct = graded.fill_null(value=False).to_numpy()
        self.evidence = ~self.ungraded | (self.unread & self._graded_by_gold(frame))
        self.overlap = _overlap(frame)
        self.flaw = frame["flaw"].cast(pl.String) if "flaw" in frame.columns else None
        self.counts = {
            name: frame[name].cast(pl.Float64).fill_null(0).to_numpy()
            for name in _COUNTED
            if name in frame.columns
        }
        self.counts["rows"] = np.ones(frame.height)
        self.counts["unread"] = self.unread.astype(np.float64)
        self.counts["graded"] = (~self.ungraded).astype(np.float64)

    def _graded_by_gold(self, frame: pl.DataFrame) -> bool:
        """Say whether our own grader was at work, which leaves out nothing that could be read.

        Where people grade some answers of a log, an unread reply without a grade was not looked
        at. Where gold answers grade all, it has none only because it could not be read.
        """
        if "abstained" not in frame.columns or (self.ungraded & ~self.unread).any():
            return False
        return bool((frame["abstained"].is_null().to_numpy() == self.ungraded).all())


def group_name(by: Sequence[str]) -> pl.Expr:
    """Name the group of each row: the values of its columns, joined."""
    return pl.concat_str([_label(c) for c in by], separator=" · ")


def _overlap(frame: pl.DataFrame) -> Floats | None:
    """Return the numbers of each row's passages, with NaN in rows whose passages nobody knows."""
    if OVERLAP not in frame.columns:
        return None
    rows = frame[OVERLAP].cast(pl.Array(pl.Float64, len(OVERLAPS)))
    unknown = pl.Series([[np.nan] * len(OVERLAPS)], dtype=rows.dtype)
    return rows.zip_with(rows.is_not_null(), unknown).to_numpy()


def _label(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null("?")


def _codes(column: pl.DataFrame) -> tuple[list[str], Ints]:
    """Name the distinct values in sorted order, and number each row by them."""
    values = column.to_series()
    names = values.unique().sort()
    codes = values.cast(pl.Enum(names)).to_physical()
    return names.to_list(), codes.to_numpy().astype(np.intp)


class GroupView:
    """One group of rows: its tally now, its figures under every replicate."""

    def __init__(
        self, name: str, mask: NDArray[np.bool_], table: AnswerColumns, replicates: int
    ) -> None:
        self.name, self.mask, self.table = name, mask, table
        self.kept = mask & ~table.unread & ~table.ungraded
        self.refusal = self._refused()
        if self.refusal:
            return
        self.rows = make_rows(
            table.confidence[self.kept], table.correct[self.kept], table.question[self.kept]
        )
        self.tally = self.rows.tally()
        self.rivals = self._rivals()
        self.totals = self._totals()
        self.samples = {
            m.name: np.full(_share(m, replicates), np.nan) for m in table.metrics.values()
        }
        self.rival_samples = {
            name: {m: np.full(replicates, np.nan) for m in BASELINE_METRICS if not METRICS[m].ranks}
            for name in self.rivals
        }
        self.ratio_samples = {name: np.full(replicates, np.nan) for name in self.totals}
        self.bin_samples = np.full((replicates, BINS), np.nan)

    @property
    def unread_graded(self) -> int:
        """How many unread rows are evidence: those with a grade."""
        return int((self.mask & self.table.unread & self.table.evidence).sum())

    def _refused(self) -> str | None:
        """Say why these rows are too few to measure, if they are."""
        t = self.table
        n, questions = int(self.kept.sum()), np.unique(t.question[self.kept]).size
        unread, ungraded = (int((self.mask & m).sum()) for m in (t.unread, t.ungraded & ~t.unread))
        rest = f" ({unread} unread, {ungraded} ungraded)" if unread + ungraded else ""
        if n < t.min_rows:
            return f"{n} read and graded rows{rest}, fewer than the {t.min_rows} a figure needs"
        if questions < LEAST_QUESTIONS:
            return f"{questions} questions, fewer than the {LEAST_QUESTIONS} an interval needs"
        return None

    def _rivals(self) -> dict[str, GradedRows]:
        """The rows again, with each baseline's confidence in place of the stated one."""
        group = self.table.group[self.kept]
        several = np.unique(group).size > 1
        stated = {
            name: make(self.rows, self.table.fold, group)
            for name, make in BASELINES.items()
            if several or name != "base rate"
        }
        overlap = None if self.table.overlap is None else self.table.overlap[self.kept]
        if overlap is not None and not np.isnan(overlap).any() and np.ptp(overlap, axis=0).any():
            stated[WORD_OVERLAP] = word_overlap(
                overlap, self.rows.correct, self.rows.question, self.table.fold
            )
        return {
            name: make_rows(confidence, self.rows.correct, self.rows.question)
            for name, confidence in stated.items()
        }

    def _totals(self) -> dict[str, tuple[Floats, Floats]]:
        """Each ratio's two counts, added up by question."""
        size, question = len(self.table.questions), self.table.question[self.mask]
        counts = {
            name: np.bincount(question, column[self.mask], size).astype(np.float64)
            for name, column in self.table.counts.items()
        }
        return {
            name: (counts[part], counts[whole])
            for name, (part, whole) in RATIOS.items()
            if part in counts and counts[whole].any()
        }

    def resample(self, weights: Floats, done: int, replicates: int) -> None:
        """Compute every figure of one chunk of replicates."""
        end = done + len(weights)
        t = self.rows.tally(weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            for m in self.table.metrics.values():
                take = min(end, _share(m, replicates)) - done
                if m.interval and take > 0:
                    part = replace(t, right=t.right[:take], wrong=t.wrong[:take])
                    self.samples[m.name][done : done + take] = m.of(part)
            self.bin_samples[done:end] = pool_bins(t.right, t.level) / pool_bins(t.count, t.level)
            for name, wanted in self.rival_samples.items():
                rival = self.rivals[name].tally(weights)
                for metric, out in wanted.items():
                    out[done:end] = METRICS[metric].of(rival)
            for name, (part_of, whole) in self.totals.items():
                self.ratio_samples[name][done:end] = (weights @ part_of) / (weights @ whole)

    def panel(self, *, seed: int) -> Panel:
        """Draw up what is known of these rows."""
        t = self.table
        panel = Panel(
            name=self.name,
            rows=int(self.mask.sum()),
            questions=int(np.unique(t.question[self.mask]).size),
            read=int((self.mask & ~t.unread).sum()),
            ungraded=int((self.mask & t.ungraded & ~t.unread).sum()),
            flaws=self._flaws(),
            refusal=self.refusal,
            unread_graded=self.unread_graded,
        )
        if self.refusal:
            return panel
        floor = noise_floor(self.rows, seed=seed)
        return replace(
            panel,
            figures=self._figures(above_noise=float(METRICS["ece"].of(self.tally)) > floor.line),
            bounds=self._bounds(),
            baselines={name: self._rival(name) for name in self.rivals},
            worth=self._gain_over_constant(),
            floor=floor,
            bins=self._bins(),
            curve=RiskCurve(*risk_curve(self.tally)),
        )

    def _flaws(self) -> dict[str, int]:
        if self.table.flaw is None:
            return {}
        flaws = self.table.flaw.filter(pl.Series(self.mask & self.table.unread))
        return dict(flaws.fill_null("no reason given").value_counts(sort=True).iter_rows())

    def _figures(self, *, above_noise: bool) -> dict[str, Figure]:
        figures = {}
        for m in self.table.metrics.values():
            value = float(m.of(self.tally))
            low, high = figure_interval(m, value, self.samples[m.name])
            if m.inflated and m.better < 0 and not above_noise and low is not None:
                low = 0.0
            figures[m.name] = Figure(value, low, high, self.rows.size)
        self._widen(figures)
        for name, (part, whole) in self.totals.items():
            bounds = interval(self.ratio_samples[name])
            figures[name] = Figure(float(part.sum() / whole.sum()), *bounds, int(whole.sum()))
        return figures

    def _bounds(self) -> dict[str, UnreadBound]:
        """Count unread rows with a grade as wrong, at no confidence and at full confidence."""
        n = self.unread_graded
        if n == 0:
            return {}
        correct = np.append(self.rows.correct, np.zeros(n, dtype=np.bool_))
        stated = self.rows.level[self.rows.at]
        zero, full = np.append(stated, np.zeros(n)), np.append(stated, np.ones(n))
        return {
            name: UnreadBound(METRICS[name](zero, correct), METRICS[name](full, correct))
            for name in BOUND_METRICS
        }

    def _rival(self, name: str) -> dict[str, Figure]:
        rows, figures = self.rivals[name], {}
        for m in (METRICS[metric] for metric in BASELINE_METRICS):
            if m.ranks:
                figures[m.name] = Figure(self._by_fold(m, rows), None, None, rows.size)
            else:
                value = float(m.of(rows.tally()))
                bounds = figure_interval(m, value, self.rival_samples[name][m.name])
                figures[m.name] = Figure(value, *bounds, rows.size)
        return figures

    def _gain_over_constant(self) -> Figure:
        """Compare the stated confidence with the constant, over the same replicates."""
        constant = float(METRICS["brier"].of(self.rivals["constant"].tally()))
        drawn = self.rival_samples["constant"]["brier"] - self.samples["brier"]
        value = constant - float(METRICS["brier"].of(self.tally))
        return Figure(value, *interval(drawn), self.rows.size)

    def _widen(self, figures: dict[str, Figure]) -> None:
        """Give accuracy an exact interval where all answers are right, or all wrong.

        Resampling such rows shows no spread; the number of questions still leaves room.
        """
        accuracy, gap = figures["accuracy"], figures["overconfidence"]
        if 0 < accuracy.value < 1:
            return
        room = 1 - 0.025 ** (1 / np.unique(self.rows.question).size)
        low, high = (1 - room, 1.0) if accuracy.value == 1 else (0.0, room)
        stated = figures["mean_confidence"].value
        figures["accuracy"] = replace(accuracy, low=low, high=high)
        figures["overconfidence"] = replace(gap, low=stated - high, high=stated - low)

    def _by_fold(self, m: Metric, rows: GradedRows) -> float:
        """Average a rank metric over folds: two folds' fits are not on one scale."""
        own = self.table.fold[rows.question]
        parts = [rows.pick(own == f).tally() for f in range(FOLDS) if (own == f).any()]
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.array([float(m.of(t)) for t in parts])
        weight = np.array([float(t.total) for t in parts])
        known = ~np.isnan(values)
        return float(np.average(values[known], weights=weight[known])) if known.any() else np.nan

    def _bins(self) -> ConfidenceBins:
        """Bin the tally; a bin's interval is the wider of the exact and the resampled one."""
        bins = make_bins(self.tally)
        low, high = bins.low.copy(), bins.high.copy()
        for b in range(BINS):
            drawn = interval(self.bin_samples[:, b])
            if drawn[0] is not None and drawn[1] is not None:
                low[b], high[b] = min(low[b], drawn[0]), max(high[b], drawn[1])
        return replace(bins, low=low, high=high)


def _share(m: Metric, replicates: int) -> int:
    return max(1, replicates // 10) if m.costly else replicates


def figure_interval(m: Metric, value: float, samples: Floats) -> tuple[float | None, float | None]:
    """Return the interval that suits the metric, or no interval."""
    if not m.interval:
        return None, None
    return inflated_interval(value, samples) if m.inflated else interval(samples)
