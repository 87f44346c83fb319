"""Answers as one noun, made once from whatever holds them: files, runs, trials, or any frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import polars.selectors as cs

from novarag.answers.opening.check import check_tables
from novarag.answers.opening.columns import Columns
from novarag.answers.opening.files import frame_of, make_column, need_rows
from novarag.answers.opening.open_table import (
    STDIN,
    OpenTable,
    folder_tables,
    known_table,
    open_table,
)
from novarag.calibration.graded_answers import AnswerSource
from novarag.errors import UsageError
from novarag.records import Trial
from novarag.rows import tabulate

if TYPE_CHECKING:
    from typing import BinaryIO, TypeGuard

    from novarag.runs import Run
    from novarag.strategies import Labels

    AnswersPlace = str | Path | Run | BinaryIO

_MANIFEST = "manifest.json"
_ROW_NAME = r", row \d+$"
"""How rows are named that belong to no question; `check` names them so."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Answers:
    """A checked table of answers, whose they are, and what is to be said of them.

    `table` has `question`, `confidence` and `correct` beside the columns that were there. `source`
    is what the caller said of the model and the prompt, `columns` which columns mean what, `places`
    the names of files and runs, `taken` what was taken for what, a line for each column. The table
    is made of `parts` in this order, runs (None: a file) and how many rows are of them; or of
    `trials`.
    """

    table: pl.DataFrame
    source: AnswerSource = field(default_factory=AnswerSource)
    notes: tuple[str, ...] = ()
    columns: Columns = field(default_factory=Columns)
    places: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    parts: tuple[tuple[Run | None, int], ...] = ()
    trials: tuple[Trial, ...] = ()

    def __len__(self) -> int:
        return self.table.height

    @property
    def rows_stand_alone(self) -> bool:
        """Whether no column names the question, so that each row is its own."""
        return bool(self.table["question"].cast(pl.String).str.contains(_ROW_NAME).all())

    def __repr__(self) -> str:
        questions = self.table["question"].n_unique()
        return f"Answers: {len(self):,} rows of {questions:,} questions"


def read_answers(
    answers: object,
    *,
    columns: Columns | None = None,
    reader: str | Labels | None = None,
    source: str | AnswerSource | None = None,
    graded: bool = True,
) -> Answers:
    """Read a table of answers once, for every verb that works on one.

    Cells are checked, and nothing is guessed: what could mean two things is told all at once, with
    the setting for each. Empty cells and NaN mean unread, or ungraded.

    Args:
        answers: A file or several, an open file of bytes, a run's folder, a `Run`, trials, a frame
            (polars, pandas, Arrow, a Hugging Face `Dataset`), a dict of columns, or rows as dicts.
            An `Answers` is returned as it is.
        columns: Which columns hold what, where their names do not say it.
        reader: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column; None takes `nova`.
        source: The name of the model the answers are of, or an `AnswerSource`, which
            names the prompt too; None takes them from the columns `model` and `strategy`.
        graded: Whether the table must say which answers are right; otherwise `correct` is empty
            where it does not.
    """
    if isinstance(answers, Answers):
        if columns is not None or reader is not None or source is not None:
            raise UsageError.saying(
                "these answers were read already: give `columns`, `reader` and `source` to"
                " `read_answers(...)`"
            )
        return answers
    meant = columns or Columns()
    whose = AnswerSource(model=source) if isinstance(source, str) else source or AnswerSource()
    places = _places(answers)
    given = list(answers) if isinstance(answers, Iterator) and not places else answers
    if not places and (trials := _trials(given)):
        return Answers(table=tabulate(trials), source=whose, columns=meant, trials=trials)
    notes: list[str] = []
    parts = [part for place in places for part in _parts(place, meant, notes, graded=graded)]
    tables = [table for _, table in parts] or [known_table(OpenTable(SOURCE, as_frame(given)))]
    labels = _labels(reader or "nova", meant)
    found = check_tables(tables, meant, labels=labels, graded=graded)
    return Answers(
        table=found.table,
        source=whose,
        notes=tuple(notes),
        columns=meant,
        places=tuple(map(_name, places)),
        taken=found.taken,
        parts=tuple((run, table.frame.height) for run, table in parts),
    )


def open_places(answers: object, columns: Columns, *, graded: bool) -> list[OpenTable]:
    """Open tables of answers in any form that `read_answers` takes but trials, cells unchecked."""
    if isinstance(answers, Answers):
        answers = answers.table
    notes: list[str] = []
    places = _places(answers)
    found = [table for place in places for _, table in _parts(place, columns, notes, graded=graded)]
    return found or [known_table(OpenTable(SOURCE, as_frame(answers)))]


def run_at(place: object) -> Run | None:
    """Open the run that something is, or that its folder holds; None where it is none."""
    if not isinstance(place, (str, Path)):
        return place if _is_run(place) else None
    if not (Path(place) / _MANIFEST).is_file():
        return None
    from novarag.runs import open_run

    return open_run(place)


def _is_run(place: object) -> TypeGuard[Run]:
    """Say whether something is a run; what reads runs takes longer to load than a table to read."""
    from novarag.runs import Run

    return isinstance(place, Run)


