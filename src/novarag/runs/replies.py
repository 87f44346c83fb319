"""Replies of several runs to the same questions, for people to rate; only those are fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from novarag.errors import UsageError
from novarag.rows import SAID, from_row
from novarag.runs.group_table import read_groups
from novarag.runs.sources import open_each, read_groups_file, read_trials
from novarag.study import draw_places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from novarag.records import Trial
from novarag.runs.sources import Source


def read_replies(places: Sequence[str], *, questions: int, seed: int = 0) -> dict[str, list[Trial]]:
    """Draw questions that all runs have a reply to, and read those; by the name of the run.

    `make_sheet` with the same number and seed takes all of them.
    """
    sources = open_each(places)
    names = [source.name for source in sources]
    if len(set(names)) < len(names):
        raise UsageError(f"{max(names, key=names.count)} is given twice: give each run once")
    drawn = draw_places([set(_asked(s)) for s in sources], questions, seed=seed)
    groups = {group for _, group in drawn}
    return {source.name: list(_trials(source, groups)) for source in sources}


def _asked(source: Source) -> Iterator[tuple[str, str]]:
    for shard in source.shards:
        yield from read_trials(source, shard, ["question", "group"]).unique().iter_rows()


def _trials(source: Source, wanted: Collection[str]) -> Iterator[Trial]:
    """Yield the first reply to each wanted group."""
    names = pl.Series(list(wanted)).implode()
    for shard in source.shards:
        asked = read_trials(source, shard, ["group"])
        if not asked["group"].is_in(names).any():
            continue
        table = read_trials(source, shard, SAID).filter(pl.col("group").is_in(names))
        content = read_groups_file(source.store, source.manifest, shard)
        groups = {group.id: group for group in read_groups(content)}
        first = table.sort("sample").unique("group", keep="first", maintain_order=True)
        for row in first.select(SAID).iter_rows():
            yield from_row(groups[row[0]], row)
