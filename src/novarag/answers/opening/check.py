"""Tables of answers made one: confidences, grades and questions, read without guessing.

What the tables do not settle by themselves is told all at once, with the setting for each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from novarag.answers.cells.cell import CellLook, key_of, look_at
from novarag.answers.cells.confidences import say_confidences, settle_confidences
from novarag.answers.cells.grades import say_grades, settle_grades
from novarag.answers.cells.unsettled import (
    ColumnValue,
    SettlingOption,
    UnsettledColumn,
    UnsettledTable,
    find_column,
    no_column,
)
from novarag.answers.opening.column_cells import (
    confidence_cells,
    confidence_kinds,
    confidence_shares,
    different,
    empty_cells,
    grade_columns,
    grade_values,
)
from novarag.answers.opening.gold import accepted_answers, form_of
from novarag.answers.opening.open_table import OpenTable
from novarag.answers.opening.score_columns import (
    find_score,
    no_score,
    say_score,
    score_numbers,
)
from novarag.errors import DataError
from novarag.grading import grade
from novarag.prose import Blank
from novarag.records import Flaw, Question
from novarag.taxonomy import Grade

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from novarag.answers.cells.confidences import Confidences
    from novarag.answers.opening.columns import Columns
    from novarag.strategies import Labels

    IntoColumns = pl.Series | pl.Expr | list[pl.Series]


_MANY = 4000  # rows; beyond, numbers are decided by kinds, and listed where that is not enough


class CheckedTable(NamedTuple):
    """Tables as one, under the names that `measure` wants, and what was taken for what."""

    table: pl.DataFrame
    taken: tuple[str, ...]


def check_tables(
    tables: Sequence[OpenTable],
    columns: Columns,
    *,
    labels: Labels | None = None,
    graded: bool = True,
) -> CheckedTable:
    """Check tables together, cell by cell, so that one scale holds for all, and make them one.

    `labels` say how raw replies are laid out, where `columns` name a column of them. With
    `graded=False` the tables need not say which answers are right.
    """
    check = _TableCheck(tables, columns)
    check.take_scores()
    if columns.reply is not None and labels is not None:
        check.read_replies(columns.reply, labels)
    elif check.scores_alone():
        check.add([pl.lit(None, pl.Float64).alias("confidence")] * len(tables))
    else:
        check.take_confidences()
    answer = "answer" if columns.reply is not None else columns.answer
    if columns.gold is not None:
        check.grade(answer, columns.gold)
    else:
        check.take_grades(needed=graded)
    check.take_questions(columns.question)
    check.settled()
    try:
        table = pl.concat(check.frames, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"the files do not fit together ({str(error).splitlines()[0]}).",
            hint="give columns of one name the same type in every file.",
        ) from error
    return CheckedTable(table, tuple(check.taken))


def check_marks(
    tables: Sequence[OpenTable], columns: Columns, marks: Sequence[str], kept: Sequence[str] = ()
) -> CheckedTable:
    """Check tables with grades of people and of a judge; no confidence is needed.

    The columns `marks` hold what a judge said, read as grades are; they become `mark 0`, `mark 1`,
    and so on. The columns `kept` must be there, and stay as they are.
    """
    check = _TableCheck(tables, columns)
    check.take_grades(needed=True)
    for number, name in enumerate(marks):
        check.take_marks(name, f"mark {number}")
    check.take_questions(columns.question)
    for name in kept:
        check.columns_named(name, "by")
    check.settled()
    return CheckedTable(pl.concat(check.frames, how="diagonal_relaxed"), tuple(check.taken))


class _TableCheck:
    """Tables on their way: frames get columns, lines say what was taken, parts may stay open."""

    def __init__(self, tables: Sequence[OpenTable], columns: Columns) -> None:
        self.tables, self.columns = tables, columns
        self.frames = [table.frame for table in tables]
        self.taken = [f"{table.source}: {table.said}" for table in tables if table.said]
        self.open: list[UnsettledColumn] = []

    def settled(self) -> None:
        """Raise what is open, all at once."""
        if self.open:
            more = f" and {len(self.tables) - 1} more" if len(self.tables) > 1 else ""
            raise UnsettledTable(self.open, source=f"{self.tables[0].source}{more}")

    def find(self, table: OpenTable, wanted: str, parameter: str) -> str | None:
        """Find a column with plain values; None, and said to be open, where there is none."""
        found = _found(table, wanted, parameter)
        if found is None:
            fitting = grade_columns(table.frame) if parameter == "correct" else ()
            part = no_column(wanted, table.frame.columns, parameter=parameter, fitting=fitting)
        elif table.frame[found].dtype.is_nested() and parameter != "gold":
            fix = (SettlingOption(parameter, Blank("NAME"), "of a column with plain values"),)
            part = UnsettledColumn(found, (), "this column holds lists or objects", fix)
        else:
            return found
        if part not in self.open:
            self.open.append(part)
        return None

    def columns_named(self, wanted: str, parameter: str) -> list[pl.Series]:
        """Return a column of each table; nothing where a table lacks it, which is then open."""
        names = [self.find(table, wanted, parameter) for table in self.tables]
        if None in names:
            return []
        return [t.frame[str(name)] for t, name in zip(self.tables, names, strict=True)]

    def cells(
        self, raw: list[pl.Series], take: Callable[..., list[ColumnValue]]
    ) -> list[ColumnValue]:
        """Return the different cells of the same column of each table."""
        pairs = zip(raw, self.tables, strict=True)
        return [found for column, table in pairs for found in take(column, table.source)]

    def add(self, made: Sequence[IntoColumns]) -> None:
        """Give each frame its columns."""
        pairs = zip(self.frames, made, strict=True)
        self.frames = [frame.with_columns(one) for frame, one in pairs]

    def take_confidences(self) -> None:
        raw = self.columns_named(self.columns.confidence, "confidence")
        if not raw:
            return
        name, said = raw[0].name, self.columns.confidence_settings
        many = sum(map(len, raw)) > _MANY and not said.named
        cells = self.cells(raw, confidence_kinds if many else confidence_cells)
        taken = settle_confidences(name, cells, said)
        if many and taken.unsettled:
            cells = self.cells(raw, confidence_cells)
            taken = settle_confidences(name, cells, said)
        self.open += taken.unsettled
        if not taken.unsettled:
            self.add([confidence_shares(column, taken).alias("confidence") for column in raw])
            self.taken.append(say_confidences(name, taken, _apart(cells, raw, taken)))

    def take_scores(self) -> None:
        """Make each score a column of numbers under the name that it was given."""
        for name, lower in self.columns.score_columns:
            found = [find_score(table.frame, name) for table in self.tables]
            if any(cells is None for cells in found):
                self.open.append(no_score(name, [t.frame for t in self.tables]))
                continue
            pairs = zip(found, self.tables, strict=True)
            made = [
                score_numbers(cells, t.source).alias(name)
                for cells, t in pairs
                if cells is not None
            ]
            self.add(made)
            self.taken.append(say_score(name, lower, pl.concat(made)))

    def scores_alone(self) -> bool:
        """Whether scores stand in for a stated confidence, which the table does not have."""
        wanted = self.columns.confidence
        names = [score.name for score in self.columns.score_columns]
        return bool(names) and (
            wanted in names
            or (wanted == "confidence" and not any(wanted in t.frame.columns for t in self.tables))
        )

    def take_grades(self, *, needed: bool) -> None:
        wanted = self.columns.correct
        if not needed and not all(_found(table, wanted, "correct") for table in self.tables):
            self.add([pl.lit(None, pl.Boolean).alias("correct")] * len(self.frames))
            return
        self.take_marks(wanted, "correct")

    def take_marks(self, wanted: str, alias: str) -> None:
        """Read a column of grades under another name."""
        raw = self.columns_named(wanted, "correct" if alias == "correct" else "mark")
        if not raw:
            return
        name, cells = raw[0].name, self.cells(raw, different)
        taken = settle_grades(name, cells, self.columns.grade_settings)
        self.open += taken.unsettled
        if not taken.unsettled:
            self.add([grade_values(column, taken).alias(alias) for column in raw])
            empty = sum(column.null_count() for column in raw)
            said = say_grades(name, taken, empty)
            self.taken.append(said if alias == "correct" else f"mark{said.removeprefix('correct')}")

    def take_questions(self, wanted: str | None) -> None:
        named = wanted is not None or all(_found(t, "question", "question") for t in self.tables)
        if named:
            raw = self.columns_named(wanted or "question", "question")
            if not raw:
                return
            made = [column.cast(pl.String) for column in raw]
            self.open += _empty_questions(self.cells(made, empty_cells), made[0].name)
            self.taken.append(say_questions(pl.concat(made)))
        else:
            made = [_rows(table) for table in self.tables]
            self.taken.append("question: no column, so each row is its own")
        self.add([column.alias("question") for column in made])

    def read_replies(self, name: str, labels: Labels) -> None:
        raw = self.columns_named(name, "reply")
        graded = self.columns.gold is not None
        self.add([_read_replies(column, labels, graded=graded) for column in raw] or _none(self))
        self.taken.append(f"confidence: read from the replies in column {name!r}")

    def grade(self, answer: str, gold: str) -> None:
        """Grade answers against a column of gold answers, one text or a list of texts."""
        if self.columns.reply is not None and self.open:  # what was not read holds no answer
            return
        found = [
            OpenTable(table.source, frame)
            for table, frame in zip(self.tables, self.frames, strict=True)
        ]
        names = [(self.find(t, answer, "answer"), self.find(t, gold, "gold")) for t in found]
        if any(None in pair for pair in names):
            return
        self.add([
            _grades(t.frame[str(said)], t.frame[str(right)], t.source)
            for t, (said, right) in zip(found, names, strict=True)
        ])  # fmt: skip
        self.taken.append(f"correct: column {answer!r} graded by {gold!r}")


def say_questions(column: pl.Series) -> str:
    """Say how many questions a column names, and in how many spellings if there are more."""
    from novarag.metrics.questions import question_keys

    questions, spellings = question_keys(column).n_unique(), column.n_unique()
    said = f"question: column {column.name!r}, {questions:,} different"
    if questions == spellings:
        return said
    return (
        f"{said} in {spellings:,} spellings (case, spaces, punctuation and numbering make no other"
        " question)"
    )


def _none(check: _TableCheck) -> list[list[pl.Series]]:
    return [[] for _ in check.frames]


def _found(table: OpenTable, wanted: str, parameter: str) -> str | None:
    """Find a column by its name, or where the table is known, by what it is called there."""
    for name in (wanted, table.names.get(parameter, wanted) if wanted == parameter else wanted):
        found = find_column(name, table.frame.columns)
        if isinstance(found, str):
            return found
    return None


def _rows(table: OpenTable) -> pl.Series:
    return pl.Series([f"{table.source}, row {i}" for i in range(1, table.frame.height + 1)])


def _apart(cells: list[ColumnValue], raw: list[pl.Series], taken: Confidences) -> Counter[str]:
    """Count cells that are empty or whose meaning was named, as they stand in the table."""
    counts = Counter({"": sum(column.null_count() for column in raw)})
    for one in cells:
        value = one.value if isinstance(one.value, str) else f"{one.value:.15g}"
        if key_of(value) in taken.named or look_at(value).looks in _APART:
            counts[value] += one.count
    return +counts


_APART = (CellLook.EMPTY, CellLook.WORD, CellLook.OUTSIDE)


def _empty_questions(found: list[ColumnValue], name: str) -> list[UnsettledColumn]:
    if not found:
        return []
    advice = "name the question of every row; rows of one question are resampled together"
    return [UnsettledColumn(name, tuple(found), "the question is empty", (), advice)]


def _read_replies(column: pl.Series, labels: Labels, *, graded: bool) -> list[pl.Series]:
    from novarag.strategies import read  # a hundred patterns, which only raw replies need

    readings = [read(text or "", labels) for text in column.cast(pl.String)]
    if not graded:
        readings = [replace(r, flaw=None) if r.flaw is Flaw.NO_ANSWER else r for r in readings]
    stated = [None if r.flaw else r.confidence for r in readings]
    return [
        pl.Series("answer", [r.answer for r in readings], dtype=pl.String),
        pl.Series("confidence", stated, dtype=pl.Float64),
        pl.Series("flaw", [r.flaw for r in readings], dtype=pl.String),
    ]


def _grades(answers: pl.Series, gold: pl.Series, source: str) -> list[pl.Series]:
    accepted = [_accepted(v, i, gold.name, source) for i, v in enumerate(gold.to_list(), 1)]
    grades = [
        None if said is None or not right else grade(said, _question_of(right))
        for said, right in zip(answers.cast(pl.String), accepted, strict=True)
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
