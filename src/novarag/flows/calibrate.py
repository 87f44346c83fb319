"""Fit a calibration on graded answers, keep it as one small file, apply it to others."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.calibration.calibration import CalibratedRows, Calibration
from novarag.calibration.calibration_file import from_json, to_json
from novarag.calibration.graded_answers import shared_questions
from novarag.errors import UsageError
from novarag.flows.events import FileWritten, TableRead, silent
from novarag.flows.kept import read_kept, write_kept
from novarag.flows.remarks import calibrated_apart, remarked_rows
from novarag.flows.scores import columns_with_scores
from novarag.prose import say

if TYPE_CHECKING:
    from polars import DataFrame, Series

    from novarag.answers.opening.columns import Columns
    from novarag.calibration.gate import Gate
    from novarag.calibration.graded_answers import AnswerSource, GradedAnswers
    from novarag.flows.events import EventListener
    from novarag.strategies import Labels

CALIBRATED = ("calibrated", "calibrated_low", "calibrated_high", "calibration_note")
"""The columns that `apply_calibration` adds."""


def calibrate(
    answers: object,
    *,
    columns: Columns | None = None,
    reader: str | Labels | None = None,
    source: str | AnswerSource | None = None,
    out: str | Path | None = None,
    page: str | Path | None = None,
    seed: int = 0,
    on_event: EventListener = silent,
) -> Calibration:
    """Fit a calibration on graded answers: a map from stated confidence to a probability.

    With `scores` among the columns it is a map from these, and from the stated confidence where
    there is one, and says what each of them adds.

    Its figures are cross-validated by question. Fewer than 30 graded questions are refused.

    Args:
        answers: A table of graded answers: an `Answers`, or what `read_answers` takes, such as a
            file, a run's folder or a frame.
        columns: Which columns hold what, where their names do not say it; those of the evidence
            state, scores, a signal and a weight, too.
        reader: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column; None takes `nova`.
        source: The name of the model the answers are of, or an `AnswerSource`, which
            names the prompt too; None takes them from the columns `model` and `strategy`.
        out: A file (.json) to keep the calibration in; None keeps it in memory alone.
        page: A file (.html) for a page that shows what the calibration does.
        seed: Seed of the folds of the cross-validation, and of the draw of one answer a question,
            whose counts are kept to tell drift by.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.answers.opening.answers import read_answers

    taken = read_answers(answers, columns=columns, reader=reader, source=source)
    on_event(TableRead(taken.taken))
    rows = remarked_rows(taken, calibrated_apart)
    made = fit_graded(rows, seed=seed)
    if out is not None:
        save_calibration(made, out)
        on_event(FileWritten(Path(out)))
    if page is not None:
        from novarag.report.calibration import write_calibration_page

        on_event(FileWritten(write_calibration_page(made, rows, Path(page))))
    return made


def fit_graded(rows: GradedAnswers, *, seed: int = 0) -> Calibration:
    """Fit a calibration on graded rows, stamped with today's date and this version."""
    from novarag.calibration.fit_calibration import FitStamp, fit
    from novarag.version import __version__

    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return fit(rows, stamp=FitStamp(date=today, version=__version__, seed=seed))


def save_calibration(calibration: Calibration, path: str | Path) -> None:
    """Keep a calibration as one readable JSON file with a checksum of its own.

    Args:
        calibration: The calibration to keep.
        path: The file to write; an earlier one is replaced.
    """
    write_kept(to_json(calibration), path)


def load_calibration(path: str | Path) -> Calibration:
    """Read a calibration; a file that was changed by a byte is refused.

    Args:
        path: The file that `save_calibration` wrote, or `calibrate` with `out`.
    """
    content = read_kept(path, what="calibration", again=say("fit it again with `calibrate(...)`."))
    return from_json(content, source=str(path))


def as_calibration(given: str | Path | Calibration) -> Calibration:
    """Take a calibration, or the file of one."""
    if isinstance(given, (str, Path)):
        return load_calibration(given)
    if isinstance(given, Calibration):
        return given
    raise TypeError(f"calibration must be a Calibration or its file, not {type(given).__name__}")


