"""Hold a judge's marks against what people say of the same answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from novarag.errors import DataError
from novarag.flows.events import FileWritten, TableRead, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.answers.opening.columns import Columns
    from novarag.flows.events import EventListener
    from novarag.metrics.judge_quality import JudgedRows, JudgeQuality
    from novarag.stats.arrays import Floats, Ints


def measure_judge(
    answers: object,
    *,
    mark: str,
    repeats: Sequence[str] = (),
    by: str | Sequence[str] = (),
    columns: Columns | None = None,
    page: str | Path | None = None,
    seed: int = 0,
    on_event: EventListener = silent,
) -> JudgeQuality:
    """Hold a judge's marks against people's labels: what the marks are worth, and the true rate.

    Rows need marks; people's labels are needed on some of them, drawn at random by question, at
    least eight questions. Marks alone never say how often answers are wrong.

    Args:
        answers: A table of answers: an `Answers`, or what `read_answers` takes but trials, such as
            a file or a frame. No confidence is needed.
        mark: The column with the judge's marks, read as grades are.
        repeats: Columns with marks of the same judge that was asked again.
        by: A column, or several, whose groups are measured by themselves, too.
        columns: Which columns hold what: `correct` people's labels, empty where nobody looked,
            `question` what stands together, such as the source; `right`, `wrong` and `ungraded`
            say what values mean, of labels and marks alike.
        page: A file (.html) for a page that shows what was found.
        seed: Seed of the bootstrap behind the interval of the labels saved.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.

    Example:
        >>> people = ["right"] * 30 + ["wrong"] * 10 + [""] * 40
        >>> judge = ["right"] * 28 + ["wrong"] * 12 + ["right"] * 30 + ["wrong"] * 10
        >>> found = measure_judge({"correct": people, "judge": judge}, mark="judge")
        >>> print(found.verdict)
        This judge saves 75 % of the labels (41 to 100 %), where it marks very many rows.
    """
    from novarag.answers.opening.answers import open_places
    from novarag.answers.opening.check import check_marks
    from novarag.answers.opening.columns import Columns
    from novarag.metrics.judge_quality import measure_marks

    meant = columns or Columns()
    by = (by,) if isinstance(by, str) else tuple(by)
    asked = (mark, *repeats)
    tables = open_places(answers, replace(meant, confidence=mark), graded=True)
    found = check_marks(tables, meant, asked, by)
    on_event(TableRead(found.taken))
    table = found.table.filter(pl.col("mark 0").is_not_null())
    if table["correct"].null_count() == len(table):
        raise DataError("no row has both a mark and a label.", hint="label some rows by people.")
    rows = _rows(table, len(asked))
    try:
        made = measure_marks(rows, _segments(table, by), seed=seed)
    except ValueError as error:
        raise DataError(f"{error}.", hint="label rows of more sources.") from error
    if page is not None:
        from novarag.report.judge import write_judge_page

        on_event(FileWritten(write_judge_page(made, mark, Path(page))))
    return made


def _rows(table: pl.DataFrame, marks: int) -> JudgedRows:
    from novarag.metrics.judge_quality import JudgedRows

    found = [_wrong(table[f"mark {number}"]) for number in range(marks)]
    return JudgedRows(
        mark=found[0], label=_wrong(table["correct"]),
        source=_codes(table["question"]), repeats=tuple(found[1:]),
    )  # fmt: skip


def _wrong(column: pl.Series) -> Floats:
    """Return 1 for wrong, 0 for right, NaN for neither."""
    said: Floats = (1 - column.cast(pl.Float64)).fill_null(float("nan")).to_numpy()
    return said


def _codes(column: pl.Series) -> Ints:
    from novarag.metrics.questions import question_keys

    codes = np.unique(question_keys(column).to_numpy(), return_inverse=True)[1]
    return codes.ravel().astype(np.int64)


def _segments(table: pl.DataFrame, by: Sequence[str]) -> tuple[tuple[str, Ints], ...]:
    columns = [(column, table[column].cast(pl.String).fill_null("")) for column in by]
    return tuple(
        (f"{column}: {name}", np.flatnonzero((named == name).to_numpy()))
        for column, named in columns
        for name in named.unique().sort()
    )
