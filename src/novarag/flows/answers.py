"""Answers as one table, whatever they come as: files, runs, trials, or a frame of any library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

from novarag.errors import UsageError
from novarag.flows.access import simulated_note
from novarag.records import Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars import DataFrame

    from novarag.datasets import Columns
    from novarag.runs import Run
    from novarag.strategies import Labels

    Place = str | Path | Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """A table of answers, where it comes from, and what is to be said of it."""

    table: DataFrame
    sources: Sequence[str] = ()
    notes: Sequence[str] = ()
    alone: bool = False  # no column names the question, so each row is its own


def collect_answers(
    answers: object,
    columns: Columns | None = None,
    labels: Labels | None = None,
    *,
    graded: bool = True,
) -> Answers:
    """Make one table of answers; `labels` says how raw replies are laid out, if they are read.

    With `graded=False` nobody need have said which answers are right.
    """
    import polars as pl

    from novarag.datasets import Columns, check_answers
    from novarag.datasets.frames import SOURCE, as_frame
    from novarag.rows import tabulate
    from novarag.runs import Run

    if isinstance(answers, (str, Path, Run)):
        answers = [answers]
    if isinstance(answers, (list, tuple)) and answers and _are_places(answers):
        return _collect(answers, columns or Columns(), labels, graded=graded)
    if isinstance(answers, pl.DataFrame) and columns is None:
        return Answers(table=answers)
    trials = _trials(answers)
    if trials is not None:
        return Answers(table=tabulate(trials))
    frame = check_answers(
        as_frame(answers), columns or Columns(), labels=labels, graded=graded, source=SOURCE
    )
    return Answers(table=frame)


def _are_places(answers: Sequence[object]) -> bool:
    from novarag.runs import Run

    return all(isinstance(one, (str, Path, Run)) for one in answers)


def _trials(answers: object) -> Iterable[Trial] | None:
    """Return what yields trials; None where it yields something else, or rows that are not."""
    if not isinstance(answers, Iterable) or hasattr(answers, "columns"):
        return None
    rows = iter(answers)
    first = next(rows, None)
    if not isinstance(first, Trial):
        return None
    return chain([first], cast("Iterator[Trial]", rows))


def _collect(
    places: Sequence[Place], columns: Columns, labels: Labels | None, *, graded: bool
) -> Answers:
    from novarag.datasets import load_answers, rows_stand_alone

    notes: list[str] = []
    tables = [table for place in places for table in _tables(place, notes)]
    table = load_answers(tables, columns, labels=labels, graded=graded)
    return Answers(
        table=table,
        sources=[_name(place) for place in places],
        notes=notes,
        alone=rows_stand_alone(table),
    )


def _name(place: Place) -> str:
    return Path(place if isinstance(place, (str, Path)) else place.place).name


def _tables(place: Place, notes: list[str]) -> Iterator[str | tuple[str, DataFrame]]:
    """Yield a file, or the checked tables of a run's finished shards; note what is missing."""
    from novarag.runs import open_run, table_name

    if isinstance(place, (str, Path)) and not (Path(place) / "manifest.json").is_file():
        yield str(place)
        return
    run = open_run(place) if isinstance(place, (str, Path)) else place
    if not run.finished:
        raise UsageError(
            f"{run.place} has no finished shard yet: finish it with the same `ask(...)`, or measure"
            f" what there is, of `iter_trial_tables({run.place!r})`"
        )
    note_missing(run, notes)
    for shard in run.finished:
        yield f"{run.place}/{table_name('trials', shard)}", run.table(shard)


def note_missing(run: Run, notes: list[str]) -> None:
    """Say what a run lacks, and whether its respondent was simulated."""
    name = Path(run.place).name
    notes += [n for n in simulated_note(run.settings.model) if n not in notes]
    if run.missing:
        notes.append(f"{name}: {run.missing:,} shards are not finished and not counted.")
    if run.dead:
        notes.append(f"{name}: {run.dead:,} requests failed and are not among these answers.")
