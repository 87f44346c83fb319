"""Measure how honest stated confidences are, also beside calibrated ones, and write a report."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.defaults import MEASURE
from novarag.errors import UsageError
from novarag.flows.decisions import decide_panels, examples_behind
from novarag.flows.events import FileWritten, PartsProgress, TableRead, silent
from novarag.flows.remarks import gate_refusals, measured_apart, table_remarks
from novarag.flows.scores import fuse_answers, score_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polars import DataFrame

    from novarag.answers.opening.answers import Answers
    from novarag.answers.opening.columns import Columns
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.flows.events import EventListener
    from novarag.metrics import Measurement, Metric
    from novarag.report import Heading
    from novarag.stats.arrays import Floats
    from novarag.strategies import Labels

TITLE = "How honest is the confidence?"
REPLICATES = MEASURE.replicates
"""Bootstrap replicates behind each interval, unless told otherwise."""


def measure(
    answers: object,
    *,
    by: str | Sequence[str] = (),
    columns: Columns | None = None,
    reader: str | Labels | None = None,
    kind_shares: str | Path | Mapping[str, float] | None = None,
    calibration: str | Path | Calibration | None = None,
    calibrate: bool = False,
    other_source: bool = False,
    out: str | Path | None = None,
    title: str = TITLE,
    notes: Sequence[str] = (),
    texts: bool = True,
    replicates: int = REPLICATES,
    seed: int = 0,
    min_rows: int | None = None,
    metrics: Sequence[str | Metric] = (),
    on_event: EventListener = silent,
) -> Measurement:
    """Measure calibration, discrimination and selective risk, with intervals and baselines.

    Intervals resample questions, not rows.

    Args:
        answers: A table of graded answers: an `Answers`, or what `read_answers` takes, such as a
            file, a run's folder or a frame.
        by: A column, or several, whose groups are measured each by itself, too.
        columns: Which columns hold what, where their names do not say it. With `scores` among them
            a confidence is made of these, cross-fitted, and measured.
        reader: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column; None takes `nova`.
        kind_shares: Shares of the kinds of groups, as a mapping or the profile.json of
            `annotate`: the answers are weighed to that mix, too.
        calibration: A calibration or its file, whose confidences are set beside the stated ones. It
            must not have seen these questions.
        calibrate: Set calibrated confidences beside the stated ones, each by a fit on other
            questions of the same table (cross-fitted).
        other_source: Take a `calibration` fitted on answers of another model or prompt, which is
            refused otherwise.
        out: A folder for report.html, report.md and report.json; None writes nothing.
        title: Title of the report.
        notes: Notes that stand before the measurement's own.
        texts: Show some questions and answers in the report, where the table has their texts.
        replicates: Bootstrap replicates behind each interval.
        seed: Seed of the bootstrap, of the folds of `calibrate`, and of the rows drawn for
            thresholds and examples.
        min_rows: Least number of rows that get figures; None stands for 50.
        metrics: Metrics of one's own, each a `Metric` or "package.module:OBJECT", which stand
            beside ours.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.answers.opening.answers import read_answers
    from novarag.answers.opening.beside import add_overlap
    from novarag.flows.calibrate import as_calibration, name_scores
    from novarag.metrics import LEAST_ROWS, measure_table

    by = (by,) if isinstance(by, str) else tuple(by)
    wanted = _mix(kind_shares)
    made = None if calibration is None else as_calibration(calibration)
    columns = name_scores(answers, columns, made)
    read = add_overlap(read_answers(answers, columns=columns, reader=reader))
    on_event(TableRead(read.taken))
    taken = _without_scores(read, made, calibrate=calibrate, other_source=other_source, seed=seed)
    set_apart = calibrate or (made is not None and taken is read)
    said = [*notes, *taken.notes]
    stated = taken.table
    if set_apart:
        from novarag.report.verdict import BESIDE

        table, note = set_beside(taken, made, seed=seed, other_source=other_source)
        taken, by, said = replace(taken, table=table), (BESIDE, *by), [*said, note]
    resampling = (replicates, seed)
    if wanted is not None:  # first, as it may be refused
        said += _weigh(taken.table, wanted, out, by, resampling, on_event)
    found = measure_table(
        taken.table, by=by, replicates=replicates, seed=seed,
        min_rows=LEAST_ROWS if min_rows is None else min_rows, metrics=metrics,
        progress=_progress(on_event, replicates),
    )  # fmt: skip
    if taken.table is not stated:  # both kinds of confidence together are no answers of anybody
        alone = measure_table(stated, replicates=replicates, seed=seed, metrics=metrics)
        found = replace(found, overall=alone.overall)
    said += table_remarks(stated, taken.columns, measured_apart, apart=by)
    said += gate_refusals(stated, apart=by)
    if taken.rows_stand_alone:
        said.append("Every row counts as its own question.")
    decisions = decide_panels(taken.table, found, recalibrate=taken.table is stated, seed=seed)
    found = replace(found, notes=tuple(said), sources=taken.places, decisions=decisions)
    if out is not None:
        from novarag.report import write_report

        heading = make_heading(title, sources=found.sources, notes=found.notes)
        heading = replace(heading, apart=taken.table is not stated)
        shown = examples_behind(taken.table, found, taken.columns, seed=seed) if texts else {}
        for path in write_report(found, heading, Path(out), examples=shown):
            on_event(FileWritten(path))
    return found


