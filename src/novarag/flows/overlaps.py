"""The column that the word-overlap baseline is fitted on, for tables whose passages are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from novarag.metrics.views import OVERLAP
from novarag.overlap import OVERLAPS, overlap_rows
from novarag.rows import tabulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polars import DataFrame

    from novarag.records import PassageGroup, Trial

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


def tabulate_with_overlap(trials: Iterable[Trial]) -> DataFrame:
    """Lay trials out, each with the numbers of its own group, whatever that is called."""
    place: dict[PassageGroup, int] = {}
    at: list[int] = []

    def seen() -> Iterator[Trial]:
        for trial in trials:
            at.append(place.setdefault(trial.group, len(place)))
            yield trial

    table = tabulate(seen())
    return table.with_columns(_numbers(place).gather(at))


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
