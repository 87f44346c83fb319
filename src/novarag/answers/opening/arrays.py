"""A table of answers as arrays: what calibrations are fitted on, and gates are set on."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from novarag.answers.opening.score_columns import score_table
from novarag.calibration.graded_answers import UNKNOWN, AnswerSource, GradedAnswers, SignalTable
from novarag.errors import DataError, UsageError
from novarag.metrics.questions import question_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars import DataFrame, Series

    from novarag.answers.cells.score_names import ScoreColumn
    from novarag.answers.opening.answers import Answers
    from novarag.answers.opening.columns import Columns
    from novarag.stats.arrays import Floats, Ints

EVIDENCE, WEIGHT = "evidence", "weight"
_UNSTATED_COLUMN = "confidence"
_TOLD = ("question", "confidence", "correct")
_UNSTATED = 0.5  # stands where no confidence was stated, until a fused score does


def known_rows(answers: Answers) -> GradedAnswers:
    """Lay the graded rows of a table out as arrays; rows that nobody graded are counted."""
    table = _with_signal(answers, answers.columns.signal)
    rows = table_rows(
        table.filter(pl.col("correct").is_not_null()), answers.columns, answers.source
    )
    left = table.filter(pl.col("correct").is_null())["confidence"]
    unread = left.cast(pl.Float64).fill_nan(None).null_count() if rows.states_confidence else 0
    return replace(rows, ungraded=left.len() - unread, unread_ungraded=unread)


def every_row(answers: Answers, signal: str | None = None) -> tuple[DataFrame, GradedAnswers]:
    """Return a table, graded or not, as it is, and as arrays.

    The signal of a calibration is in the column of that name, unless `columns` says otherwise.
    """
    meant = answers.columns
    table = _with_signal(answers, meant.signal or signal)
    if meant.signal is None and signal in table.columns:
        meant = replace(meant, signal=signal)
    rows = table_rows(table, meant, answers.source)
    if not rows.states_confidence and _UNSTATED_COLUMN not in meant.scores:
        table = table.drop(_UNSTATED_COLUMN)
    return table, rows


def _with_signal(answers: Answers, name: str | None) -> DataFrame:
    """Return the table, with a signal made from the tokens of runs where it lacks its column."""
    if name is None or name in answers.table.columns:
        return answers.table
    from novarag.answers.opening.beside import add_signal

    return add_signal(answers, name)


def table_rows(known: DataFrame, meant: Columns, source: AnswerSource) -> GradedAnswers:
    """Lay a checked table out as arrays; a missing grade counts as wrong."""
    questions = question_keys(known["question"]).to_list()
    number = {name: i for i, name in enumerate(dict.fromkeys(questions))}
    state, states = _states(known, meant.state)
    confidence = known["confidence"].cast(pl.Float64)
    scores, stated = _scores(known, meant)
    if not stated:
        confidence = pl.repeat(_UNSTATED, known.height, dtype=pl.Float64, eager=True)
    return GradedAnswers(
        confidence=confidence.fill_null(float("nan")).to_numpy(),
        correct=known["correct"].cast(pl.Boolean).fill_null(value=False).to_numpy(),
        question=np.array([number[name] for name in questions], dtype=np.intp),
        state=state,
        states=states,
        signal=_signal(known, meant.signal),
        signal_name=meant.signal,
        weight=_weight(known, meant.weight),
        scores=scores,
        states_confidence=stated,
        source=AnswerSource(
            model=_model(known, source.model), prompt=_prompt(known, source.prompt)
        ),
        digest=_digest(known, meant.score_columns),
        question_ids=tuple(number),
    )


def _digest(known: DataFrame, scores: Sequence[ScoreColumn]) -> str:
    """Tell one set of graded answers from another."""
    names = [score.name for score in scores if score.name not in _TOLD]
    rows = known.select(*_TOLD, *names).rows()
    return sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _states(known: DataFrame, column: str | None) -> tuple[Ints, tuple[str, ...]]:
    if column is None and EVIDENCE not in known.columns:
        return np.full(known.height, -1, dtype=np.intp), ()
    column = column or EVIDENCE
    _need(known, column, "state")
    texts = known[column].cast(pl.String).str.strip_chars().str.to_lowercase()
    names = tuple(sorted({text for text in texts if text}))
    number = {name: i for i, name in enumerate(names)}
    return np.array([number.get(text or "", -1) for text in texts], dtype=np.intp), names


def _signal(known: DataFrame, column: str | None) -> Floats | None:
    if column is None:
        return None
    _need(known, column, "signal")
    return _numbers(known[column], column)


def _scores(known: DataFrame, meant: Columns) -> tuple[SignalTable | None, bool]:
    """Return the scores of rows, and whether a confidence stands beside them."""
    scores = meant.score_columns
    if not scores:
        return None, True
    for score in scores:
        _need(known, score.name, "scores")
    table = SignalTable(
        tuple(score.name for score in scores),
        score_table(known, scores),
        tuple(score.lower for score in scores),
    )
    return table, known["confidence"].cast(pl.Float64).fill_nan(None).null_count() < known.height


def _weight(known: DataFrame, column: str | None) -> Floats | None:
    if column is None and WEIGHT not in known.columns:
        return None
    column = column or WEIGHT
    _need(known, column, "weight")
    weight = _numbers(known[column], column)
    if not (weight > 0).all():
        raise DataError(
            "a weight is missing, or not above zero.",
            hint="say how many answers each row stands for; rows that were not picked have 1.",
            column=column,
        )
    return weight


def _numbers(values: Series, column: str) -> Floats:
    made = values.cast(pl.Float64, strict=False)
    if made.null_count() > values.null_count():
        row = int((made.is_null() & values.is_not_null()).arg_true()[0])
        raise DataError(
            f"{values[row]!r} is not a number.",
            hint="write numbers, or leave the cell empty where there is none.",
            row=row + 1,
            column=column,
        )
    return made.fill_null(float("nan")).to_numpy()


def _need(known: DataFrame, column: str, parameter: str) -> None:
    if column not in known.columns:
        raise UsageError.saying(
            "the table has no column {!r} (`{}`); it has {}",
            column,
            parameter,
            ", ".join(map(repr, known.columns)),
        )


def _model(known: DataFrame, given: str) -> str:
    return given if given != UNKNOWN else _only(known, "model") or UNKNOWN


def _prompt(known: DataFrame, given: str) -> str:
    name = given if given != UNKNOWN else _only(known, "strategy") or UNKNOWN
    from novarag.strategies import STRATEGIES

    return STRATEGIES[name].template.hash if name in STRATEGIES else name


def _only(known: DataFrame, column: str) -> str | None:
    """Return the one value of a column; None where the table says nothing."""
    if column not in known.columns:
        return None
    found = known[column].cast(pl.String).drop_nulls().unique().sort().to_list()
    if len(found) > 1:
        shown = ", ".join(map(repr, found[:4]))
        raise UsageError(
            f"the rows are of {len(found)} values of {column!r} ({shown}): each wants a calibration"
            " of its own. Keep the rows of one."
        )
    return str(found[0]) if found else None
