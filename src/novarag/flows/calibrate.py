"""Fit a calibration on graded answers, keep it as one small file, apply it to others."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.calibration.calibration import Calibration
from novarag.calibration.graded import Source
from novarag.calibration.known import shared_questions
from novarag.calibration.written import from_json, to_json
from novarag.errors import UsageError
from novarag.flows.events import Wrote, silent
from novarag.flows.kept import read_kept, write_kept

if TYPE_CHECKING:
    from polars import DataFrame

    from novarag.calibration.graded import Graded
    from novarag.datasets import Columns
    from novarag.flows.events import Tell
    from novarag.strategies import Labels
    from novarag.strategies.confidence import Scale

CALIBRATED = ("calibrated", "calibrated_low", "calibrated_high", "calibration_note")
"""The columns that `apply_calibration` adds."""


def calibrate(
    answers: object,
    *,
    columns: Columns | None = None,
    strategy: str | Labels = "nova",
    scale: Scale | None = None,
    model: str | None = None,
    prompt: str | None = None,
    out: str | Path | None = None,
    page: str | Path | None = None,
    seed: int = 0,
    on_event: Tell = silent,
) -> Calibration:
    """Fit a calibration on graded answers: a map from stated confidence to a probability.

    Its figures are cross-validated by question. Fewer than 30 graded questions are refused.

    Args:
        answers: A table of graded answers: a file or several, a run's folder, a `Run`, trials, a
            frame (polars, pandas, Arrow), or rows as dicts.
        columns: Which columns hold what, where their names do not say it; those of the evidence
            state, a signal and a weight, too.
        strategy: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column.
        scale: Whether bare confidences in raw replies are percents or shares: "percent" (0%-100%),
            "hundred" (0-100) or "unit" (0-1); None takes what the strategy asks for.
        model: Name of the model the answers are of; None takes it from the column `model`.
        prompt: Name of the strategy the answers were asked by; None takes it from the column
            `strategy`.
        out: A file (.json) to keep the calibration in; None keeps it in memory alone.
        page: A file (.html) for a page that shows what the calibration does.
        seed: Seed of the folds of the cross-validation, and of the draw of one answer a question,
            whose counts are kept to tell drift by.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.flows.graded import collect_graded

    rows = collect_graded(
        answers, columns=columns, strategy=strategy, scale=scale,
        source=Source.named(model, prompt), on_event=on_event,
    )  # fmt: skip
    made = fit_graded(rows, seed=seed)
    if out is not None:
        save_calibration(made, out)
        on_event(Wrote(Path(out)))
    if page is not None:
        from novarag.report.calibration import write_calibration_page

        on_event(Wrote(write_calibration_page(made, rows, Path(page))))
    return made


def fit_graded(rows: Graded, *, seed: int = 0) -> Calibration:
    """Fit a calibration on graded rows, stamped with today's date and this version."""
    from novarag.calibration.fitting import Stamp, fit
    from novarag.version import __version__

    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return fit(rows, stamp=Stamp(date=today, version=__version__, seed=seed))


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
    content = read_kept(path, what="calibration", again="fit it again with `calibrate(...)`.")
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
    strategy: str | Labels = "nova",
    scale: Scale | None = None,
    model: str | None = None,
    prompt: str | None = None,
    other_source: bool = False,
    out: str | Path | None = None,
    on_event: Tell = silent,
) -> DataFrame:
    """Add calibrated confidences to a table of answers, which need not be graded.

    The table gets the columns `calibrated`, `calibrated_low`, `calibrated_high` (90 %) and
    `calibration_note`.

    Args:
        answers: A table of answers: a file or several, a run's folder, a `Run`, trials, a frame
            (polars, pandas, Arrow), or rows as dicts.
        calibration: The calibration to apply, or its file.
        columns: Which columns hold what, where their names do not say it; those of the evidence
            state and the calibration's signal, too.
        strategy: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column.
        scale: Whether bare confidences in raw replies are percents or shares: "percent" (0%-100%),
            "hundred" (0-100) or "unit" (0-1); None takes what the strategy asks for.
        model: Name of the model the answers are of; None takes it from the column `model`.
        prompt: Name of the strategy the answers were asked by; None takes it from the column
            `strategy`.
        other_source: Apply it to answers of another model or prompt than it was fitted on, too,
            which is refused otherwise.
        out: A file (.csv, .parquet or .jsonl) for the table; None writes nothing.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    import polars as pl

    from novarag.datasets.files import write_table
    from novarag.flows.graded import collect_ungraded

    made = as_calibration(calibration)
    table, rows = collect_ungraded(
        answers, made.signal and made.signal.name, columns=columns, strategy=strategy, scale=scale,
        source=Source.named(model, prompt), on_event=on_event,
    )  # fmt: skip
    if not other_source:
        check_source(made, rows.source)
    states = [rows.state_name(number) for number in rows.state]
    applied = made.apply(rows.confidence, states, rows.signal)
    notes = made.notes(rows.confidence, states)
    added = [
        *(pl.Series(n, v).fill_nan(None) for n, v in zip(CALIBRATED[:3], applied, strict=True)),
        pl.Series(CALIBRATED[3], notes, dtype=pl.String),
    ]
    result = table.with_columns(added)
    if out is not None:
        write_table(result, Path(out))
        on_event(Wrote(Path(out)))
    return result


def check_source(calibration: Calibration, source: Source) -> None:
    """Refuse answers of another model or prompt than those a calibration was fitted on."""
    differs = calibration.source.differs_from(source)
    if differs is not None:
        ours, theirs = getattr(calibration.source, differs), getattr(source, differs)
        raise UsageError(
            f"the calibration was fitted on the {differs} {ours!r}, these answers are of"
            f" {theirs!r}. Fit one on answers of that {differs}, or pass `other_source=True`."
        )


def check_unseen(calibration: Calibration, rows: Graded) -> None:
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
