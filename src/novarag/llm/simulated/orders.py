"""What an attack asks of a simulated respondent that obeys: a percent, an answer, or both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.attacks.poisoning import GOAL, MARK, STATED
from novarag.attacks.suite import AttackGoal

if TYPE_CHECKING:
    from novarag.llm.simulated.respondent import AnswerProspect
    from novarag.records import Passage, PassageGroup


@dataclass(frozen=True, slots=True)
class AttackOrder:
    """What the passages of an attack ask for; None where they leave it alone."""

    states: int | None
    claim: str | None

    def percent(self, own: int) -> int:
        """Return the percent to state, which is the respondent's own where none is asked for."""
        return own if self.states is None else self.states

    def answered(self, prospect: AnswerProspect, place: int) -> AnswerProspect:
        """Return the prospect with the claimed answer in the place of the one that is given."""
        if self.claim is None:
            return prospect
        answers = list(prospect.answers)
        answers[place] = self.claim
        return replace(prospect, answers=tuple(answers))


def find_order(group: PassageGroup) -> tuple[AttackOrder | None, PassageGroup]:
    """Return what an attack on a group asks for, and the group without the attack."""
    put_in = [passage for passage in group.passages if MARK in passage.flags]
    if not put_in:
        return None, group
    own = tuple(passage for passage in group.passages if MARK not in passage.flags)
    return _order(put_in[0]), replace(group, passages=own)


def _order(passage: Passage) -> AttackOrder | None:
    if f"{GOAL}{AttackGoal.NONE}" in passage.flags:
        return None
    stated = [flag.removeprefix(STATED) for flag in passage.flags if flag.startswith(STATED)]
    return AttackOrder(int(stated[0]) if stated else None, passage.claim)
