"""Runs to take trials from: their finished shards, what is missing of them, and their columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from novarag.errors import StorageError, UsageError
from novarag.runs.drive import unfinished
from novarag.runs.finished import shard_name
from novarag.runs.look import open_run, read_shard
from novarag.runs.manifest import groups_name
from novarag.runs.seal import digest, unseal
from novarag.runs.store import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from novarag.runs.manifest import Manifest
    from novarag.runs.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A run, its finished shards, and how much of it is missing."""

    name: str
    store: Store
    manifest: Manifest
    shards: tuple[int, ...]
    dead: int

    @property
    def missing(self) -> int:
        """Return how many shards are not finished."""
        return len(self.manifest.parts) - len(self.shards)

    @property
    def structured(self) -> bool:
        """Say whether the server was made to keep replies to a pattern or a schema."""
        sampling = self.manifest.settings.sampling
        return sampling.regex is not None or sampling.schema is not None


def open_sources(places: Sequence[str], *, partial: bool = False) -> list[Source]:
    """Open runs of different models; `partial` lets runs in that are not finished."""
    sources = open_each(places, partial=partial)
    models = Counter(source.manifest.settings.model for source in sources)
    model, count = models.most_common(1)[0]
    if count > 1:
        raise UsageError(
            f"{count} of these runs are of the model {model!r}: give one run for each model, and"
            " filter the others by themselves"
        )
    return sources


def open_each(places: Sequence[str], *, partial: bool = False) -> list[Source]:
    """Open runs of any models, under names that tell them apart."""
    names = [PurePath(place).name for place in places]
    if len(set(names)) < len(names):
        names = [str(place) for place in places]
    sources = [_open(place, name) for place, name in zip(places, names, strict=True)]
    for source in sources:
        if source.manifest.settings.noise is not None:
            raise UsageError(
                f"{source.name} is a run of noise, holding passages; make groups of it with"
                " `novarag group`, ask them, and give that run"
            )
        if source.missing and not partial:
            raise UsageError(
                f"{source.name} is not finished: {source.missing:,} of"
                f" {len(source.manifest.parts):,} shards are missing. Finish it with the same"
                " `novarag ask`, or add --partial to go without them."
            )
        if not source.shards:
            raise UsageError(f"{source.name} has no finished shard yet")
    return sources


def _open(place: str, name: str) -> Source:
    store = open_store(place)
    manifest = open_run(store)
    missing = set(unfinished(store, manifest))
    shards = tuple(s for s in range(len(manifest.parts)) if s not in missing)
    markers = (unseal(store.read(shard_name(shard)) or b"") or {} for shard in shards)
    dead = sum(int(marker["counts"]["dead"]) for marker in markers)
    return Source(name=name, store=store, manifest=manifest, shards=shards, dead=dead)


def read_trials(source: Source, shard: int, columns: Sequence[str]) -> pl.DataFrame:
    """Read some columns of a shard's trials."""
    return read_shard(source.store, "trials", shard, columns)


def read_groups_file(store: Store, manifest: Manifest, shard: int) -> bytes:
    """Read the file with a shard's groups; raise `StorageError` where it is not what it was."""
    name = groups_name(shard)
    content = store.read(name)
    if content is None or digest(content) != manifest.parts[shard].sha256:
        raise StorageError(
            f"{store.place}/{name} is damaged or missing; run the same `novarag ask` again: it"
            " writes it anew"
        )
    return content