def apply_calibration(
    answers: object,
    calibration: str | Path | Calibration,
    *,
    columns: Columns | None = None,
    reader: str | Labels | None = None,
    source: str | AnswerSource | None = None,
    other_source: bool = False,
    out: str | Path | None = None,
    on_event: EventListener = silent,
) -> DataFrame:
    """Add calibrated confidences to a table of answers, which need not be graded.

    The table gets the columns `calibrated`, `calibrated_low`, `calibrated_high` (90 %) and
    `calibration_note`.

    Args:
        answers: A table of answers: an `Answers`, or what `read_answers` takes, such as a file, a
            run's folder or a frame.
        calibration: The calibration to apply, or its file.
        columns: Which columns hold what, where their names do not say it; those of the evidence
            state and the calibration's signal, too.
        reader: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column; None takes `nova`.
        source: The name of the model the answers are of, or an `AnswerSource`, which
            names the prompt too; None takes them from the columns `model` and `strategy`.
        other_source: Apply it to answers of another model or prompt than it was fitted on, too,
            which is refused otherwise.
        out: A file (.csv, .parquet or .jsonl) for the table; None writes nothing.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.answers.opening.answers import read_answers
    from novarag.answers.opening.arrays import every_row
    from novarag.answers.opening.files import write_table
    from novarag.calibration.fused_rows import fuse_rows

    made = as_calibration(calibration)
    columns = name_scores(answers, columns, made)
    taken = read_answers(answers, columns=columns, reader=reader, source=source, graded=False)
    on_event(TableRead(taken.taken))
    table, rows = every_row(taken, made.signal and made.signal.name)
    if not other_source:
        check_source(made, rows.source)
    rows = fuse_rows(made, rows)
    states = [rows.state_name(number) for number in rows.state]
    applied = made.apply(rows.confidence, states, rows.signal)
    result = table.with_columns(calibrated_columns(applied, made.notes(rows.confidence, states)))
    if out is not None:
        write_table(result, Path(out))
        on_event(FileWritten(Path(out)))
    return result


def name_scores(
    answers: object, columns: Columns | None, made: Calibration | None
) -> Columns | None:
    """Name the scores that a calibration takes; answers that were read have theirs already."""
    from novarag.answers.opening.answers import Answers

    return columns if isinstance(answers, Answers) else columns_with_scores(columns, made)


def calibrated_columns(applied: CalibratedRows, notes: list[str | None]) -> list[Series]:
    """Lay out what a calibration makes of answers as the columns that a table gets."""
    import polars as pl

    return [
        *(pl.Series(n, v).fill_nan(None) for n, v in zip(CALIBRATED[:3], applied, strict=True)),
        pl.Series(CALIBRATED[3], notes, dtype=pl.String),
    ]


def check_source(made: Calibration | Gate, source: AnswerSource) -> None:
    """Refuse answers of another model or prompt than those a calibration or a gate came from."""
    differs = made.source.differs_from(source)
    if differs is None:
        return
    raise UsageError.saying(
        "the {} the {} {!r}, these answers are of {!r}. {} one on answers of that {}, or pass"
        " `other_source=True`.",
        "calibration was fitted on" if isinstance(made, Calibration) else "gate was set on",
        differs,
        getattr(made.source, differs),
        getattr(source, differs),
        "Fit" if isinstance(made, Calibration) else "Set",
        differs,
    )


def check_unseen(calibration: Calibration, rows: GradedAnswers) -> None:
    """Refuse to judge a calibration on questions that it was fitted on."""
    fitted = calibration.fitted
    if fitted is None:
        raise UsageError("this calibration does not say what it was fitted on")
    shared = shared_questions(fitted.known, rows.question_ids)
    if shared or fitted.digest == rows.digest:
        raise UsageError(
            f"{max(len(shared), 1):,} of these questions were used to fit the calibration, so it"
            " would be judged on what it has seen. Give other questions, or leave the calibration"
            " out and have one cross-fitted."
        )
