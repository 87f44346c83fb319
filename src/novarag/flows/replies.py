"""Replies of several runs to the same questions, for people to rate; only those are fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.flows.sources import open_each
from novarag.study import draw_places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from novarag.records import Trial
    from novarag.runs import Run

    Asked = dict[int, set[tuple[str, str]]]


def read_replies(places: Sequence[str], *, questions: int, seed: int = 0) -> dict[str, list[Trial]]:
    """Draw questions that all runs have a reply to, and read those; by the name of the run.

    `make_sheet` with the same number and seed takes all of them.
    """
    runs = open_each(places)
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise UsageError(f"{max(names, key=names.count)} is given twice: give each run once")
    asked = [_asked(run) for run in runs]
    drawn = draw_places([set().union(*found.values()) for found in asked], questions, seed=seed)
    groups = {group for _, group in drawn}
    return {
        run.name: list(_firsts(run, groups, found)) for run, found in zip(runs, asked, strict=True)
    }


def _asked(run: Run) -> Asked:
    """List the questions and groups that each shard has a reply to."""
    columns = ["question", "group"]
    return {s: set(run.table(s, columns).select(columns).iter_rows()) for s in run.finished}


def _firsts(run: Run, wanted: Collection[str], asked: Asked) -> Iterator[Trial]:
    """Yield the first reply to each wanted group, ungraded: raters must not see what is right."""
    for shard, found in asked.items():
        if any(group in wanted for _, group in found):
            first: dict[str | None, Trial] = {}
            for trial in run.trials(shard, groups=wanted, graded=False):
                known = first.setdefault(trial.group.id, trial)
                if trial.sample < known.sample:
                    first[trial.group.id] = trial
            yield from first.values()
