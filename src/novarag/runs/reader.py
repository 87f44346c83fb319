"""`Run`: the one way to read a run, which believes no table that is not what was written.

Each finished shard has a marker with the checksums of its tables. A table's bytes are read once,
held against the marker, and its columns are taken from those same bytes.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.calls import ChargeStatus, Cost, Outcome
from novarag.errors import NovaragError, StorageError, UsageError
from novarag.rows import GRADED, SAID, TRIALS, from_row, lay_out
from novarag.runs.finished import (
    DamagedMarker,
    Marker,
    add_up,
    read_marker,
    settled,
    table_name,
)
from novarag.runs.group_table import read_groups
from novarag.runs.manifest import DamagedManifest, groups_content, groups_name, read_manifest
from novarag.runs.store import open_store
from novarag.runs.tables import DEAD
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from novarag.records import PassageGroup, Trial
    from novarag.rows import ColumnTypes
    from novarag.runs.manifest import Manifest, Settings
    from novarag.runs.store import Store


@dataclass(frozen=True, eq=False)
class Run:
    """A run to read: its settings, groups and finished trials, what is missing, what it took.

    What is finished is what was finished when it was first asked for; open it again to see more.
    """

    store: Store
    manifest: Manifest
    name: str = ""

    def __repr__(self) -> str:
        settings, parts = self.settings, len(self.manifest.parts)
        asked = f"{plain_text(settings.model)}, {plain_text(settings.strategy)}"
        return (
            f"Run({self.place!r}: {asked}\n"
            f"  {self.manifest.groups:,} groups of {self.manifest.questions:,} questions"
            f" in {parts:,} shards\n  {self._state()})"
        )

    def _repr_html_(self) -> str:
        from novarag.report.fragments import show_run

        return show_run(self)

    def _state(self) -> str:
        """Say in a line how far the run is; a damaged one must be shown too."""
        try:
            counts, missing = self.counts, self.missing
        except (NovaragError, OSError) as error:
            return f"not readable: {error}"
        found = {name: counts.get(name, 0) for name in ("trials", "unread", "right", "dead")}
        return (
            f"{found['trials']:,} trials, {found['unread']:,} unread, {found['right']:,} right;"
            f" {missing:,} shards missing, {found['dead']:,} requests given up"
        )

    def __iter__(self) -> Iterator[Trial]:
        """Yield the trials of all finished shards."""
        return self.trials()

    def __len__(self) -> int:
        """Return how many trials the finished shards hold."""
        return int(self.counts.get("trials", 0))

    @property
    def place(self) -> str:
        """Return the folder or the address of the run."""
        return self.store.place

    @property
    def settings(self) -> Settings:
        """Return what decided what was asked."""
        return self.manifest.settings

    # — what is there —

    @cached_property
    def _markers(self) -> dict[int, Marker]:
        found = {s: self._marker(s) for s in range(len(self.manifest.parts))}
        return {shard: marker for shard, marker in found.items() if marker is not None}

    def _marker(self, shard: int) -> Marker | None:
        marker = read_marker(self.store, shard, self.manifest.run)
        return None if marker is None else settled(self.store, shard, marker)

    @property
    def finished(self) -> tuple[int, ...]:
        """Return the numbers of the finished shards."""
        return tuple(self._markers)

    @property
    def missing(self) -> int:
        """Return how many shards are not finished."""
        return len(self.manifest.parts) - len(self._markers)

    @property
    def is_finished(self) -> bool:
        """Say whether nothing is left to ask."""
        return not self.missing

    def counts_of(self, shard: int) -> dict[str, Any]:
        """Return the counts of a finished shard: trials, unread, right, dead, tokens, …."""
        return self._markers[shard].counts

    @cached_property
    def counts(self) -> dict[str, Any]:
        """Return the counts of all finished shards together."""
        return add_up(marker.counts for marker in self._markers.values())

    @property
    def dead(self) -> int:
        """Return how many requests of the finished shards were given up."""
        return int(self.counts.get("dead", 0))

    @property
    def cost(self) -> Cost:
        """Return what the replies took, as the server counted."""
        paid = {
            o: n for o, n in self.counts["outcomes"].items() if Outcome(o).paid is ChargeStatus.YES
        }
        return Cost(
            calls=sum(paid.values()),
            prompt_tokens=self.counts["prompt_tokens"],
            completion_tokens=self.counts["completion_tokens"],
        )

    # — groups —

    def groups(self, shard: int | None = None) -> Iterator[PassageGroup]:
        """Yield the groups of a shard or of all, each under the name that its trials go by."""
        for number in range(len(self.manifest.parts)) if shard is None else (shard,):
            yield from read_groups(self._groups(number))

    def groups_table(self, shard: int) -> pl.DataFrame:
        """Read the groups of a shard as they are stored, one row each."""
        return pl.read_parquet(io.BytesIO(self._groups(shard)))

    def _groups(self, shard: int) -> bytes:
        content = groups_content(self.store, self.manifest, shard)
        if content is None:
            raise StorageError.saying(
                "{}/{} is damaged or missing; run the same `ask(...)` again: it writes it anew",
                self.place,
                groups_name(shard),
            )
        return content

    # — trials —

    def table(
        self, shard: int, columns: Sequence[str] | None = None, *, kind: str = "trials"
    ) -> pl.DataFrame:
        """Read a table of a finished shard, or some columns; say what is missing or damaged."""
        name = table_name(kind, shard)
        content = self._vouched(shard, name)
        try:
            return pl.read_parquet(
                io.BytesIO(content), columns=None if columns is None else list(columns)
            )
        except pl.exceptions.ColumnNotFoundError:
            raise UsageError.saying(
                "{} was read by an older reader: some columns are missing. Run `reread({})` first.",
                self.place,
                self.place,
            ) from None

    def _vouched(self, shard: int, name: str) -> bytes:
        """Read a table that the shard's marker vouches for."""
        content: bytes | None = None
        for _ in range(2):  # once more where somebody exchanged the table between our two reads
            marker = self._marker(shard)
            if marker is None:
                raise UsageError(f"shard {shard} of {self.place} is not finished")
            content = self.store.read(name)
            if content is not None and marker.files[name].vouches_for(content):
                return content
        state = "missing" if content is None else "damaged"
        raise StorageError.saying("{} is {}; run `recover({})`", name, state, self.place)

    def trials_table(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Read the trials of all finished shards as one table, or some columns of it."""
        return self._together("trials", TRIALS, columns)

    @property
    def dead_table(self) -> pl.DataFrame:
        """Read which requests of the finished shards were given up, and why."""
        return self._together("dead", DEAD, None)

    def _together(
        self, kind: str, schema: ColumnTypes, columns: Sequence[str] | None
    ) -> pl.DataFrame:
        chosen = list(schema) if columns is None else list(columns)
        tables = [self.table(shard, columns, kind=kind) for shard in self.finished]
        empty = lay_out([], schema) if columns is None else lay_out([], schema).select(chosen)
        return pl.concat(t.select(chosen) for t in tables) if tables else empty

    def trials(
        self,
        shard: int | None = None,
        *,
        groups: Collection[str] | None = None,
        graded: bool = True,
    ) -> Iterator[Trial]:
        """Yield the trials of a finished shard or of all, of some groups only where they are named.

        Not `graded` leaves out how they were graded, for who must not see what is right.
        """
        columns = [*SAID, *(GRADED if graded else ())]
        for number in self.finished if shard is None else (shard,):
            table = self.table(number, columns).select(columns)
            if groups is not None:
                table = table.filter(pl.col("group").is_in(list(groups)))
            if not table.is_empty():
                named = {group.id: group for group in self.groups(number)}
                yield from (from_row(named[row[0]], row) for row in table.iter_rows())

    def trials_by_group(self, shard: int | None = None) -> dict[str, list[Trial]]:
        """Read the trials of each group, ungraded: a method must not see what is right."""
        found: dict[str, list[Trial]] = {}
        for trial in self.trials(shard, graded=False):
            found.setdefault(str(trial.group.id), []).append(trial)
        return found


def open_run(place: str | Path | Store, *, name: str | None = None) -> Run:
    """Open a run that must be there.

    Args:
        place: The folder of the run, its address (such as s3://BUCKET/RUN), or a store.
        name: The name that tables and messages give the run; None takes the last part of its place.
    """
    store = open_store(place) if isinstance(place, str | Path) else place
    manifest = read_manifest(store)
    if manifest is None:
        inner = f"{store.place}/run"
        hint = f"; did you mean {inner}?" if Path(inner, "manifest.json").is_file() else ""
        raise UsageError(f"{store.place} is not a run: it has no manifest{hint}")
    return Run(store, manifest, PurePath(store.place).name if name is None else name)


def unfinished(store: Store, manifest: Manifest) -> list[int]:
    """List the shards that a driver has to see to: those with no marker, or a damaged one."""
    return [s for s in range(len(manifest.parts)) if not _says_finished(store, manifest, s)]


def _says_finished(store: Store, manifest: Manifest, shard: int) -> bool:
    try:
        return read_marker(store, shard, manifest.run) is not None
    except DamagedMarker:
        return False


def is_finished(store: Store) -> bool:
    """Say whether a place holds a run that has nothing left to ask."""
    try:
        manifest = read_manifest(store)
    except DamagedManifest:
        return False
    return manifest is not None and not unfinished(store, manifest)
