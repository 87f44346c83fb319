"""Answers with scores in place of a stated confidence: what the verbs make of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.errors import UsageError

if TYPE_CHECKING:
    from novarag.answers.opening.answers import Answers
    from novarag.answers.opening.columns import Columns
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.calibration.signal_fusion import SignalFusion
    from novarag.stats.arrays import Floats


def columns_with_scores(columns: Columns | None, calibration: Calibration | None) -> Columns | None:
    """Name the scores that a calibration takes, where nobody named any."""
    from novarag.answers.opening.columns import Columns
    from novarag.calibration.signal_fusion import STATED_SIGNAL

    fusion = None if calibration is None else calibration.fusion
    if fusion is None or (columns is not None and columns.scores):
        return columns
    wanted = tuple(
        f"{signal.name}:{'lower' if signal.lower else 'higher'}"
        for signal in fusion.signals
        if signal.name != STATED_SIGNAL
    )
    return replace(columns or Columns(), scores=wanted)


def fuse_answers(answers: Answers, *, seed: int) -> Answers:
    """Put cross-fitted scores in the place of the confidences of graded answers.

    Each answer is scored by a fit on other questions; ungraded ones by a fit on all. Answers
    without scores stay as they are.
    """
    from novarag.answers.opening.arrays import table_rows
    from novarag.calibration.fit_calibration import LEAST_QUESTIONS, cross_fit
    from novarag.calibration.fused_rows import fit_row_fusion, fuse_table

    if not answers.columns.scores:
        return answers
    rows = table_rows(answers.table, answers.columns, answers.source)
    graded = answers.table["correct"].is_not_null().to_numpy()
    known = rows.rows(graded)
    if known.questions < LEAST_QUESTIONS:
        raise UsageError(
            f"{known.questions} graded questions are too few to make a confidence of scores:"
            f" {LEAST_QUESTIONS} are the least."
        )
    fusion = fit_row_fusion(known.rows(known.read))
    made = fuse_table(fusion, rows)
    made[graded] = cross_fit(known, seed=seed)
    note = (
        f"Confidences here are made of {_words(fusion)}; each by a fit on other questions"
        " (cross-fitted)."
    )
    return _scored(answers, made, note)


def score_answers(answers: Answers, calibration: Calibration) -> Answers:
    """Put a calibration's confidences in the place of those of answers with scores."""
    from novarag.answers.opening.arrays import table_rows
    from novarag.calibration.fused_rows import calibrate_rows

    rows = table_rows(answers.table, answers.columns, answers.source)
    made = calibrate_rows(calibration, rows).probability
    fitted = calibration.fitted
    on = f" fitted on {fitted.questions:,} other questions" if fitted else ""
    return _scored(answers, made, f"Confidences here are those of a calibration{on}.")


def _scored(answers: Answers, made: Floats, note: str) -> Answers:
    import polars as pl

    names = [score.name for score in answers.columns.score_columns]
    table = answers.table.drop([name for name in names if name != "confidence"])
    return replace(
        answers,
        table=table.with_columns(confidence=pl.Series(made, dtype=pl.Float64).fill_nan(None)),
        columns=replace(answers.columns, scores=(), confidence="confidence"),
        notes=(*answers.notes, note),
    )


def ranked_rows(rows: GradedAnswers) -> GradedAnswers:
    """Put ranks of scores in the place of confidences that nobody stated; no grade is looked at."""
    from novarag.calibration.fused_rows import in_place, mean_ranks

    if rows.scores is None or rows.states_confidence:
        return rows
    return in_place(rows, mean_ranks(rows.scores))


def needs_calibration(rows: GradedAnswers) -> None:
    """Refuse to set a gate on scores that nothing makes one of."""
    if rows.scores is not None:
        raise UsageError.saying(
            "a gate is set on one number from 0 to 1, which a calibration makes of `scores`: pass"
            " `split='calibration.json'` to have one fitted on half of the questions, or a"
            " `calibration`"
        )


def _words(fusion: SignalFusion) -> str:
    """Name the signals of a fusion with their directions."""
    from novarag.report.fusion import shown_name, way_of

    return ", ".join(f"{shown_name(one.name)!r} ({way_of(one)})" for one in fusion.signals)
