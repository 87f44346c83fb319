"""Several runs to take trials from, told apart by name, and finished unless `partial`."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.runs import Run, open_run

if TYPE_CHECKING:
    from collections.abc import Sequence


def open_sources(places: Sequence[str], *, partial: bool = False) -> list[Run]:
    """Open runs of different models; `partial` lets runs in that are not finished."""
    runs = open_each(places, partial=partial)
    models = Counter(run.settings.model for run in runs)
    model, count = models.most_common(1)[0]
    if count > 1:
        raise UsageError(
            f"{count} of these runs are of the model {model!r}: give one run for each model, and"
            " filter the others by themselves"
        )
    return runs


def open_each(places: Sequence[str], *, partial: bool = False) -> list[Run]:
    """Open runs of any models, under names that tell them apart."""
    names = [PurePath(place).name for place in places]
    if len(set(names)) < len(names):
        names = [str(place) for place in places]
    runs = [open_run(place, name=name) for place, name in zip(places, names, strict=True)]
    for run in runs:
        if run.settings.noise is not None:
            raise UsageError(
                f"{run.name} is a run of noise, holding passages; make groups of it with"
                " `novarag group`, ask them, and give that run"
            )
        if run.missing and not partial:
            raise UsageError(
                f"{run.name} is not finished: {run.missing:,} of"
                f" {len(run.manifest.parts):,} shards are missing. Finish it with the same"
                " `novarag ask`, or add --partial to go without them."
            )
        if not run.finished:
            raise UsageError(f"{run.name} has no finished shard yet")
    return runs