def _without_scores(
    taken: Answers,
    calibration: Calibration | None,
    *,
    calibrate: bool,
    other_source: bool,
    seed: int,
) -> Answers:
    """Make a confidence of scores, unless it is to be set beside a stated one."""
    from novarag.answers.opening.arrays import known_rows
    from novarag.flows.calibrate import check_source, check_unseen

    stated = taken.table["confidence"].is_not_null().any()
    if not taken.columns.scores or (stated and (calibrate or calibration is not None)):
        return taken
    if calibrate:
        raise UsageError.saying(
            "confidences made of `scores` are calibrated already; leave out `calibrate`"
        )
    if calibration is None:
        return fuse_answers(taken, seed=seed)
    rows = known_rows(taken)
    check_unseen(calibration, rows)
    if not other_source:
        check_source(calibration, rows.source)
    return score_answers(taken, calibration)


def make_heading(title: str, *, sources: Sequence[str], notes: Sequence[str]) -> Heading:
    """Say what a report is about, made today by this version."""
    from novarag.report import Heading
    from novarag.version import __version__

    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return Heading(title=title, sources=sources, made=today, version=__version__, notes=notes)


def _progress(on_event: EventListener, replicates: int) -> Callable[[int], None]:
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        on_event(PartsProgress("resampling", done, replicates))

    return progress


def _mix(mix: str | Path | Mapping[str, float] | None) -> Mapping[str, float] | None:
    from novarag.datasets.mix import read_mix

    return read_mix(Path(mix)) if isinstance(mix, (str, Path)) else mix


def _weigh(
    table: DataFrame,
    wanted: Mapping[str, float],
    out: str | Path | None,
    by: Sequence[str],
    resampling: tuple[int, int],
    on_event: EventListener,
) -> list[str]:
    """Weigh the answers to a mix, and say what comes of it."""
    from novarag.atomic import write_whole
    from novarag.metrics import reweigh
    from novarag.report.mix_words import mixed_json, mixed_notes

    replicates, seed = resampling
    found = reweigh(table, wanted, replicates=replicates, seed=seed)
    if out is not None:
        path = Path(out) / "mixed.json"
        write_whole(path, mixed_json(found).encode())
        on_event(FileWritten(path))
    pooled = bool(by) and table.select(by).n_unique() > 1
    return mixed_notes(found, pooled=by if pooled else ())


def set_beside(
    answers: Answers,
    calibration: str | Path | Calibration | None,
    *,
    seed: int,
    other_source: bool = False,
) -> tuple[DataFrame, str]:
    """Return the answers twice, with stated and with calibrated confidences, and what was done.

    Without a calibration each answer is calibrated by a fit on other questions of the table.
    """
    import polars as pl

    from novarag.answers.opening.arrays import table_rows
    from novarag.flows.calibrate import as_calibration
    from novarag.report.verdict import BESIDE, CALIBRATED, STATED

    table = answers.table
    if BESIDE in table.columns:
        raise UsageError(f"the table has a column {BESIDE!r} of its own; give it another name")
    graded = table.filter(pl.col("correct").is_not_null())
    rows = table_rows(graded, answers.columns, answers.source)
    if calibration is None:
        made, note = _cross_fitted(rows, seed)
    else:
        made, note = _applied(rows, as_calibration(calibration), other_source=other_source)
    after = graded.with_columns(confidence=pl.Series(made).fill_nan(None))
    both = pl.concat(
        [
            graded.with_columns(pl.lit(STATED).alias(BESIDE)),
            after.with_columns(pl.lit(CALIBRATED).alias(BESIDE)),
        ]
    )
    return both, note


def _cross_fitted(rows: GradedAnswers, seed: int) -> tuple[Floats, str]:
    from novarag.calibration.fit_calibration import FOLDS, LEAST_QUESTIONS, cross_fit

    if rows.questions < LEAST_QUESTIONS:
        raise UsageError(f"{rows.questions} graded questions are too few to calibrate on")
    note = (
        f"Calibrated confidences are cross-fitted: each by a fit on the other {FOLDS - 1} of"
        f" {FOLDS} folds of questions."
    )
    return cross_fit(rows, seed=seed), note


def _applied(rows: GradedAnswers, made: Calibration, *, other_source: bool) -> tuple[Floats, str]:
    from novarag.calibration.fused_rows import calibrate_rows
    from novarag.flows.calibrate import check_source, check_unseen

    check_unseen(made, rows)
    if not other_source:
        check_source(made, rows.source)
    fitted = made.fitted
    on = f"{fitted.questions:,} other questions" if fitted else "other questions"
    note = f"Calibrated confidences are by a calibration fitted on {on}."
    return calibrate_rows(made, rows).probability, note
