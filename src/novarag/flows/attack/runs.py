"""The runs behind attacks: each defence asks its groups unattacked, twice, and then attacked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.flows.attack.plan import REPEATS
from novarag.runner.sources import source_of
from novarag.strategies import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.attacks import Defence
    from novarag.records import PassageGroup, Trial
    from novarag.runner.asking import AskingMode, SamplingPlan
    from novarag.runner.runner import Runner
    from novarag.runs import Run

UNATTACKED, ATTACKED = "unattacked", "attacked"
"""The two parts of a defence."""


@dataclass(frozen=True, kw_only=True)
class AttackRuns:
    """Who is asked, and how: all that groups are asked with.

    Replies are held to their form under every defence, where the server can and `structured` is not
    False. A defence that is nothing else is compared with the others: beside it they are free.
    """

    mode: AskingMode
    runner: Runner
    samples: SamplingPlan
    structured: bool | None = None
    runs: list[Run] = field(default_factory=list)

    async def ask(
        self, defence: Defence, part: str, groups: Sequence[PassageGroup]
    ) -> dict[str, list[Trial]]:
        """Ask groups under a defence, or find them asked; trials by the name of their group."""
        framed = defence.framed and isinstance(self.mode.asking, Strategy)
        n = 1 if part == ATTACKED else REPEATS
        run = await self.runner.ask(
            source_of(groups, name=f"{defence.name} {part}"),
            replace(self.mode, frame=framed),
            place=f"{defence.name}/{part}",
            samples=replace(
                self.samples, sampling=replace(self.samples.sampling, n=n),
                structured=defence.structured or self._held,
            ),
        )  # fmt: skip
        self.runs.append(run)
        return run.trials_by_group()

    @cached_property
    def _held(self) -> bool:
        """Say whether replies are held to their form; settled once, as all are compared."""
        folder = self.runner.folder
        begun = () if folder is None else sorted(Path(folder).glob("*/*/manifest.json"))
        places = ["/".join(path.parts[-3:-1]) for path in begun]
        return self.runner.is_structured(self.structured, self.mode.asking, *places)
