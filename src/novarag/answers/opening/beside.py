"""Columns that runs, trials or passages add to a table: word overlap, and signals of tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from novarag.errors import StorageError
from novarag.metrics.views import OVERLAP
from novarag.overlap import OVERLAPS, overlap_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polars import DataFrame

    from novarag.answers.opening.answers import Answers
    from novarag.records import PassageGroup, Trial
    from novarag.runs import Run

_NUMBERS = pl.Array(pl.Float64, len(OVERLAPS))
_PASSAGES = "passages"


def overlap_table(groups: Iterable[PassageGroup]) -> DataFrame:
    """Say for each group, by its name, how many of the question's words its passages hold."""
    names: list[str] = []

    def named() -> Iterator[PassageGroup]:
        for group in groups:
            names.append(str(group.id))
            yield group

    numbers = _numbers(named())
    return pl.DataFrame({"group": names, OVERLAP: numbers}).unique("group", keep="first")


def _numbers(groups: Iterable[PassageGroup]) -> pl.Series:
    asked = ((g.question.text, [passage.text for passage in g.passages]) for g in groups)
    return pl.Series(OVERLAP, overlap_rows(asked), dtype=_NUMBERS)


def add_overlap(answers: Answers) -> Answers:
    """Say so of each row, where a run, trials or a column of the table have its passages."""
    if answers.trials:
        return replace(answers, table=answers.table.with_columns(_of_trials(answers.trials)))
    if all(run is None for run, _ in answers.parts):
        return replace(answers, table=with_own_overlap(answers.table))
    notes: list[str] = []
    known: dict[str, DataFrame | None] = {}
    pieces, begin = [], 0
    for run, rows in answers.parts:
        piece = answers.table.slice(begin, rows)
        begin += rows
        if run is not None and run.place not in known:
            known[run.place] = _of_run(run, notes)
        numbers = None if run is None else known[run.place]
        pieces.append(piece if numbers is None else with_overlap(piece, numbers))
    table = with_own_overlap(pl.concat(pieces, how="diagonal"))
    return replace(answers, table=table, notes=(*answers.notes, *notes))


def _of_trials(trials: Sequence[Trial]) -> pl.Series:
    """Say so of each trial by its own group, whatever that is called."""
    place: dict[PassageGroup, int] = {}
    at = [place.setdefault(trial.group, len(place)) for trial in trials]
    return _numbers(place).gather(at)


def _of_run(run: Run, notes: list[str]) -> DataFrame | None:
    try:
        return overlap_table(group for shard in run.finished for group in run.groups(shard))
    except StorageError as error:  # the answers are whole, and can be measured without it
        notes.append(f"No word-overlap baseline: {error}.")
        return None


def with_overlap(table: DataFrame, groups: Iterable[PassageGroup] | DataFrame) -> DataFrame:
    """Put the numbers of each row's group beside it; `group` names the rows' groups."""
    found = groups if isinstance(groups, pl.DataFrame) else overlap_table(groups)
    return table.join(found, on="group", how="left", maintain_order="left")


def with_own_overlap(table: DataFrame) -> DataFrame:
    """Do so for a table that has its passages, lists of texts, beside the words of the question."""
    if OVERLAP in table.columns or table.schema.get(_PASSAGES) != pl.List(pl.String):
        return table
    known = table.filter(pl.col(_PASSAGES).is_not_null()).select("question", _PASSAGES).unique()
    asked = ((q, [p or "" for p in texts]) for q, texts in known.iter_rows())
    numbers = pl.Series(OVERLAP, overlap_rows(asked), dtype=_NUMBERS)
    keys = ["question", _PASSAGES]
    return table.join(known.with_columns(numbers), on=keys, how="left", maintain_order="left")


def add_signal(answers: Answers, name: str) -> DataFrame:
    """Add the column of a signal made from tokens, where it is one and answers are of runs."""
    from novarag.uncertainty.token_likelihood import TOKEN_SIGNALS, token_signal

    table = answers.table
    if name not in TOKEN_SIGNALS:
        return table
    runs = dict.fromkeys(run for run, _ in answers.parts if run is not None)
    found = {(t.group.id, t.sample): token_signal(name, t) for run in runs for t in run}
    if not found:
        return table
    keys = table.select("group", "sample").iter_rows()
    return table.with_columns(pl.Series(name, [found.get(key) for key in keys], dtype=pl.Float64))
