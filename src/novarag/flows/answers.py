"""Answers as one table, whatever they come as: files, runs, trials, or a frame of any library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

from novarag.calls import simulated_note
from novarag.errors import StorageError, UsageError
from novarag.records import Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from polars import DataFrame

    from novarag.datasets import Columns
    from novarag.datasets.answers import Given
    from novarag.runs import Run
    from novarag.strategies import Labels

    Place = str | Path | Run | BinaryIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """A table of answers, where it comes from, and what is to be said of it."""

    table: DataFrame
    sources: Sequence[str] = ()
    notes: Sequence[str] = ()
    taken: tuple[str, ...] = ()  # what was taken for what
    alone: bool = False  # no column names the question, so each row is its own


def collect_answers(
    answers: object,
    columns: Columns | None = None,
    labels: Labels | None = None,
    *,
    graded: bool = True,
    overlap: bool = False,
) -> Answers:
    """Make one table of answers; `labels` says how raw replies are laid out, if they are read.

    With `graded=False` nobody need have said which answers are right. With `overlap` rows whose
    passages are known say how many of the question's words these hold.
    """
    import polars as pl

    from novarag.datasets.answers import check_tables
    from novarag.datasets.columns import Columns
    from novarag.datasets.frames import SOURCE, as_frame
    from novarag.datasets.open_table import OpenTable
    from novarag.flows.overlaps import tabulate_with_overlap, with_own_overlap
    from novarag.rows import tabulate

    if _is_place(answers):
        answers = [answers]
    if isinstance(answers, (list, tuple)) and answers and all(map(_is_place, answers)):
        return _collect(answers, columns or Columns(), labels, graded=graded, overlap=overlap)
    if isinstance(answers, pl.DataFrame) and columns is None and _is_checked(answers):
        return Answers(table=with_own_overlap(answers) if overlap else answers)
    trials = _trials(answers)
    if trials is not None:
        return Answers(table=tabulate_with_overlap(trials) if overlap else tabulate(trials))
    found = check_tables(
        [OpenTable(SOURCE, as_frame(answers))], columns or Columns(), labels=labels, graded=graded
    )
    frame = found.frames[0]
    return Answers(table=with_own_overlap(frame) if overlap else frame, taken=found.taken)


def _is_place(one: object) -> bool:
    """Say whether something names a file or a run, or is a file that is open."""
    from novarag.runs import Run

    return isinstance(one, (str, Path, Run)) or hasattr(one, "readinto")


def _is_checked(frame: DataFrame) -> bool:
    """Say whether a frame has what measuring wants, in its own types."""
    import polars as pl

    wanted = {"confidence": pl.Float64, "correct": pl.Boolean}
    typed = all(frame.schema.get(name) == kind for name, kind in wanted.items())
    return typed and "question" in frame.columns


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
    places: Sequence[Place],
    columns: Columns,
    labels: Labels | None,
    *,
    graded: bool,
    overlap: bool,
) -> Answers:
    from novarag.datasets import read_answers, rows_stand_alone
    from novarag.flows.overlaps import with_own_overlap

    notes: list[str] = []
    tables = [t for place in places for t in _tables(place, notes, overlap=overlap)]
    found = read_answers(tables, columns, labels=labels, graded=graded)
    table = with_own_overlap(found.table) if overlap else found.table
    return Answers(
        table=table,
        sources=[_name(place) for place in places],
        notes=notes,
        taken=found.taken,
        alone=rows_stand_alone(table),
    )


def _name(place: Place) -> str:
    from novarag.datasets.open_table import STDIN
    from novarag.runs import Run

    if isinstance(place, Run):
        return Path(place.place).name
    return Path(place).name if isinstance(place, (str, Path)) else STDIN


def _tables(place: Place, notes: list[str], *, overlap: bool) -> Iterator[Given]:
    """Yield files, or the checked tables of a run's finished shards; note what is missing."""
    from novarag.datasets.open_table import folder_tables
    from novarag.flows.overlaps import with_overlap
    from novarag.runs import Run, open_run, table_name

    if not isinstance(place, (str, Path, Run)):
        yield place
        return
    if isinstance(place, (str, Path)) and not (Path(place) / "manifest.json").is_file():
        yield from folder_tables(Path(place)) if Path(place).is_dir() else [str(place)]
        return
    run = open_run(place) if isinstance(place, (str, Path)) else place
    if not run.finished:
        raise UsageError(
            f"{run.place} has no finished shard yet: finish it with the same `ask(...)`, or measure"
            f" what there is, of `iter_trial_tables({run.place!r})`"
        )
    note_missing(run, notes)
    numbers = _overlap(run, notes) if overlap else None
    for shard in run.finished:
        table = run.table(shard)
        shown = table if numbers is None else with_overlap(table, numbers)
        yield f"{run.place}/{table_name('trials', shard)}", shown


def _overlap(run: Run, notes: list[str]) -> DataFrame | None:
    """Say of each group of a run how many of the question's words its passages hold."""
    from novarag.flows.overlaps import overlap_table

    try:
        return overlap_table(g for shard in run.finished for g in run.groups(shard))
    except StorageError as error:  # the answers are whole, and can be measured without it
        notes.append(f"No word-overlap baseline: {error}.")
        return None


def note_missing(run: Run, notes: list[str]) -> None:
    """Say what a run lacks, and whether its respondent was simulated."""
    name = Path(run.place).name
    notes += [n for n in simulated_note(run.settings.model) if n not in notes]
    if run.missing:
        notes.append(f"{name}: {run.missing:,} shards are not finished and not counted.")
    if run.dead:
        notes.append(f"{name}: {run.dead:,} requests failed and are not among these answers.")
