"""Two cards of the same system, before and after a change: which relations it broke."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.probes.card import Verdict
from novarag.probes.relations import RELATIONS
from novarag.stats.budgets import Held

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
    old: Verdict | None
    new: Verdict | None

    @property
    def title(self) -> str:
        """What the relation asks, in words."""
        return RELATIONS[self.name].title

    @property
    def held(self) -> Held:
        """Say whether the change broke it."""
        if self.new is Verdict.HOLDS or self.old is Verdict.BREAKS:
            return Held.KEPT
        if self.new is Verdict.BREAKS and self.old is Verdict.HOLDS:
            return Held.BROKEN
        return Held.CANNOT_TELL


def compare_verdicts(
    new: Mapping[str, Verdict], old: Mapping[str, Verdict]
) -> tuple[RelationCheck, ...]:
    """Set the verdicts of two cards beside each other, in the order of the relations.

    >>> [found] = compare_verdicts({"agreement": Verdict.BREAKS}, {"agreement": Verdict.HOLDS})
    >>> str(found.held)
    'broken'
    """
    return tuple(
        RelationCheck(name=name, old=old.get(name), new=new.get(name))
        for name in RELATIONS
        if name in new or name in old
    )
