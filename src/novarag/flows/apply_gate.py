"""Apply a gate to a table of answers: which of them may be given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from novarag.calibration.calibration_file import check_score
from novarag.calibration.gate import KIND, STATED
from novarag.flows.calibrate import as_calibration, calibrated_columns, check_source, name_scores
from novarag.flows.events import FileWritten, TableRead, silent
from novarag.flows.gate import as_gate
from novarag.flows.scores import needs_calibration
from novarag.scoring.decisions import decide_by_gate
from novarag.sealed_json import unseal

if TYPE_CHECKING:
    from polars import DataFrame

    from novarag.answers.opening.columns import Columns
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.calibration.graded_answers import AnswerSource
    from novarag.flows.events import EventListener
    from novarag.strategies import Labels

DECIDED = ("decision", "decision_reason")
"""The columns that `apply_gate` adds."""


def apply_gate(
    answers: object,
    gate: str | Path | Gate,
    *,
    calibration: str | Path | Calibration | None = None,
    columns: Columns | None = None,
    reader: str | Labels | None = None,
    source: str | AnswerSource | None = None,
    other_source: bool = False,
    out: str | Path | None = None,
    on_event: EventListener = silent,
) -> DataFrame:
    """Add a gate's decisions to a table of answers, which need not be graded.

    The table gets the columns `decision` ("answer" or "abstain") and `decision_reason`, and with a
    calibration those of `apply_calibration`, too.

    Args:
        answers: A table of answers: an `Answers`, or what `read_answers` takes, such as a file, a
            run's folder or a frame.
        gate: The gate to apply, or its file.
        calibration: The calibration that the gate was set with, or its file; None for a gate on
            stated confidences.
        columns: Which columns hold what, where their names do not say it; those of the evidence
            state and the calibration's signal, too.
        reader: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column; None takes `nova`.
        source: The name of the model the answers are of, or an `AnswerSource`, which
            names the prompt too; None takes them from the columns `model` and `strategy`.
        other_source: Apply it to answers of another model or prompt than it was set on, too, which
            is refused otherwise.
        out: A file (.csv, .parquet or .jsonl) for the table; None writes nothing.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    import polars as pl

    from novarag.answers.opening.answers import read_answers
    from novarag.answers.opening.arrays import every_row
    from novarag.answers.opening.files import write_table
    from novarag.calibration.fused_rows import fuse_rows

    chosen = as_gate(gate)
    made = None if calibration is None else as_calibration(calibration)
    if chosen.score != STATED:
        check_score(chosen, made)
    signal = None if made is None or made.signal is None else made.signal.name
    columns = name_scores(answers, columns, made)
    taken = read_answers(answers, columns=columns, reader=reader, source=source, graded=False)
    on_event(TableRead(taken.taken))
    table, rows = every_row(taken, signal)
    if not other_source:
        check_source(chosen, rows.source)
        if made is not None:
            check_source(made, rows.source)
    states = [rows.state_name(number) for number in rows.state]
    scores = rows.confidence
    if chosen.score == STATED and not rows.states_confidence:
        needs_calibration(rows)
    if made is not None:
        rows = fuse_rows(made, rows)
        applied = made.apply(rows.confidence, states, rows.signal)
        scores = scores if chosen.score == STATED else applied.probability
        table = table.with_columns(calibrated_columns(applied, made.notes(rows.confidence, states)))
    decided = [
        decide_by_gate(chosen, score, state)
        for score, state in zip(scores.tolist(), states, strict=True)
    ]
    result = table.with_columns(
        pl.Series(name, [one[place] for one in decided], dtype=pl.String)
        for place, name in enumerate(DECIDED)
    )
    if out is not None:
        write_table(result, Path(out))
        on_event(FileWritten(Path(out)))
    return result


def is_gate_file(path: str | Path) -> bool:
    """Say whether a file is a gate; of one that is no kept thing at all its reader will tell."""
    try:
        content = unseal(Path(path).read_bytes())
    except OSError:
        return False
    return content is not None and content.get("kind") == KIND
