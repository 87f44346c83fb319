"""Several runs to take trials from, told apart by name, and finished unless `partial`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from novarag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.runs import Run

    RunPlace = str | Path | Run


def open_sources(places: Sequence[RunPlace], *, partial: bool = False) -> list[Run]:
    """Open runs of different models; `partial` lets runs in that are not finished."""
    runs = open_each(places, partial=partial)
    models = Counter(run.settings.model for run in runs)
    model, count = models.most_common(1)[0]
    if count > 1:
        raise UsageError(
            f"{count} of these runs are of the model {model!r}: give one run for each model, and"
            " filter the others by themselves"
        )
    for run in runs:
        if run.settings.frame is not None:
            raise UsageError.saying(
                "{} was asked with `frame`: its replies carry marks of their own prompts; ask"
                " without it what is to be trained on",
                run.name,
            )
    return runs


def open_each(places: Sequence[RunPlace], *, partial: bool = False) -> list[Run]:
    """Open runs of any models, under names that tell them apart."""
    from novarag.runs import Run, open_run

    opened = [place if isinstance(place, Run) else open_run(place) for place in places]
    names = [PurePath(run.place).name for run in opened]
    if len(set(names)) < len(names):
        names = [run.place for run in opened]
    runs = [replace(run, name=name) for run, name in zip(opened, names, strict=True)]
    for run in runs:
        if run.settings.noise is not None:
            raise UsageError.saying(
                "{} is a run of noise, holding passages; make groups of it with"
                " `group_passages(...)`, ask them, and give that run",
                run.name,
            )
        if run.missing and not partial:
            raise UsageError.saying(
                "{} is not finished: {:,} of {:,} shards are missing. Finish it with the same"
                " `ask(...)`, or add `partial_runs` to go without them.",
                run.name,
                run.missing,
                len(run.manifest.parts),
            )
        if not run.finished:
            raise UsageError(f"{run.name} has no finished shard yet")
    return runs
