"""Pick answers of a log for people to grade, and make a graded table of what they say."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novarag.atomic import whole_folder, write_whole
from novarag.calibration.pick_rows import PickedRows, PickStratum, pick_rows, weigh
from novarag.defaults import PICK
from novarag.errors import DataError, UsageError
from novarag.flows.events import FileWritten, TableRead, silent
from novarag.flows.kept import read_kept, write_kept
from novarag.flows.scores import ranked_rows
from novarag.prose import say
from novarag.study.grades import RIGHT, WRONG, grade_key, settle, sheet_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars import DataFrame

    from novarag.answers.opening.columns import Columns
    from novarag.calibration.calibration import Calibration
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.flows.events import EventListener
    from novarag.stats.arrays import Ints
    from novarag.strategies import Labels

PAGE, KEPT = "sheet.html", "picked.json"
UNREAD = "unread"
"""What the graded table says of a reply that could not be read."""

GRADING = "grading"
"""The column of the graded table that says what graders said, or why there is no grade."""

_FORMAT = "picked 1"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PickedAnswers:
    """Answers to grade, a row each in the order of the sheet, and the strata they stand for.

    `rows` has the log's columns, `weight` and `stratum`; behind the answers to grade stand unread
    replies, without a stratum. `skipped` counts questions that a calibration was fitted on.
    """

    sheet: str
    rows: DataFrame
    strata: tuple[PickStratum, ...]
    states: tuple[str, ...]
    unread: int
    skipped: int = 0

    @property
    def picked(self) -> int:
        """How many answers are to be graded."""
        return sum(stratum.picked for stratum in self.strata)

    @property
    def questions(self) -> int:
        """How many questions of the log have an answer that could be read."""
        return sum(stratum.questions for stratum in self.strata)

    def __repr__(self) -> str:
        return (
            f"Picked {self.sheet}: {self.picked:,} of {self.questions:,} questions in"
            f" {len(self.strata)} strata, {self.unread:,} unread"
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GradedTable:
    """What graders said: the table for `calibrate` and a gate, and how it was counted."""

    table: DataFrame
    counts: dict[str, int]  # by what was said, unread replies among them
    raters: tuple[str, ...]

    @property
    def graded(self) -> int:
        """How many answers were graded right or wrong."""
        return self.counts.get(RIGHT, 0) + self.counts.get(WRONG, 0)

    def __repr__(self) -> str:
        said = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        return f"GradedTable: {said}"


def pick_answers(
    log: object,
    out: str | Path | None = None,
    *,
    n: int = PICK.rows,
    columns: Columns | None = None,
    reader: str | Labels | None = None,
    show: Sequence[str] | None = None,
    calibration: str | Path | Calibration | None = None,
    spread: float = PICK.spread,
    seed: int = 0,
    on_event: EventListener = silent,
) -> PickedAnswers:
    """Pick answers of a log to grade next, one a question, and write a sheet that works offline.

    Args:
        log: An `Answers`, or what `read_answers` takes, such as a file or a run's folder. Answers
            need not be graded; grades are not looked at.
        out: Folder for sheet.html and picked.json; without it, nothing is written.
        n: How many answers to pick.
        columns: Which columns mean what. Where no confidence is stated, answers are spread over the
            mean ranks of `scores`.
        reader: The strategy or preset whose reader reads raw replies, where `columns.reply` names
            their column; None takes `nova`.
        show: Columns that graders see beside question and answer; by default `passages`, if any.
        calibration: Leave out the questions it was fitted on, so that a gate may use it.
        spread: The part of the picks that goes to rare and common evidence states alike.
        seed: Seed of the draw.
        on_event: Hears what was written.
    """
    from novarag.answers.opening.answers import read_answers
    from novarag.answers.opening.arrays import every_row
    from novarag.flows.shown import shown_entries
    from novarag.report.study import grades_html

    if n < 1 or not 0 <= spread <= 1:
        raise UsageError.saying("`n` must be 1 or more, and `spread` from 0 to 1")
    taken = read_answers(log, columns=columns, reader=reader, graded=False)
    on_event(TableRead(taken.taken))
    table, rows = every_row(taken)
    rows = ranked_rows(rows)
    kept = _not_known(rows, calibration)
    picks = pick_rows(
        rows.confidence[kept], rows.state[kept], rows.question[kept], n=n, seed=seed, spread=spread
    )
    picks = replace(picks, rows=kept[picks.rows], unread=kept[picks.unread])
    entries = shown_entries(taken, table[picks.rows.tolist()], show)
    made = PickedAnswers(
        sheet=sheet_id(entries),
        rows=_chosen(table, rows, picks, taken.columns),
        strata=picks.strata,
        states=rows.states,
        unread=round(picks.unread.size * picks.unread_weight),
        skipped=rows.questions - len(set(rows.question[kept].tolist())),
    )
    if out is not None:
        with whole_folder(Path(out), lambda place: _check_place(place, made.sheet)) as draft:
            write_whole(draft / PAGE, grades_html(made.sheet, entries).encode())
            write_kept(_to_json(made), draft / KEPT)
        for name in (PAGE, KEPT):
            on_event(FileWritten(Path(out) / name))
    return made


def _not_known(rows: GradedAnswers, calibration: str | Path | Calibration | None) -> Ints:
    """Return the rows whose question no calibration was fitted on."""
    import numpy as np

    from novarag.calibration.graded_answers import shared_questions
    from novarag.flows.calibrate import as_calibration

    fitted = None if calibration is None else as_calibration(calibration).fitted
    known = set() if fitted is None else set(shared_questions(fitted.known, rows.question_ids))
    number = [i for i, name in enumerate(rows.question_ids) if name not in known]
    return np.flatnonzero(np.isin(rows.question, number))


def _chosen(
    table: DataFrame, rows: GradedAnswers, picks: PickedRows, columns: Columns
) -> DataFrame:
    """Return picked rows, then unread ones, under the names that a graded table has."""
    import polars as pl

    at = [*picks.rows.tolist(), *picks.unread.tolist()]
    flat = [name for name, kind in table.schema.items() if not kind.is_nested()]
    chosen = table.select(flat)[at]
    answer = "answer" if columns.reply else columns.answer
    names = [rows.state_name(int(rows.state[i])) or None for i in at]
    weight = [*picks.weight.tolist(), *[picks.unread_weight] * picks.unread.size]
    stratum = [*picks.stratum.tolist(), *[None] * picks.unread.size]
    return chosen.with_columns(
        *([pl.col(answer).alias("answer")] if answer in flat else []),
        pl.Series("evidence", names, dtype=pl.String),
        pl.Series("weight", weight, dtype=pl.Float64),
        pl.Series("stratum", stratum, dtype=pl.Int64),
        correct=pl.lit(None, dtype=pl.Boolean),
    )


def read_grades(
    folder: str | Path,
    grades: str | Path | Sequence[str | Path],
    out: str | Path | None = None,
    *,
    on_event: EventListener = silent,
) -> GradedTable:
    """Read what graders saved, and make the graded table that a calibration and a gate take.

    Args:
        folder: The folder that `pick_answers` wrote.
        grades: The files that graders saved, one for each of them.
        out: File for the table (.csv, .parquet or .jsonl); without it, nothing is written.
        on_event: Hears what was written.

    Every picked answer has a row. Where nobody could tell, nobody graded, or graders differ,
    `correct` is empty, and what the row stood for goes to the others of its stratum. Unread
    replies have no confidence and are not right; their weight keeps their share of the log.
    """
    from novarag.answers.opening.files import write_table
    from novarag.flows.study import path_texts
    from novarag.study import read_ratings

    picked = _read_picked(Path(folder))
    names = picked.rows["question"][: picked.picked].to_list()
    ratings = read_ratings(grade_key(picked.sheet, names), path_texts(grades, "grades"))
    said = settle(ratings)
    table = _graded_table(picked, said)
    if out is not None:
        write_table(table, Path(out))
        on_event(FileWritten(Path(out)))
    counts = Counter([*said, *[UNREAD] * (table.height - len(said))])
    return GradedTable(table=table, counts=dict(counts), raters=ratings.raters)


def _graded_table(picked: PickedAnswers, said: Sequence[str]) -> DataFrame:
    import numpy as np
    import polars as pl

    unread = picked.rows.height - len(said)
    graded = np.array([grade in {RIGHT, WRONG} for grade in said])
    stratum = picked.rows["stratum"][: len(said)].to_numpy()
    weight = weigh(picked.strata, stratum.astype(np.intp), graded)
    correct = [grade == RIGHT if grade in {RIGHT, WRONG} else None for grade in said]
    weights = [value or None for value in weight.tolist()]
    return picked.rows.with_columns(
        pl.Series("correct", [*correct, *[False] * unread], dtype=pl.Boolean),
        pl.Series("weight", [*weights, *picked.rows["weight"][len(said) :]], dtype=pl.Float64),
        pl.Series(GRADING, [*said, *[UNREAD] * unread], dtype=pl.String),
    )


# — the folder —


def _to_json(made: PickedAnswers) -> dict[str, Any]:
    import polars as pl
    import polars.selectors as cs

    plain = made.rows.with_columns(
        (~(cs.numeric() | cs.boolean() | cs.string())).cast(pl.String, strict=False)
    )
    return {
        "format": _FORMAT,
        "sheet": made.sheet,
        "strata": [asdict(stratum) for stratum in made.strata],
        "states": list(made.states),
        "unread": made.unread,
        "skipped": made.skipped,
        "columns": [[column.name, column.to_list()] for column in plain.fill_nan(None)],
    }


def _read_picked(folder: Path) -> PickedAnswers:
    import polars as pl

    from novarag.answers.opening.files import make_column

    if not folder.is_dir():
        raise UsageError.saying(
            "{} is not a folder; give the one `pick_answers(...)` wrote", folder
        )
    again = say("give the folder that `pick_answers(...)` wrote, with its picked.json.")
    content = read_kept(folder / KEPT, what="list of what was picked", again=again)
    if content.get("format") != _FORMAT:
        raise DataError("another version wrote this.", hint=again, source=str(folder / KEPT))
    return PickedAnswers(
        sheet=content["sheet"],
        rows=pl.DataFrame([make_column(name, values) for name, values in content["columns"]]),
        strata=tuple(PickStratum(**stratum) for stratum in content["strata"]),
        states=tuple(content["states"]),
        unread=content["unread"],
        skipped=content["skipped"],
    )


def _check_place(out: Path, sheet: str) -> None:
    """Refuse a place with another sheet in it: grades of that one need what was picked."""
    from novarag.flows.study import check_free

    check_free(out, frozenset({PAGE, KEPT}))
    if (out / KEPT).is_file() and _read_picked(out).sheet != sheet:
        raise UsageError.saying(
            "{} holds another sheet, and grades of it need what it keeps; give another `out`", out
        )
