"""Getting the replies that methods need: each once, whoever needs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.cli.running import Means, Source, Task, prepare, settings_of, stopped_by_signals
from novarag.strategies import find_strategy

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from novarag.config.asking import Replies
    from novarag.runs import Run
    from novarag.runs.shard import Job
    from novarag.strategies import Strategy
    from novarag.strategies.follow_up import FollowUp
    from novarag.uncertainty import Need


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Groups, a model and a strategy under study: all that replies are drawn with.

    `k` is the number of passages of every group, for replies that are held to a form.
    """

    source: Source
    strategy: str
    means: Means
    replies: Replies
    folder: Path
    k: int | None = None

    def places(self, needs: Sequence[Need]) -> list[str]:
        """Name the folder of each need's run."""
        return [self._place(need) for need in needs]

    def _place(self, need: Need) -> str:
        """Name the folder of a need's run; replies that came with more than it needs will do."""
        from novarag.runs import is_finished, open_store
        from novarag.runs.draws import draw_name

        own, more = (self.folder / draw_name(n) for n in (need, replace(need, logprobs=True)))
        return str(more if not own.exists() and is_finished(open_store(more)) else own)

    async def draw(
        self, needs: Sequence[Need], stop: asyncio.Event | None = None
    ) -> dict[Need, Run] | int:
        """Get the replies of every need, or find them; an exit code where that was stopped.

        The server was seen to be there. With `stop` nothing is shown as long as nothing fails.
        """
        from novarag.runs import is_finished
        from novarag.runs.draws import open_draw
        from novarag.uncertainty import GREEDY, serving

        quiet, stop = stop is not None, stop or stopped_by_signals()
        drawn: dict[Need, Run] = {}
        for need in sorted(needs, key=lambda n: n.follow_up is not None):
            greedy = drawn[serving(GREEDY, drawn)] if need.follow_up else None
            job = self._job(need, greedy)
            code = await Task(job, self.means, alone=False, quiet=quiet).run(stop)
            if code and not is_finished(job.store):
                return code
            if stop.is_set():
                return 130
            drawn[need] = open_draw(str(job.store.place))
        return drawn

    def _job(self, need: Need, greedy: Run | None) -> Job:
        from novarag.runs import open_store
        from novarag.runs.draws import DETAILED
        from novarag.runs.manifest import read_manifest

        asking, name = self._asking(need)
        place, source = self._place(need), self.source
        if greedy is not None:
            source = _follow_up(greedy)
            found = read_manifest(open_store(place))
            if found is not None and found.source_hash != source.hash:
                place += f"-{source.hash[:8]}"  # answers were added or changed since
        detail = replace(need, logprobs=True) if place.endswith(DETAILED) else need
        settings = settings_of(
            self.replies, asking, self.means, detail.sampling(), k=self.k, name=name
        )
        return prepare(asking, source, settings, place, self.means)

    def _asking(self, need: Need) -> tuple[Strategy | FollowUp, str]:
        from novarag.strategies.follow_up import FOLLOW_UPS

        if need.follow_up is not None:
            return FOLLOW_UPS[need.follow_up], need.follow_up
        name = need.strategy or self.strategy
        return find_strategy(name), name


def _follow_up(greedy: Run) -> Source:
    """Ask about the answers of a run."""
    from novarag.runs.draws import follow_ups

    groups = follow_ups(greedy)
    told = "\0".join(group.question.text for group in groups)
    digest = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
    return Source(groups=partial(iter, groups), name="answers", hash=digest)
