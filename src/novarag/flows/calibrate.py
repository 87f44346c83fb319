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


def fit_calibration(
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
    tell: Tell = silent,
) -> Calibration:
    """Fit a calibration on graded answers: a map from stated confidence to a probability.

    `answers`, `columns` and `strategy` are those of `measure`; `columns` also names evidence state,
    signal and weight. `model` and `prompt` say whose answers they are where the table does not.
    With `out` it is kept as one JSON file, with `page` a page shows what it does. Its figures are
    cross-validated by question. Fewer than 30 graded questions are refused.
    """
    from novarag.flows.graded import collect_graded

    rows = collect_graded(
        answers, columns=columns, strategy=strategy, scale=scale,
        source=Source.named(model, prompt), tell=tell,
    )  # fmt: skip
    made = fit_graded(rows, seed=seed)
    if out is not None:
        save_calibration(made, out)
        tell(Wrote(Path(out)))
    if page is not None:
        from novarag.report.calibration import write_calibration_page

        tell(Wrote(write_calibration_page(made, rows, Path(page))))
    return made


def fit_graded(rows: Graded, *, seed: int = 0) -> Calibration:
    """Fit a calibration on graded rows, stamped with today's date and this version."""
    from novarag.calibration.fitting import Stamp, fit
    from novarag.version import __version__

    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return fit(rows, stamp=Stamp(date=today, version=__version__, seed=seed))


def save_calibration(calibration: Calibration, path: str | Path) -> None:
    """Keep a calibration as one readable JSON file with a checksum of its own."""
    write_kept(to_json(calibration), path)


def load_calibration(path: str | Path) -> Calibration:
    """Read a calibration; a file that was changed by a byte is refused."""
    content = read_kept(path, what="calibration", again="fit it again with `fit_calibration(...)`.")
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
    tell: Tell = silent,
) -> DataFrame:
    """Add calibrated confidences to a table of answers, which need not be graded.

    The table gets the columns `calibrated`, `calibrated_low`, `calibrated_high` (90 %) and
    `calibration_note`. Answers of another model or prompt than the calibration's are refused unless
    `other_source`. With `out` the table is written there (.csv, .parquet or .jsonl).
    """
    import polars as pl

    from novarag.datasets.files import write_table
    from novarag.flows.graded import collect_ungraded

    made = as_calibration(calibration)
    table, rows = collect_ungraded(
        answers, made.signal and made.signal.name, columns=columns, strategy=strategy, scale=scale,
        source=Source.named(model, prompt), tell=tell,
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
        tell(Wrote(Path(out)))
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
