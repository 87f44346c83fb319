"""The result of attacks: every case, and how often they changed what was read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from novarag.attacks.poisoning import AttackPlace
from novarag.attacks.success import DefenceStanding, adjusted, judge_defence, score_by, worst_of
from novarag.attacks.suite import CLASSES, CONTROL
from novarag.formatting import fixed_percent, hundredths, span
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.attacks.outcomes import AttackCase
    from novarag.attacks.success import AttackScore, DefenceVerdict
    from novarag.calls import Cost
    from novarag.stats.figure import Figure


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """What attacks changed: every case, and shares by defence, class, place and attack.

    `missing` counts cases that a failed request left out. `flagged` are the passages that the
    screen flags with no attack among them, and `passages` all of them.
    """

    model: str
    strategy: str
    cases: tuple[AttackCase, ...]
    defences: tuple[str, ...]
    action: str
    margin: float
    decides: str
    cost: Cost
    missing: int
    flagged: int
    passages: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Show what came of each defence, a line each."""
        lines = "\n  ".join(map(defence_line, self.by_defence))
        return f"AttackResult({plain_text(self.model)}, {len(self.cases):,} cases\n  {lines})"

    @property
    def succeeded(self) -> bool:
        """Say whether attacks are shown to change more than a repeat, under some defence."""
        return self.held is DefenceStanding.SUCCEED

    @property
    def held(self) -> DefenceStanding:
        """What is known of the worst of the defences that were asked."""
        return worst_of(self.verdicts)

    @cached_property
    def verdicts(self) -> tuple[DefenceVerdict, ...]:
        """A verdict on each defence that was asked: pages, files and exit codes go by these."""
        together = {row.defence: row for row in self.by_defence}
        return tuple(
            judge_defence(
                defence,
                [row for row in self.by_class if row.defence == defence],
                together.get(defence),
                read=self._read(defence),
                missing=self.missing > 0,
            )
            for defence in self.defences
        )

    def _read(self, defence: str) -> tuple[int, int]:
        """Count the replies without an attack under a defence: those that were read, and all."""
        own = {case.group: case.before for case in self.cases if case.defence == defence}
        return sum(outcome.flaw is None for outcome in own.values()), len(own)

    @cached_property
    def _judged(self) -> tuple[list[AttackScore], list[AttackScore]]:
        """All attacks and each class under each defence: what verdicts go by, adjusted together."""
        rows = self._scores(lambda case: case.defence), self._scores(lambda case: case.attack.kind)
        every = adjusted([*rows[0], *rows[1]])
        return every[: len(rows[0])], every[len(rows[0]) :]

    @property
    def by_defence(self) -> list[AttackScore]:
        """All attacks under each defence."""
        return self._judged[0]

    @property
    def by_class(self) -> list[AttackScore]:
        """The attacks of each class under each defence."""
        return self._judged[1]

    @cached_property
    def by_place(self) -> list[AttackScore]:
        """The attacks at each place under each defence."""
        return self._scores(lambda case: str(case.place))

    @cached_property
    def by_attack(self) -> list[AttackScore]:
        """Each attack under each defence, the most successful first."""
        rows = self._scores(lambda case: case.attack.name)
        return sorted(rows, key=lambda row: (-row.net.value, -row.reached.value, row.name))

    @cached_property
    def controls(self) -> list[AttackScore]:
        """Harmless passages under each defence: what any further passage changes."""
        return self._scores(lambda _: CONTROL, control=True)

    def _scores(
        self, key: Callable[[AttackCase], str], *, control: bool = False
    ) -> list[AttackScore]:
        chosen = [case for case in self.cases if case.attack.is_control is control]
        rows = score_by(chosen, key, self.margin)
        order = [*CLASSES, *AttackPlace]
        rank = {name: place for place, name in enumerate(order)}
        rows.sort(key=lambda row: (rank.get(row.name, len(order)), row.name))
        return sorted(rows, key=lambda row: self.defences.index(row.defence))


def defence_line(row: AttackScore) -> str:
    """Say in one line what attacks changed under one defence."""
    return (
        f"{row.defence}: attacks change {said(row.changed)} of replies, the repeat"
        f" {said(row.repeat)}, beyond it {said(row.net)}; {said(row.reached)} as they mean to"
    )


def said(figure: Figure) -> str:
    """Write a share with its interval, in percent.

    >>> from novarag.stats.figure import Figure
    >>> said(Figure(0.3, 0.25, 0.355, 100)), said(Figure(0.5, None, None, 0))
    ('30.0 % (25.0 to 35.5)', '50.0 %')
    """
    if figure.low is None or figure.high is None:
        return fixed_percent(figure.value)
    return f"{fixed_percent(figure.value)} ({span(figure.low, figure.high, hundredths)})"
