"""The runs behind attacks: each defence asks its groups unattacked, twice, and then attacked."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from novarag.calls import Sampling
from novarag.errors import Unfinished
from novarag.flows.attack_plan import REPEATS
from novarag.flows.events import silent
from novarag.flows.jobs import (
    Source,
    check_server,
    is_structured,
    plan_job,
    run_job,
    settled_run,
)
from novarag.runs import Memory, Settings, frame_secret, open_store
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

    Without a `folder` everything is kept in memory. Replies are held to their form under every
    defence, where the server can and `structured` is not False. A defence that is nothing else is
    compared with the others: beside it they are free.
    """

    asking: Strategy | ThroughGateway
    name: str
    model: ModelAccess
    folder: Path | None
    temperature: float = 0.0
    max_tokens: int | None = None
    shard_size: int = 1000
    structured: bool | None = None
    _memory: dict[str, Memory] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    async def ask(
        self,
        defence: Defence,
        part: str,
        groups: Sequence[PassageGroup],
        *,
        on_event: Tell = silent,
        stop: Stop | None = None,
    ) -> dict[str, list[Trial]]:
        """Ask groups under a defence, or find them asked; trials by the name of their group."""
        store = self._open(f"{defence.name}/{part}")
        await check_server(self.model, store)
        run = await self._run(defence, part, groups, store, on_event=on_event, stop=stop)
        self.runs.append(run)
        return _by_group(run)

    @cached_property
    def _held(self) -> bool:
        """Say whether replies are held to their form; settled once, as all are compared."""
        begun = () if self.folder is None else sorted(self.folder.glob("*/*/manifest.json"))
        places = [open_store(path.parent) for path in begun]
        return is_structured(self.structured, self.asking, self.model, *places)

    def _open(self, place: str) -> Store:
        if self.folder is None:
            return self._memory.setdefault(place, Memory())
        return open_store(self.folder / place)

    async def _run(
        self,
        defence: Defence,
        part: str,
        groups: Sequence[PassageGroup],
        store: Store,
        *,
        on_event: Tell,
        stop: Stop | None,
    ) -> Run:
        asking, settings = self._settings(defence, part, store)
        source = Source(groups=partial(iter, groups), name=f"{defence.name} {part}", hash="")
        job = plan_job(asking, source, settings, store, self.model, on_event=on_event)
        summary = await run_job(job, self.model, on_event=on_event, stop=stop)
        if stop is not None and stop.is_set():
            raise Unfinished(store.place, stopped=summary.stopped)
        return settled_run(job, summary)

    def _settings(self, defence: Defence, part: str, store: Store) -> tuple[Asking, Settings]:
        """Say what a run asks, and how: framed, held to its form, or as it is."""
        from novarag.strategies import Strategy

        asking: Asking = self.asking
        secret = None
        if isinstance(self.asking, Strategy) and defence.framed:
            secret = frame_secret(store, fresh_secret)
            asking = self.asking.framed(secret)
        return asking, Settings(
            strategy=self.name,
            template_hash=self.asking.template.hash,
            model=self.model.name,
            samples=1 if part == ATTACKED else REPEATS,
            per_request=1,
            sampling=Sampling(temperature=self.temperature, max_tokens=self.max_tokens),
            shard_size=self.shard_size,
            frame=secret,
            structured=defence.structured or self._held,
        )


UNATTACKED, ATTACKED = "unattacked", "attacked"
"""The two parts of a defence."""


def _by_group(run: Run) -> dict[str, list[Trial]]:
    """Read the trials of each group, in the order of its samples."""
    found: dict[str, list[Trial]] = defaultdict(list)
    for trial in run.trials(graded=False):
        found[str(trial.group.id)].append(trial)
    return {name: sorted(trials, key=lambda t: t.sample) for name, trials in found.items()}
