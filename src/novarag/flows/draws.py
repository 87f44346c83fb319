"""The replies that uncertainty methods need, each asked for once, and what methods make of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import polars as pl

from novarag.calls import Cost
from novarag.errors import UsageError
from novarag.rows import tabulate
from novarag.runner.asking import sampling_plan, strategy_mode
from novarag.runner.sources import source_of
from novarag.runs import is_finished, read_manifest
from novarag.strategies.follow_up import FOLLOW_UPS, propose
from novarag.trials import make_estimate
from novarag.uncertainty import GREEDY, serving, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from novarag.config.asking import ReplySettings
    from novarag.records import PassageGroup, Trial
    from novarag.runner.runner import Runner
    from novarag.runner.sources import GroupSource
    from novarag.runs import Run
    from novarag.strategies import Strategy
    from novarag.uncertainty import Method, Need

_DETAILED = "-logprobs"  # how the name of a run ends that has log-probabilities


def draw_name(need: Need) -> str:
    """Name the folder of a need's replies.

    >>> from novarag.uncertainty import Need
    >>> draw_name(Need()), draw_name(Need(samples=10, temperature=1.0))
    ('greedy', 'greedy-t1-n10')
    """
    name = need.follow_up or need.strategy or "greedy"
    warm = f"-t{need.temperature:g}-n{need.samples}" if need.temperature or need.samples > 1 else ""
    return name + warm + (_DETAILED if need.logprobs and not need.follow_up else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Groups, who is asked and a strategy under study: all that replies are drawn with.

    `k` is the number of passages of every group, for replies that are held to a form.
    """

    source: GroupSource
    strategy: str | Strategy
    runner: Runner
    replies: ReplySettings
    k: int | None = None

    def are_drawn(self, needs: Sequence[Need]) -> bool:
        """Say whether the replies of every need are there."""
        return all(is_finished(self.runner.store(self._name(need))) for need in needs)

    def _name(self, need: Need) -> str:
        """Name the run of a need; replies that came with more than it needs will do."""
        own, more = (draw_name(n) for n in (need, replace(need, logprobs=True)))
        begun = self.runner.store(own).read("manifest.json") is not None
        return more if not begun and is_finished(self.runner.store(more)) else own

    async def draw(self, needs: Sequence[Need]) -> dict[Need, Run]:
        """Get the replies of every need, or find them.

        Where no reply gave an answer, there is nothing to follow up on, and that need is left out.
        """
        drawn: dict[Need, Run] = {}
        for need in sorted(needs, key=lambda n: n.follow_up is not None):
            if need.follow_up is None:
                drawn[need] = await self._ask(need, self.source, self._name(need))
            elif groups := follow_ups(drawn[serving(GREEDY, drawn)]):
                drawn[need] = await self._follow_up(need, groups)
        return drawn

    async def _follow_up(self, need: Need, groups: Sequence[PassageGroup]) -> Run:
        texts = "\0".join(group.question.text for group in groups)
        digest = sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()
        place = self._name(need)
        found = read_manifest(self.runner.store(place))
        if found is not None and found.source_hash != digest:
            place += f"-{digest[:8]}"  # answers were added or changed since
        return await self._ask(need, source_of(groups, name="answers", hash=digest), place)

    async def _ask(self, need: Need, source: GroupSource, place: str) -> Run:
        mode = strategy_mode(
            FOLLOW_UPS[need.follow_up] if need.follow_up else need.strategy or self.strategy
        )
        detail = replace(need, logprobs=True) if place.endswith(_DETAILED) else need
        samples = sampling_plan(self.replies, mode.asking, detail.sampling(), k=self.k)
        return await self.runner.ask(source, mode, place=place, samples=samples)


def follow_ups(greedy: Run) -> list[PassageGroup]:
    """Propose to every group the answer that its greedy reply gave, where it gave one."""
    found = []
    for shard in greedy.finished:
        trials = greedy.trials_by_group(shard)
        for group in greedy.groups(shard):
            said = [t.response for t in trials.get(str(group.id), ()) if t.response is not None]
            found += [propose(group, said[0].answer)] if said else []
    return found


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