def note_missing(run: Run, notes: list[str]) -> None:
    """Say what a run lacks, and whether its respondent was simulated."""
    from novarag.calls import simulated_note

    name = Path(run.place).name
    notes += [n for n in simulated_note(run.settings.model) if n not in notes]
    if run.missing:
        notes.append(f"{name}: {run.missing:,} shards are not finished and not counted.")
    if run.dead:
        notes.append(f"{name}: {run.dead:,} requests failed and are not among these answers.")


def _places(answers: object) -> Sequence[AnswersPlace]:
    """Return files, runs and open files as a list; nothing where they are something else."""
    several = answers if isinstance(answers, (list, tuple)) else [answers]
    named = all(
        isinstance(one, (str, Path)) or hasattr(one, "readinto") or _is_run(one) for one in several
    )
    return cast("Sequence[AnswersPlace]", several) if named else ()


def _name(place: AnswersPlace) -> str:
    if isinstance(place, (str, Path)):
        return Path(place).name
    return Path(place.place).name if _is_run(place) else STDIN


def _labels(reader: str | Labels, columns: Columns) -> Labels | None:
    """Find how raw replies are laid out, where a column has them."""
    if not columns.reply:
        return None
    from novarag.strategies import find_labels

    return find_labels(reader, columns.scale)


def _trials(answers: object) -> tuple[Trial, ...]:
    """Return trials; nothing where these are something else, such as a frame or rows."""
    if not isinstance(answers, Iterable) or hasattr(answers, "columns"):
        return ()
    return tuple(answers) if isinstance(next(iter(answers), None), Trial) else ()


def _parts(
    place: AnswersPlace, columns: Columns, notes: list[str], *, graded: bool
) -> Iterator[tuple[Run | None, OpenTable]]:
    """Yield the tables of a place: a file, those of a folder, the finished shards of a run."""
    run = run_at(place)
    if run is None:
        files = [cast("str | Path | BinaryIO", place)]
        if isinstance(place, (str, Path)) and Path(place).is_dir():
            files = [*folder_tables(Path(place))]
        wanted = columns.wanted(graded=graded)
        for file in files:
            yield None, open_table(file, wanted, decimal_comma=columns.decimal_comma)
        return
    if not run.finished:
        raise UsageError.saying(
            "{} has no finished shard yet: finish it with the same `ask(...)`, or measure what"
            " there is, of `iter_trial_tables({})`",
            run.place,
            run.place,
        )
    from novarag.runs import table_name

    note_missing(run, notes)
    for shard in run.finished:
        name, frame = f"{run.place}/{table_name('trials', shard)}", run.table(shard)
        need_rows(frame, name)
        yield run, OpenTable(name, frame)


SOURCE = "the table"
_KINDS = "a pandas or polars frame, an Arrow table, a Hugging Face Dataset, or rows as dicts"


def as_frame(data: object) -> pl.DataFrame:
    """Turn any table into a polars frame; a NaN in it is an empty cell.

    No library of tables is imported. A table is known by what it can do: hand out an Arrow stream
    (pandas, pyarrow, DuckDB, …), turn itself into polars (Hugging Face `Dataset`), or be walked row
    by row.
    """
    frame = _converted(data)
    if frame.is_empty():
        raise UsageError("the table has no rows")
    return frame.with_columns(cs.float().fill_nan(None))


def _converted(data: Any) -> pl.DataFrame:  # noqa: ANN401 - known by what it can do
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if isinstance(data, pl.DataFrame):
        return data
    if hasattr(data, "to_polars"):
        found: pl.DataFrame = data.to_polars()
        return found
    if hasattr(data, "__arrow_c_stream__"):
        return _from_arrow(data)
    if isinstance(data, Mapping):
        return _from_columns(data)
    return _from_rows(data)


class _Stream:
    """A table seen only as an Arrow stream, so that polars does not take a shorter way.

    Its way with pandas leaves out the index, which often names the question.
    """

    def __init__(self, table: Any) -> None:  # noqa: ANN401
        self.__arrow_c_stream__ = table.__arrow_c_stream__


def _from_arrow(data: Any) -> pl.DataFrame:  # noqa: ANN401
    try:
        return pl.DataFrame(_Stream(data))
    except ImportError:  # pandas lends pyarrow's stream, and pyarrow may be missing
        return _from_columns(data.reset_index().to_dict(orient="list"))


def _from_columns(data: Mapping[Any, Any]) -> pl.DataFrame:
    if several := [name for name, column in data.items() if hasattr(column, "to_polars")]:
        raise UsageError(
            f"this holds several tables ({', '.join(map(str, several))}): pass one of them"
        )
    return pl.DataFrame([make_column(str(name), _cells(data[name])) for name in data])


def _from_rows(data: object) -> pl.DataFrame:
    rows = list(data) if isinstance(data, Iterable) and not isinstance(data, str | bytes) else None
    if rows is None or not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(f"cannot take answers from a {type(data).__name__}: pass {_KINDS}")
    return frame_of([dict(zip(map(str, row), _cells(row.values()), strict=True)) for row in rows])


def _cells(values: Iterable[object]) -> list[object]:
    """Return the values with None for NaN and NA, which pandas puts where a cell is empty."""
    return [None if _is_empty(v) else v for v in values]


def _is_empty(value: object) -> bool:
    return type(value).__name__ == "NAType" or (isinstance(value, float) and isnan(value))
