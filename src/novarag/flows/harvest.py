"""Fetch the replies of the trials that were kept, and the groups they answer, shard by shard."""

from __future__ import annotations

import io
import shutil
from hashlib import blake2b
from typing import TYPE_CHECKING

import polars as pl

from novarag.errors import DataError
from novarag.rows import TRIALS
from novarag.runs import write_groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from novarag.runs import Run

_ROW_GROUP = 16384  # rows; fixed, so that the same trials give the same bytes


class HarvestedTables:
    """The tables of what was kept: a part for each shard first, then the parts together."""

    def __init__(self, sources: Sequence[Run], folder: Path) -> None:
        self.sources, self.folder = sources, folder
        self._parts = folder / "parts"
        self._contents: dict[str, bytes] = {}

    def gather(self, kept: pl.DataFrame) -> Iterator[None]:
        """Fetch what stands at the given rows of the given shards; `kept` is in order."""
        for name in ("kept", "groups"):
            (self._parts / name).mkdir(parents=True)
        if kept.is_empty():
            self._gather_nothing()
        for number, (source, shard, rows) in enumerate(_by_shard(kept)):
            names = self._trials(number, self.sources[source], shard, rows)
            self._groups(number, self.sources[source], shard, names)
            yield

    def _trials(self, number: int, source: Run, shard: int, rows: pl.DataFrame) -> pl.Series:
        """Write the trials at some rows of a shard; return the names of their groups."""
        trials = source.table(shard, list(TRIALS))[rows["row"]]
        named = trials.with_columns(run=pl.lit(source.name), target=rows["target"])
        named.write_parquet(self._part("kept", number))
        return trials["group"].unique()

    def _groups(self, number: int, source: Run, shard: int, names: pl.Series) -> None:
        groups = source.groups_table(shard)
        chosen = groups.filter(pl.col("group").is_in(names.implode()))
        if len(self.sources) > 1:
            chosen = self._new(chosen, source)
        chosen.write_parquet(self._part("groups", number))

    def _new(self, groups: pl.DataFrame, source: Run) -> pl.DataFrame:
        """Leave out groups that another run brought; raise where it brought other content."""
        fresh = []
        lines = groups.write_ndjson().rstrip("\n").split("\n") if groups.height else []
        for name, line in zip(groups["group"], lines, strict=True):
            content = blake2b(line.encode(), digest_size=8).digest()
            fresh.append(name not in self._contents)
            if self._contents.setdefault(name, content) != content:
                raise DataError(
                    f"group {name!r} has other content than in another run.",
                    hint="filter runs together that were asked the same groups.",
                    source=source.name,
                )
        return groups.filter(pl.Series(fresh, dtype=pl.Boolean))

    def _gather_nothing(self) -> None:
        """Write tables without rows, laid out as if there were some."""
        trials = pl.DataFrame(schema={**TRIALS, "run": pl.String, "target": pl.Float64})
        trials.write_parquet(self._part("kept", 0))
        pl.read_parquet(io.BytesIO(write_groups([]))).write_parquet(self._part("groups", 0))

    def _part(self, name: str, number: int) -> Path:
        return self._parts / name / f"{number:07}.parquet"

    def finish(self) -> int:
        """Put the parts together without holding them; return how many groups there are."""
        for name in ("kept", "groups"):
            parts = sorted((self._parts / name).iterdir())
            pl.scan_parquet(parts).sink_parquet(
                self.folder / f"{name}.parquet", compression="zstd", row_group_size=_ROW_GROUP
            )
        shutil.rmtree(self._parts)
        groups = pl.scan_parquet(self.folder / "groups.parquet")
        return int(groups.select(pl.len()).collect().item())


def _by_shard(kept: pl.DataFrame) -> Iterator[tuple[int, int, pl.DataFrame]]:
    """Part what is kept by source and shard: slices of an ordered table, which copy nothing."""
    begin = 0
    for source, shard, rows in kept.group_by("source", "shard", maintain_order=True).len().rows():
        yield source, shard, kept.slice(begin, rows)
        begin += rows
