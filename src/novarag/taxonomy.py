"""The paper's vocabulary, and the total maps between its words."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class PassageKind(StrEnum):
    """What a passage *is*, relative to the gold answer. Ground truth, never a model's opinion."""

    GOLD = "gold"
    COUNTERFACTUAL = "counterfactual"
    RELEVANT = "relevant"
    IRRELEVANT = "irrelevant"

    @property
    def is_noise(self) -> bool:
        """True for everything but gold."""
        return self is not PassageKind.GOLD

    @property
    def utility(self) -> Utility:
        """The judgment a perfect reader would pass on such a passage."""
        match self:
            case PassageKind.GOLD | PassageKind.COUNTERFACTUAL:
                return Utility.HIGHLY_RELEVANT
            case PassageKind.RELEVANT:
                return Utility.RELEVANT
            case PassageKind.IRRELEVANT:
                return Utility.IRRELEVANT


class RelevantFacet(StrEnum):
    """What a relevant passage shares with the question."""

    ENTITY = "entity"
    RELATION = "relation"
    THEME = "theme"


class Provenance(StrEnum):
    """Where the text of a passage comes from."""

    ORIGINAL = "original"
    GENERATED = "generated"
    RETRIEVED = "retrieved"


class Utility(StrEnum):
    """What a model *says* about one passage (the paper's J_p)."""

    HIGHLY_RELEVANT = "highly relevant"
    RELEVANT = "relevant"
    IRRELEVANT = "irrelevant"


class GroupKind(StrEnum):
    """What a passage group is as a whole, named by what it holds."""

    COUNTERFACTUAL = "counterfactual"
    CONSISTENT = "consistent"
    IRRELEVANT = "irrelevant"


class EvidenceState(StrEnum):
    """What a model *says* of the passages together (the paper's J_g)."""

    CONFLICTING = "conflicting"
    CONSISTENT = "consistent"
    INSUFFICIENT = "insufficient"


class Rule(StrEnum):
    """The three NOVA rules, by name; the paper numbers them three different ways."""

    CONFLICT_INDEPENDENCE = "conflict independence"
    NOISE_INVARIANCE = "noise invariance"
    PARAMETRIC_FALLBACK = "parametric fallback"


class Grade(StrEnum):
    """How an answer was graded against the gold answers."""

    RIGHT = "right"
    WRONG = "wrong"
    ABSTAINED = "abstained"


def group_kind(kinds: Iterable[PassageKind]) -> GroupKind:
    """Name a group by what it holds.

    >>> group_kind([PassageKind.GOLD, PassageKind.RELEVANT])
    <GroupKind.CONSISTENT: 'consistent'>
    """
    present = frozenset(kinds)
    if PassageKind.COUNTERFACTUAL in present:
        return GroupKind.COUNTERFACTUAL
    if PassageKind.GOLD in present:
        return GroupKind.CONSISTENT
    return GroupKind.IRRELEVANT


def rules_for(kinds: Iterable[PassageKind]) -> frozenset[Rule]:
    """Return every rule whose premise the group meets; more than one may."""
    present = frozenset(kinds)
    premises = {
        Rule.CONFLICT_INDEPENDENCE: PassageKind.COUNTERFACTUAL in present,
        Rule.NOISE_INVARIANCE: PassageKind.IRRELEVANT in present,
        Rule.PARAMETRIC_FALLBACK: PassageKind.GOLD not in present,
    }
    return frozenset(rule for rule, holds in premises.items() if holds)


def states_for(utilities: Iterable[Utility]) -> frozenset[EvidenceState]:
    """Return the evidence states that stated classes leave open; the decision table's left side.

    Two or more highly relevant passages may agree or conflict; only their texts can tell.

    >>> sorted(states_for([Utility.HIGHLY_RELEVANT, Utility.IRRELEVANT]))
    [<EvidenceState.CONSISTENT: 'consistent'>]
    """
    match sum(u is Utility.HIGHLY_RELEVANT for u in utilities):
        case 0:
            return frozenset({EvidenceState.INSUFFICIENT})
        case 1:
            return frozenset({EvidenceState.CONSISTENT})
        case _:
            return frozenset({EvidenceState.CONFLICTING, EvidenceState.CONSISTENT})
