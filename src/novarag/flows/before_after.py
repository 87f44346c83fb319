"""Stated and calibrated confidences of the same answers, set beside each other in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.flows.calibrate import as_calibration, check_source, check_unseen
from novarag.report.stated_and_calibrated import BESIDE, CALIBRATED, STATED

if TYPE_CHECKING:
    from pathlib import Path

    from polars import DataFrame

    from novarag.answers.opening.answers import Answers
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.stats.arrays import Floats


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
    check_unseen(made, rows)
    if not other_source:
        check_source(made, rows.source)
    states = [rows.state_name(number) for number in rows.state]
    fitted = made.fitted
    on = f"{fitted.questions:,} other questions" if fitted else "other questions"
    note = f"Calibrated confidences are by a calibration fitted on {on}."
    return made.apply(rows.confidence, states, rows.signal).probability, note
