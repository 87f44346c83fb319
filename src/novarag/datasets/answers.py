"""Users' own answers: a table with confidences and grades, checked cell by cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from novarag.datasets.files import need_column, need_rows, read_table
from novarag.datasets.gold import accepted_answers, form_of
from novarag.errors import DataError, UsageError
from novarag.grading import grade
from novarag.records import Flaw, Question
from novarag.strategies import read
from novarag.taxonomy import Grade

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.strategies import Labels

_TRUE, _FALSE = ("true", "1", "1.0", "yes"), ("false", "0", "0.0", "no")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns of a user's table mean what.

    `percent` says that confidences are 0-100; `unread` lists values that mark a reply nobody could
    read. With `reply` raw replies are read instead of taking a confidence column; with `gold`
    answers are graded instead of taking a correctness column. For calibrations and gates, `state`
    is the column with the evidence state (`evidence` where there is one), `signal` one with a
    further number, `weight` one that says how many answers a row stands for (`weight` where there
    is one).
    """

    confidence: str = "confidence"
    correct: str = "correct"
    question: str | None = None
    percent: bool = False
    unread: tuple[float, ...] = ()
    reply: str | None = None
    answer: str = "answer"
    gold: str | None = None
    state: str | None = None
    signal: str | None = None
    weight: str | None = None


def load_answers(
    tables: Sequence[str | Path | tuple[str, pl.DataFrame]],
    columns: Columns,
    *,
    labels: Labels | None = None,
    graded: bool = True,
) -> pl.DataFrame:
    """Read answer tables into one frame with `question`, `confidence`, `correct` and `flaw`.

    A table is a file, or was read already and comes with the name that errors give it.
    """
    frames = [
        check_answers(frame, columns, labels=labels, graded=graded, source=source)
        for source, frame in map(_named, tables)
    ]
    try:
        return pl.concat(frames, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"the files do not fit together ({str(error).splitlines()[0]}).",
            hint="give columns of one name the same type in every file.",
        ) from error


def _named(table: str | Path | tuple[str, pl.DataFrame]) -> tuple[str, pl.DataFrame]:
    if isinstance(table, tuple):
        need_rows(table[1], table[0])
        return table
    return str(table), read_table(table)


def rows_stand_alone(answers: pl.DataFrame) -> bool:
    """Say whether the rows were given no question, so that each counts as its own."""
    return bool(answers["question"].str.contains(r", row \d+$").all())


def check_answers(
    frame: pl.DataFrame,
    columns: Columns,
    *,
    labels: Labels | None = None,
    graded: bool = True,
    source: str,
) -> pl.DataFrame:
    """Check a table of answers cell by cell, and name its columns as `measure` wants them.

    With `graded=False` it need not say which answers are right.
    """
    if columns.reply is not None:
        if labels is None:
            raise UsageError("to read raw replies, say with which labels")
        frame = _read_replies(frame, columns, labels, source)
    else:
        frame = frame.with_columns(_confidence(frame, columns, source).alias("confidence"))
    answer = "answer" if columns.reply is not None else columns.answer
    if columns.gold is not None:
        frame = frame.with_columns(_grades(frame, answer, columns.gold, source))
    elif not graded and columns.correct not in frame.columns:
        frame = frame.with_columns(correct=pl.lit(None, dtype=pl.Boolean))
    else:
        frame = frame.with_columns(_correct(frame, columns.correct, source).alias("correct"))
    return frame.with_columns(_question(frame, columns.question, source).alias("question"))


def _first(bad: pl.Series) -> int:
    """Return the number of the first offending row, counted from 1."""
    return int(bad.fill_null(value=False).arg_true()[0]) + 1


def _confidence(frame: pl.DataFrame, columns: Columns, source: str) -> pl.Series:
    name = columns.confidence
    need_column(frame, name, parameter="confidence", source=source)
    raw = frame[name]
    value = raw.cast(pl.Float64, strict=False).fill_nan(None)
    if raw.dtype == pl.Boolean:  # which casts to 1 and 0
        value = value.clear(raw.len())
    unreadable = value.is_null() & raw.is_not_null()
    if raw.dtype.is_float():
        unreadable &= raw.is_not_nan()
    if unreadable.any():
        row = _first(unreadable)
        raise DataError(
            f"{raw[row - 1]!r} is not a number.",
            hint="write a fraction such as 0.9, or leave the cell empty where the reply could not"
            " be read; to read raw replies use `reply`.",
            source=source,
            row=row,
            column=name,
        )
    if columns.unread:
        value = value.set(value.is_in([float(mark) for mark in columns.unread]), None)
    if columns.percent and value.len() - value.null_count() > 0 and _most(value) <= 1:
        raise DataError(
            "no value is above 1, so these look like fractions.",
            hint="leave out `percent=True`.",
            source=source,
            column=name,
        )
    top = 100.0 if columns.percent else 1.0
    outside = (value < 0) | (value > top)
    if outside.any():
        row = _first(outside)
        raise DataError(
            f"{value[row - 1]:g} is outside 0 to {top:g}.",
            hint=_hint_outside(value[row - 1], percent=columns.percent),
            source=source,
            row=row,
            column=name,
        )
    return value / top


