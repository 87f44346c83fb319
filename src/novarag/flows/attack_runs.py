"""The runs behind attacks: each defence asks its groups unattacked, twice, and then attacked."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from novarag.calls import Sampling
from novarag.errors import Unfinished
from novarag.flows.attack_plan import REPEATS
from novarag.flows.events import silent
from novarag.flows.jobs import Source, check_server, plan_job, run_job
from novarag.runs import Memory, Settings, frame_secret, open_run, open_store
from novarag.strategies.frames import fresh_secret

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.attacks import Defence
    from novarag.flows.access import ModelAccess
    from novarag.flows.attack_gateway import ThroughGateway
    from novarag.flows.events import Tell
    from novarag.flows.looping import Stop
    from novarag.ports import Asking
    from novarag.records import PassageGroup, Trial
    from novarag.runs import Run, Store
    from novarag.strategies import Strategy


@dataclass(frozen=True, kw_only=True)
class AttackRuns:
    """A model, a way of asking and a folder: all that groups are asked with.

    Without a `folder` everything is kept in memory.
    """

    asking: Strategy | ThroughGateway
    name: str
    model: ModelAccess
    folder: Path | None
    temperature: float = 0.0
    max_tokens: int | None = None
    shard_size: int = 1000
    _memory: dict[str, Memory] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    async def ask(
        self,
        defence: Defence,
        part: str,
        groups: Sequence[PassageGroup],
        *,
        tell: Tell = silent,
        stop: Stop | None = None,
    ) -> dict[str, list[Trial]]:
        """Ask groups under a defence, or find them asked; trials by the name of their group.

        A form has a line for each passage, so that groups of other sizes are runs of their own.
        """
        found: dict[str, list[Trial]] = {}
        for place, some in self._parted(defence, part, groups).items():
            store = self._open(place)
            await check_server(self.model, store)
            run = await self._run(defence, part, some, store, tell=tell, stop=stop)
            self.runs.append(run)
            found |= _by_group(run)
        return found

    def _parted(
        self, defence: Defence, part: str, groups: Sequence[PassageGroup]
    ) -> dict[str, list[PassageGroup]]:
        found: dict[str, list[PassageGroup]] = defaultdict(list)
        for group in groups:
            size = f"-k{len(group.passages)}" if defence.structured else ""
            found[f"{defence.name}/{part}{size}"].append(group)
        return found

    def _open(self, place: str) -> Store:
        if self.folder is None:
            return self._memory.setdefault(place, Memory())
        return open_store(self.folder / place)

    async def _run(
        self,
        defence: Defence,
        part: str,
        groups: list[PassageGroup],
        store: Store,
        *,
        tell: Tell,
        stop: Stop | None,
    ) -> Run:
        asking, settings = self._settings(defence, part, len(groups[0].passages), store)
        source = Source(groups=partial(iter, groups), name=f"{defence.name} {part}", hash="")
        job = plan_job(asking, source, settings, store, self.model, tell=tell)
        summary = await run_job(job, self.model, tell=tell, stop=stop)
        if not summary.finished or (stop is not None and stop.is_set()):
            raise Unfinished(store.place, stopped=summary.stopped)
        return open_run(store)

    def _settings(
        self, defence: Defence, part: str, k: int, store: Store
    ) -> tuple[Asking, Settings]:
        """Say what a run asks, and how: framed, held to its form, or as it is."""
        from novarag.strategies import Strategy

        asking: Asking = self.asking
        form, secret = None, None
        if isinstance(self.asking, Strategy):
            if defence.framed:
                secret = frame_secret(store, fresh_secret)
                asking = self.asking.framed(secret)
            form = self.asking.pattern(k) if defence.structured else None
        return asking, Settings(
            strategy=self.name,
            template_hash=self.asking.template.hash,
            model=self.model.name,
            samples=1 if part == ATTACKED else REPEATS,
            per_request=1,
            sampling=Sampling(temperature=self.temperature, max_tokens=self.max_tokens, regex=form),
            shard_size=self.shard_size,
            frame=secret,
        )


UNATTACKED, ATTACKED = "unattacked", "attacked"
"""The two parts of a defence."""


def _by_group(run: Run) -> dict[str, list[Trial]]:
    """Read the trials of each group, in the order of its samples."""
    found: dict[str, list[Trial]] = defaultdict(list)
    for trial in run.trials(graded=False):
        found[str(trial.group.id)].append(trial)
    return {name: sorted(trials, key=lambda t: t.sample) for name, trials in found.items()}
