"""Users' own answers: a table with confidences and grades, checked cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from novarag.datasets.files import need_column, read_table
from novarag.errors import DataError
from novarag.grading import grade
from novarag.records import AnswerForm, Question
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
    read. With `reply` the raw replies are read with `labels`
    instead of taking a confidence column; with `gold` the answers are graded instead of taking a
    correctness column.
    """

    confidence: str = "confidence"
    correct: str = "correct"
    question: str | None = None
    percent: bool = False
    unread: tuple[float, ...] = ()
    reply: str | None = None
    answer: str = "answer"
    gold: str | None = None


def load_answers(
    paths: Sequence[str | Path], columns: Columns, *, labels: Labels | None = None
) -> pl.DataFrame:
    """Read answer tables into one frame with `question`, `confidence`, `correct` and `flaw`."""
    frames = [_load(read_table(path), columns, labels, str(path)) for path in paths]
    return pl.concat(frames, how="diagonal_relaxed")


def _load(
    frame: pl.DataFrame, columns: Columns, labels: Labels | None, source: str
) -> pl.DataFrame:
    if columns.reply is not None and labels is not None:
        frame = _read_replies(frame, columns.reply, labels, source)
    else:
        frame = frame.with_columns(_confidence(frame, columns, source).alias("confidence"))
    answer = "answer" if columns.reply is not None else columns.answer
    if columns.gold is not None:
        frame = frame.with_columns(_grades(frame, answer, columns.gold, source))
    else:
        frame = frame.with_columns(_correct(frame, columns.correct, source).alias("correct"))
    return frame.with_columns(_question(frame, columns.question, source).alias("question"))


def _first(bad: pl.Series) -> int:
    """Return the number of the first offending row, counted from 1."""
    return int(bad.fill_null(value=False).arg_true()[0]) + 1


def _confidence(frame: pl.DataFrame, columns: Columns, source: str) -> pl.Series:
    name = columns.confidence
    need_column(frame, name, option="--confidence", source=source)
    raw = frame[name]
    value = raw.cast(pl.Float64, strict=False).fill_nan(None)
    unreadable = value.is_null() & raw.is_not_null()
    if raw.dtype.is_float():
        unreadable &= raw.is_not_nan()
    if unreadable.any():
        row = _first(unreadable)
        raise DataError(
            f"{raw[row - 1]!r} is not a number.",
            mend="write a fraction such as 0.9, or leave the cell empty where the reply could not"
            " be read; to read raw replies use --reply.",
            source=source,
            row=row,
            column=name,
        )
    value = value.set(value.is_in(columns.unread), None) if columns.unread else value
    top = 100.0 if columns.percent else 1.0
    outside = (value < 0) | (value > top)
    if outside.any():
        row = _first(outside)
        raise DataError(
            f"{value[row - 1]:g} is outside 0 to {top:g}.",
            mend=_mend_outside(value[row - 1], percent=columns.percent),
            source=source,
            row=row,
            column=name,
        )
    return value / top


def _mend_outside(value: float, *, percent: bool) -> str:
    if not percent and 1 < value <= 100:
        return "pass --percent if this column holds percents."
    return (
        "leave the cell empty where the reply could not be read,"
        f" or pass --unread {value:g} if that value marks such replies."
    )


def _correct(frame: pl.DataFrame, name: str, source: str) -> pl.Series:
    need_column(frame, name, option="--correct", source=source)
    raw = frame[name]
    text = raw.cast(pl.String).str.strip_chars().str.to_lowercase()
    unknown = ~text.is_in([*_TRUE, *_FALSE]) & raw.is_not_null()
    if unknown.any():
        row = _first(unknown)
        raise DataError(
            f"{raw[row - 1]!r} is neither true nor false.",
            mend="write true/false or 1/0, or leave the cell empty where nobody graded the answer.",
            source=source,
            row=row,
            column=name,
        )
    return pl.select(pl.when(text.is_not_null()).then(text.is_in(_TRUE))).to_series()


def _question(frame: pl.DataFrame, name: str | None, source: str) -> pl.Series:
    if name is None and "question" not in frame.columns:
        return pl.Series([f"row {i}" for i in range(1, frame.height + 1)])
    column = name or "question"
    need_column(frame, column, option="--question", source=source)
    missing = frame[column].is_null()
    if missing.any():
        raise DataError(
            "the question is empty.",
            mend="name the question of every row; rows of one question are resampled together.",
            source=source,
            row=_first(missing),
            column=column,
        )
    return frame[column].cast(pl.String)


def _read_replies(frame: pl.DataFrame, name: str, labels: Labels, source: str) -> pl.DataFrame:
    need_column(frame, name, option="--reply", source=source)
    readings = [read(text or "", labels) for text in frame[name].cast(pl.String)]
    return frame.with_columns(
        pl.Series("answer", [r.answer for r in readings], dtype=pl.String),
        pl.Series(
            "confidence",
            [None if r.flaw else r.confidence for r in readings],
            dtype=pl.Float64,
        ),
        pl.Series("flaw", [r.flaw for r in readings], dtype=pl.String),
    )


def _grades(frame: pl.DataFrame, answer: str, gold: str, source: str) -> list[pl.Series]:
    """Grade answers against a column of gold answers, one text or a list of texts."""
    need_column(frame, answer, option="--answer", source=source)
    need_column(frame, gold, option="--gold", source=source)
    grades = [
        None if said is None or right is None else grade(said, _as_question(right))
        for said, right in zip(frame[answer].cast(pl.String), frame[gold].to_list(), strict=True)
    ]
    return [
        pl.Series("correct", [g and g is Grade.RIGHT for g in grades], dtype=pl.Boolean),
        pl.Series("abstained", [g and g is Grade.ABSTAINED for g in grades], dtype=pl.Boolean),
    ]


def _as_question(gold: object) -> Question:
    answers = tuple(str(g) for g in gold) if isinstance(gold, list) else (str(gold),)
    yes_no = all(a.strip().lower() in {"yes", "no"} for a in answers)
    form = AnswerForm.YES_NO if yes_no else AnswerForm.OPEN
    return Question(id="", text="", answers=answers, form=form)
