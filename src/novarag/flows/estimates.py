"""What uncertainty methods make of the replies they need, read from runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from novarag.calls import Cost
from novarag.errors import UsageError
from novarag.rows import tabulate
from novarag.trials import make_estimate
from novarag.uncertainty import serving, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from novarag.records import PassageGroup, Trial
    from novarag.runs import Run
    from novarag.uncertainty import Method, Need


def iter_estimates(
    draws: Mapping[Need, Run], methods: Iterable[Method], strategy: str
) -> Iterator[pl.DataFrame]:
    """Yield, shard by shard, a table of what each method makes of the replies it needs."""
    for method, trials in iter_estimated(draws, methods, strategy):
        yield tabulate(trials).with_columns(method=pl.lit(method.name))


def iter_estimated(
    draws: Mapping[Need, Run], methods: Iterable[Method], strategy: str
) -> Iterator[tuple[Method, list[Trial]]]:
    """Yield, shard by shard, the trials that each method makes of the replies it needs.

    All draws but follow-ups were asked the same groups, so their shards are the same.
    """
    methods = tuple(methods)
    asked = {need: draw for need, draw in draws.items() if need.follow_up is None}
    followed = {n: d.trials_by_group() for n, d in draws.items() if n.follow_up is not None}
    first = next(iter(asked.values()))
    if any(draw.manifest.parts != first.manifest.parts for draw in asked.values()):
        raise UsageError("these runs were not asked the same groups in the same shards")
    for shard in range(len(first.manifest.parts)):
        drawn = {need: draw.trials_by_group(shard) for need, draw in asked.items()} | followed
        groups = list(first.groups(shard))
        for method in methods:
            yield method, _estimated(groups, drawn, method, strategy)


def _estimated(
    groups: Sequence[PassageGroup],
    drawn: Mapping[Need, Mapping[str, list[Trial]]],
    method: Method,
    strategy: str,
) -> list[Trial]:
    served = [(n, drawn[serving(n, drawn)] if _was_drawn(n, drawn) else {}) for n in method.needs]
    trials = []
    for group in groups:
        found = [replies.get(str(group.id), [])[: need.samples] for need, replies in served]
        if not _failed(method, found):
            trials.append(make_estimate(group, strategy, method, found))
    return trials


def _failed(method: Method, found: Sequence[Sequence[Trial]]) -> bool:
    """Say whether a request was given up; a follow-up on no answer was never made."""
    pairs = list(zip(method.needs, found, strict=True))
    if any(len(ts) < need.samples for need, ts in pairs if need.follow_up is None):
        return True  # some of several samples would pass for all of them
    answered = all(t.response is not None for need, ts in pairs if not need.follow_up for t in ts)
    return answered and any(not trials for _, trials in pairs)


def cost_of(method: Method, draws: Mapping[Need, Run]) -> Cost:
    """Add up what the replies that a method reads took, though others may read them too."""
    needs = [need for need in union(method.needs) if _was_drawn(need, draws)]
    return sum((draws[need].cost for need in {serving(n, draws) for n in needs}), Cost())


def _was_drawn(need: Need, drawn: Iterable[Need]) -> bool:
    """Say whether a need was asked for; a follow-up is not, where no reply gave an answer."""
    return need.follow_up is None or any(one.covers(need) for one in drawn)
