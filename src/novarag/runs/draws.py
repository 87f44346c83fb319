"""Runs that were made because a method needs their replies, and what methods make of them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import polars as pl

from novarag.calls import Cost
from novarag.errors import UsageError
from novarag.rows import tabulate
from novarag.runs import Run, open_run
from novarag.strategies.follow_up import propose
from novarag.trials import make_estimate
from novarag.uncertainty import serving, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from novarag.records import PassageGroup, Trial
    from novarag.uncertainty import Method, Need

DETAILED = "-logprobs"
"""How the name of a draw ends that has log-probabilities."""


def draw_name(need: Need) -> str:
    """Name the folder of a need's replies.

    >>> from novarag.uncertainty import Need
    >>> draw_name(Need()), draw_name(Need(samples=10, temperature=1.0))
    ('greedy', 'greedy-t1-n10')
    """
    name = need.follow_up or need.strategy or "greedy"
    warm = f"-t{need.temperature:g}-n{need.samples}" if need.temperature or need.samples > 1 else ""
    return name + warm + (DETAILED if need.logprobs and not need.follow_up else "")


def open_draw(place: str) -> Run:
    """Open a run that holds the replies of a need, and must be finished."""
    run = open_run(place)
    if not run.is_finished:
        raise UsageError(f"{place} is not finished: run the same command again to go on")
    return run


def by_group(run: Run, shard: int | None = None) -> dict[str, list[Trial]]:
    """Read trials by group, ungraded: a method must not see what is right."""
    found: dict[str, list[Trial]] = defaultdict(list)
    for trial in run.trials(shard, graded=False):
        found[str(trial.group.id)].append(trial)
    return found


def follow_ups(greedy: Run) -> list[PassageGroup]:
    """Propose to every group the answer that its greedy reply gave, where it gave one."""
    found = []
    for shard in range(len(greedy.manifest.parts)):
        trials = by_group(greedy, shard)
        for group in greedy.groups(shard):
            said = [t.response for t in trials.get(str(group.id), ()) if t.response is not None]
            found += [propose(group, said[0].answer)] if said else []
    return found


def iter_estimates(
    draws: Mapping[Need, Run], methods: Iterable[Method], strategy: str
) -> Iterator[pl.DataFrame]:
    """Yield, shard by shard, a table of what each method makes of the replies it needs.

    All draws but follow-ups were asked the same groups, so their shards are the same.
    """
    methods = tuple(methods)
    asked = {need: draw for need, draw in draws.items() if need.follow_up is None}
    followed = {n: by_group(d) for n, d in draws.items() if n.follow_up is not None}
    first = next(iter(asked.values()))
    if any(draw.manifest.parts != first.manifest.parts for draw in asked.values()):
        raise UsageError("these runs were not asked the same groups in the same shards")
    for shard in range(len(first.manifest.parts)):
        drawn = {need: by_group(draw, shard) for need, draw in asked.items()} | followed
        groups = list(first.groups(shard))
        for method in methods:
            yield _estimates(groups, drawn, method, strategy)


def _estimates(
    groups: Sequence[PassageGroup],
    drawn: Mapping[Need, Mapping[str, list[Trial]]],
    method: Method,
    strategy: str,
) -> pl.DataFrame:
    served = [(need, drawn[serving(need, drawn)]) for need in method.needs]
    trials = []
    for group in groups:
        found = [replies.get(str(group.id), [])[: need.samples] for need, replies in served]
        if not _failed(method, found):
            trials.append(make_estimate(group, strategy, method, found))
    return tabulate(trials).with_columns(method=pl.lit(method.name))


def _failed(method: Method, found: Sequence[Sequence[Trial]]) -> bool:
    """Say whether a request was given up; a follow-up on no answer was never made."""
    pairs = list(zip(method.needs, found, strict=True))
    if any(len(ts) < need.samples for need, ts in pairs if need.follow_up is None):
        return True  # some of several samples would pass for all of them
    answered = all(t.response is not None for need, ts in pairs if not need.follow_up for t in ts)
    return answered and any(not trials for _, trials in pairs)


def cost_of(method: Method, draws: Mapping[Need, Run]) -> Cost:
    """Add up what the replies that a method reads took, though others may read them too."""
    served = {serving(need, draws) for need in union(method.needs)}
    return sum((draws[need].cost for need in served), Cost())
