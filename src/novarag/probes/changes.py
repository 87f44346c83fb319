"""Two cards of the same system, before and after a change: which relations it broke."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.probes.card import RelationVerdict
from novarag.probes.relations import RELATIONS
from novarag.stats.budgets import BudgetStanding

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationCheck:
    """One relation on two cards; a verdict is None where it was not asked.

    Only a relation that held before and is broken now was broken by the change. One that was broken
    before may stay so. What held and is no longer shown to, or is broken now and was not known to
    hold, cannot be told.
    """

    name: str
    old: RelationVerdict | None
    new: RelationVerdict | None

    @property
    def title(self) -> str:
        """What the relation asks, in words."""
        return RELATIONS[self.name].title

    @property
    def held(self) -> BudgetStanding:
        """Say whether the change broke it."""
        if self.new is RelationVerdict.HOLDS or self.old is RelationVerdict.BREAKS:
            return BudgetStanding.KEPT
        if self.new is RelationVerdict.BREAKS and self.old is RelationVerdict.HOLDS:
            return BudgetStanding.BROKEN
        return BudgetStanding.CANNOT_TELL


def compare_verdicts(
    new: Mapping[str, RelationVerdict], old: Mapping[str, RelationVerdict]
) -> tuple[RelationCheck, ...]:
    """Set the verdicts of two cards beside each other, in the order of the relations.

    >>> new, old = RelationVerdict.BREAKS, RelationVerdict.HOLDS
    >>> [found] = compare_verdicts({"agreement": new}, {"agreement": old})
    >>> str(found.held)
    'broken'
    """
    return tuple(
        RelationCheck(name=name, old=old.get(name), new=new.get(name))
        for name in RELATIONS
        if name in new or name in old
    )
