"""Getting the replies that uncertainty methods need: each once, whoever needs them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from novarag.errors import Unfinished
from novarag.flows.events import silent
from novarag.flows.jobs import Source, plan_job, run_job, settings_of, settled_run
from novarag.runs import Memory, is_finished, open_store, read_manifest
from novarag.strategies import Strategy, find_strategy
from novarag.strategies.follow_up import FOLLOW_UPS, FollowUp, propose
from novarag.uncertainty import GREEDY, serving

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.config.asking import Replies
    from novarag.flows.access import ModelAccess
    from novarag.flows.events import Tell
    from novarag.flows.looping import Stop
    from novarag.records import PassageGroup
    from novarag.runs import Job, Run, Store
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


@dataclass(frozen=True, kw_only=True)
class Draws:
    """Groups, a model and a strategy under study: all that replies are drawn with.

    `k` is the number of passages of every group, for replies that are held to a form. Without a
    `folder` everything is kept in memory.
    """

    source: Source
    strategy: str | Strategy
    model: ModelAccess
    replies: Replies
    folder: Path | None
    k: int | None = None
    _memory: dict[str, Memory] = field(default_factory=dict)

    def stores(self, needs: Sequence[Need]) -> list[Store]:
        """Open the place of each need's run."""
        return [self._open(self._name(need)) for need in needs]

    def _open(self, name: str) -> Store:
        if self.folder is None:
            return self._memory.setdefault(name, Memory())
        return open_store(self.folder / name)

    def _name(self, need: Need) -> str:
        """Name the run of a need; replies that came with more than it needs will do."""
        own, more = (draw_name(n) for n in (need, replace(need, logprobs=True)))
        begun = self._open(own).read("manifest.json") is not None
        return more if not begun and is_finished(self._open(more)) else own

    async def draw(
        self, needs: Sequence[Need], *, on_event: Tell = silent, stop: Stop | None = None
    ) -> dict[Need, Run]:
        """Get the replies of every need, or find them; `Unfinished` where that was stopped.

        Where no reply gave an answer, there is nothing to follow up on, and that need is left out.
        """
        drawn: dict[Need, Run] = {}
        for need in sorted(needs, key=lambda n: n.follow_up is not None):
            answers = _answers(drawn[serving(GREEDY, drawn)]) if need.follow_up else None
            if need.follow_up and answers is None:
                continue
            job = self._job(need, answers, on_event)
            summary = await run_job(job, self.model, on_event=on_event, stop=stop)
            if stop is not None and stop.is_set():
                raise Unfinished(job.store.place, stopped=summary.stopped)
            drawn[need] = settled_run(job, summary)
        return drawn

    def _job(self, need: Need, answers: Source | None, on_event: Tell) -> Job:
        asking, name = self._asking(need)
        place, source = self._name(need), answers or self.source
        if answers is not None:
            found = read_manifest(self._open(place))
            if found is not None and found.source_hash != source.hash:
                place += f"-{source.hash[:8]}"  # answers were added or changed since
        detail = replace(need, logprobs=True) if place.endswith(_DETAILED) else need
        settings = settings_of(
            self.replies, asking, self.model.name, detail.sampling(), k=self.k, name=name
        )
        return plan_job(asking, source, settings, self._open(place), self.model, on_event=on_event)

    def _asking(self, need: Need) -> tuple[Strategy | FollowUp, str]:
        if need.follow_up is not None:
            return FOLLOW_UPS[need.follow_up], need.follow_up
        strategy = need.strategy or self.strategy
        if isinstance(strategy, str):
            return find_strategy(strategy), strategy
        return strategy, strategy.name


def _answers(greedy: Run) -> Source | None:
    """Return the answers of a run to ask about, if it has any."""
    groups = follow_ups(greedy)
    if not groups:
        return None
    texts = "\0".join(group.question.text for group in groups)
    digest = sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()
    return Source(groups=partial(iter, groups), name="answers", hash=digest)


def follow_ups(greedy: Run) -> list[PassageGroup]:
    """Propose to every group the answer that its greedy reply gave, where it gave one."""
    from novarag.flows.estimates import by_group

    found = []
    for shard in greedy.finished:
        trials = by_group(greedy, shard)
        for group in greedy.groups(shard):
            said = [t.response for t in trials.get(str(group.id), ()) if t.response is not None]
            found += [propose(group, said[0].answer)] if said else []
    return found
