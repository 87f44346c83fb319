"""Getting the replies that uncertainty methods need: each once, whoever needs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from novarag.runner.asking import sampling_plan, strategy_mode
from novarag.runner.sources import source_of
from novarag.runs import is_finished, read_manifest
from novarag.strategies.follow_up import FOLLOW_UPS, propose
from novarag.uncertainty import GREEDY, serving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.config.asking import ReplySettings
    from novarag.records import PassageGroup
    from novarag.runner.runner import Runner
    from novarag.runner.sources import GroupSource
    from novarag.runs import Run
    from novarag.strategies import Strategy
    from novarag.uncertainty import Need

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
