"""What a table of answers shows beside its figures, for `measure`, `calibrate` and `gate` alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.prose import say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from polars import DataFrame

    from novarag.answers.opening.answers import Answers
    from novarag.answers.opening.columns import Columns
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.prose import Prose

_ASKED = {"model", "strategy"}
"""What of a trial says who was asked, and how."""


def measured_apart(column: str) -> Prose:
    """Say how to measure the values of a column apart."""
    return say("All figures here are of their mix: measure them apart with `by={}`.", column)


def calibrated_apart(column: str) -> Prose:
    """Say how to calibrate the values of a column apart."""
    return say(
        "The calibration is for their mix and may suit none of them: pass `state={}` to have each"
        " calibrated by itself.",
        column,
    )


def gated_apart(column: str) -> Prose:
    """Say how to gate the values of a column apart."""
    return say(
        "A promise is for their mix, and one of them may break it: set a gate on the rows of each,"
        " or let it go by confidences that are calibrated for each (`state={}` and"
        " `split='calibration.json'`).",
        column,
    )


def table_remarks(
    table: DataFrame,
    columns: Columns,
    advice: Callable[[str], Prose],
    *,
    apart: Collection[str] = (),
) -> tuple[str, ...]:
    """Say what is odd about a table, and which columns change how often answers are wrong.

    Columns in `apart` are told apart already.
    """
    from novarag.metrics.remarks import find_oddities, telling_columns
    from novarag.report.remarks import oddity_lines, telling_lines
    from novarag.rows import READ

    named = (
        columns.question, columns.confidence, columns.correct, columns.answer, columns.gold,
        columns.reply, columns.signal, columns.weight,
    )  # fmt: skip
    skip = {name for name in (*named, *apart) if name}
    skip |= {score.name for score in columns.score_columns}
    if READ.keys() <= set(table.columns):  # trials: the rest is what was read of the replies
        skip |= READ.keys() - _ASKED
    found = telling_columns(table, skip=skip)
    return (*oddity_lines(find_oddities(table)), *telling_lines(found, advice))


def remarked_rows(answers: Answers, advice: Callable[[str], Prose]) -> GradedAnswers:
    """Lay the graded rows of a table out as arrays, with what is odd about them.

    The column of the evidence state is told apart already.
    """
    from novarag.answers.opening.arrays import EVIDENCE, known_rows

    apart = (answers.columns.state or EVIDENCE,)
    said = table_remarks(answers.table, answers.columns, advice, apart=apart)
    return replace(known_rows(answers), remarks=said)


def gate_refusals(table: DataFrame, *, apart: Collection[str]) -> list[str]:
    """Say where a gate refuses rows whose thresholds are shown: they are of several models."""
    import polars as pl

    graded = table.filter(pl.col("correct").is_not_null())
    counts = {
        name: graded[name].drop_nulls().n_unique()
        for name in sorted(_ASKED - set(apart))
        if name in table.columns
    }
    return [
        say(
            "`gate(...)` refuses these rows together, as they are of {:,} values of {!r}: the"
            " thresholds here are of their mix. Measure them apart with `by={}`.",
            count,
            name,
            name,
        )
        for name, count in counts.items()
        if count > 1
    ]