def _most(value: pl.Series) -> float:
    most = value.max()
    return float(most) if isinstance(most, int | float) else 0.0


def _hint_outside(value: float, *, percent: bool) -> str:
    if not percent and 1 < value <= 100:
        return "pass `percent=True` if this column holds percents."
    return (
        "leave the cell empty where the reply could not be read,"
        f" or pass `unread=({value:g},)` if that value marks such replies."
    )


def _correct(frame: pl.DataFrame, name: str, source: str) -> pl.Series:
    need_column(frame, name, parameter="correct", source=source)
    raw = frame[name]
    text = raw.cast(pl.String).str.strip_chars().str.to_lowercase()
    unknown = ~text.is_in([*_TRUE, *_FALSE]) & raw.is_not_null()
    if unknown.any():
        row = _first(unknown)
        raise DataError(
            f"{raw[row - 1]!r} is neither true nor false.",
            hint="write true/false or 1/0, or leave the cell empty where nobody graded the answer.",
            source=source,
            row=row,
            column=name,
        )
    return pl.select(pl.when(text.is_not_null()).then(text.is_in(_TRUE))).to_series()


def _question(frame: pl.DataFrame, name: str | None, source: str) -> pl.Series:
    if name is None and "question" not in frame.columns:
        return pl.Series([f"{source}, row {i}" for i in range(1, frame.height + 1)])
    column = name or "question"
    need_column(frame, column, parameter="question", source=source)
    missing = frame[column].is_null()
    if missing.any():
        raise DataError(
            "the question is empty.",
            hint="name the question of every row; rows of one question are resampled together.",
            source=source,
            row=_first(missing),
            column=column,
        )
    return frame[column].cast(pl.String)


def _read_replies(
    frame: pl.DataFrame, columns: Columns, labels: Labels, source: str
) -> pl.DataFrame:
    name = str(columns.reply)
    need_column(frame, name, parameter="reply", source=source)
    readings = [read(text or "", labels) for text in frame[name].cast(pl.String)]
    if columns.gold is None:
        readings = [replace(r, flaw=None) if r.flaw is Flaw.NO_ANSWER else r for r in readings]
    stated = [None if r.flaw else r.confidence for r in readings]
    return frame.with_columns(
        pl.Series("answer", [r.answer for r in readings], dtype=pl.String),
        pl.Series("confidence", stated, dtype=pl.Float64),
        pl.Series("flaw", [r.flaw for r in readings], dtype=pl.String),
    )


def _grades(frame: pl.DataFrame, answer: str, gold: str, source: str) -> list[pl.Series]:
    """Grade answers against a column of gold answers, one text or a list of texts."""
    need_column(frame, answer, parameter="answer", source=source)
    need_column(frame, gold, parameter="gold", source=source)
    accepted = [_accepted(v, i, gold, source) for i, v in enumerate(frame[gold].to_list(), 1)]
    grades = [
        None if said is None or not right else grade(said, _question_of(right))
        for said, right in zip(frame[answer].cast(pl.String), accepted, strict=True)
    ]
    return [
        pl.Series("correct", [g and g is Grade.RIGHT for g in grades], dtype=pl.Boolean),
        pl.Series("abstained", [g and g is Grade.ABSTAINED for g in grades], dtype=pl.Boolean),
    ]


def _accepted(value: object, row: int, column: str, source: str) -> tuple[str, ...]:
    try:
        return accepted_answers(value)
    except ValueError as error:
        raise DataError(
            f"{error}.", hint='write ["Paris"] or Paris.', source=source, row=row, column=column
        ) from error


def _question_of(answers: tuple[str, ...]) -> Question:
    return Question(id="", text="", answers=answers, form=form_of(answers))
