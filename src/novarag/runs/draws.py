"""Runs that were made because a method needs their replies, and what methods make of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from novarag.calls import Cost, Outcome, Paid
from novarag.errors import UsageError
from novarag.rows import SAID, from_row, tabulate
from novarag.runs.drive import add_up, unfinished
from novarag.runs.finished import shard_name
from novarag.runs.group_table import read_groups
from novarag.runs.look import open_run, read_shard
from novarag.runs.seal import unseal
from novarag.runs.sources import read_groups_file
from novarag.runs.store import open_store
from novarag.strategies.follow_up import propose
from novarag.trials import make_estimate
from novarag.uncertainty import serving, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from novarag.records import PassageGroup, Trial
    from novarag.runs.manifest import Manifest
    from novarag.runs.store import Store
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


@dataclass(frozen=True)
class Draw:
    """A finished run that holds the replies of a need."""

    store: Store
    manifest: Manifest

    @cached_property
    def cost(self) -> Cost:
        """What its replies took, as the server counted."""
        shards = range(len(self.manifest.parts))
        markers = [unseal(self.store.read(shard_name(s)) or b"") or {} for s in shards]
        counts = add_up([marker["counts"] for marker in markers])
        paid = {o: n for o, n in counts["outcomes"].items() if Outcome(o).paid is Paid.YES}
        return Cost(
            calls=sum(paid.values()),
            prompt_tokens=counts["prompt_tokens"],
            completion_tokens=counts["completion_tokens"],
        )

    def groups(self, shard: int) -> list[PassageGroup]:
        """Read the groups of a shard, each under the name that its trials go by."""
        return read_groups(read_groups_file(self.store, self.manifest, shard))

    def all_groups(self) -> Iterator[PassageGroup]:
        """Read all groups."""
        for shard in range(len(self.manifest.parts)):
            yield from self.groups(shard)

    def trials(self, shard: int) -> dict[str, list[Trial]]:
        """Read the trials of a shard by group, ungraded: a method must not see what is right."""
        named = {group.id: group for group in self.groups(shard)}
        found: dict[str, list[Trial]] = defaultdict(list)
        for row in read_shard(self.store, "trials", shard, SAID).select(SAID).iter_rows():
            found[row[0]].append(from_row(named[row[0]], row))
        return found

    def all_trials(self) -> dict[str, list[Trial]]:
        """Read all trials by group."""
        shards = range(len(self.manifest.parts))
        return {name: found for s in shards for name, found in self.trials(s).items()}


def open_draw(place: str) -> Draw:
    """Open a run that must be finished."""
    store = open_store(place)
    manifest = open_run(store)
    if unfinished(store, manifest):
        raise UsageError(f"{place} is not finished: run the same command again to go on")
    return Draw(store=store, manifest=manifest)


def follow_ups(greedy: Draw) -> list[PassageGroup]:
    """Propose to every group the answer that its greedy reply gave, where it gave one."""
    found = []
    for shard in range(len(greedy.manifest.parts)):
        trials = greedy.trials(shard)
        for group in greedy.groups(shard):
            said = [t.response for t in trials.get(str(group.id), ()) if t.response is not None]
            found += [propose(group, said[0].answer)] if said else []
    return found


def iter_estimates(
    draws: Mapping[Need, Draw], methods: Iterable[Method], strategy: str
) -> Iterator[pl.DataFrame]:
    """Yield, shard by shard, a table of what each method makes of the replies it needs.

    All draws but follow-ups were asked the same groups, so their shards are the same.
    """
    methods = tuple(methods)
    asked = {need: draw for need, draw in draws.items() if need.follow_up is None}
    followed = {n: d.all_trials() for n, d in draws.items() if n.follow_up is not None}
    first = next(iter(asked.values()))
    if any(draw.manifest.parts != first.manifest.parts for draw in asked.values()):
        raise UsageError("these runs were not asked the same groups in the same shards")
    for shard in range(len(first.manifest.parts)):
        drawn = {need: draw.trials(shard) for need, draw in asked.items()} | followed
        groups = first.groups(shard)
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


def cost_of(method: Method, draws: Mapping[Need, Draw]) -> Cost:
    """Add up what the replies that a method reads took, though others may read them too."""
    served = {serving(need, draws) for need in union(method.needs)}
    return sum((draws[need].cost for need in served), Cost())
