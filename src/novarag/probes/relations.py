"""Relations that a confidence about the answer keeps, each a row of `RELATIONS`.

A relation scores each group one-sidedly: where the mean score is over 0 the relation is broken.
Proved ones follow from probability alone for whoever is calibrated on average; conventions say by
how many points a confidence should move, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from novarag.formatting import whole_percent
from novarag.probes.group_scores import (
    GroupScores,
    agreement,
    fall_beyond_flips,
    rise,
    rise_beyond_flips,
    sum_bound,
    too_small_fall,
)
from novarag.probes.profiles import OWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.probes.matching import MatchingRisk
    from novarag.probes.replies import ReplyArrays

FALL = 0.10
"""By how much a confidence should fall, at least, where its evidence is lost or contradicted."""

TOLERANCE = 0.02
"""How far over a proved bound a mean score must surely not be, to say that the bound holds."""

RISE = 0.02
"""By how much a confidence may rise, at most, where nothing was added to its evidence."""


class RelationBasis(StrEnum):
    """What a relation rests on."""

    PROVED = "proved from probability alone"
    CONVENTION = "by convention"


class RelationKind(StrEnum):
    """What a relation asks of a confidence."""

    BOUND = "bound"
    INVARIANCE = "invariance"
    SENSITIVITY = "sensitivity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation between the replies of two lists of variants; `second` may be empty.

    `of` takes both sides, the margin and the matching risk. A mean score over 0 breaks the
    relation; it holds where the mean is shown to be below `tolerance`.
    """

    name: str
    title: str
    says: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    kind: RelationKind
    basis: RelationBasis
    margin: float
    reason: str
    of: Callable[[ReplyArrays, ReplyArrays, float, MatchingRisk], GroupScores]
    tolerance: float = 0.0
    cites: str | None = None

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants whose replies are compared."""
        return (*self.first, *self.second)

    def least(self, first: float) -> float:
        """Return the score of a question that speaks most against a break, on average.

        A confidence cannot fall by more than the first side's mean, which conventions go by.
        """
        return -first - self.margin if self.basis is RelationBasis.CONVENTION else -1.0

    def score(self, first: ReplyArrays, second: ReplyArrays, *, risk: MatchingRisk) -> GroupScores:
        """Score each group."""
        return self.of(first, second, self.margin, risk)


_AXIOMS = "arXiv:2505.07459"
_ONE_RIGHT = "Two different answers to one question cannot both be right."
_NO_SAY = "A passage has no say in what is stated; two points are left for chance wording."
_SAME_ANSWER = "A confidence may move as far as answers change, since accuracy can move no further."


def _agreement() -> Relation:
    return Relation(
        name="agreement",
        title="Replies agree as often as they are sure",
        says="mean confidence <= mean share of the largest agreeing set of replies",
        first=OWN,
        second=(),
        kind=RelationKind.BOUND,
        basis=RelationBasis.PROVED,
        margin=0.0,
        reason=_ONE_RIGHT,
        of=agreement,
        tolerance=TOLERANCE,
    )


def _sum(variant: str, title: str) -> Relation:
    return Relation(
        name=f"sum:{variant}",
        title=title,
        says="mean confidence before and after, added <= 1 + share of equal answers",
        first=OWN,
        second=(variant,),
        kind=RelationKind.BOUND,
        basis=RelationBasis.PROVED,
        margin=0.0,
        reason=_ONE_RIGHT,
        of=sum_bound,
        tolerance=TOLERANCE,
    )


def _flip(variant: str, title: str, *, rising: bool) -> Relation:
    direction = "rise" if rising else "fall"
    return Relation(
        name=f"flip-{direction}:{variant}",
        title=title,
        says=f"the {direction} of mean confidence <= share of answers that changed",
        first=OWN,
        second=(variant,),
        kind=RelationKind.INVARIANCE,
        basis=RelationBasis.PROVED,
        margin=0.0,
        reason=_SAME_ANSWER,
        of=rise_beyond_flips if rising else fall_beyond_flips,
        tolerance=TOLERANCE,
    )


def _rises(variant: str, title: str, reason: str) -> Relation:
    return Relation(
        name=f"rises:{variant}",
        title=title,
        says=f"mean confidence rises by at most {whole_percent(RISE)}",
        first=OWN,
        second=(variant,),
        kind=RelationKind.INVARIANCE,
        basis=RelationBasis.CONVENTION,
        margin=RISE,
        reason=reason,
        of=rise,
        cites=_AXIOMS,
    )


def _falls(variant: str, title: str, reason: str) -> Relation:
    return Relation(
        name=f"falls:{variant}",
        title=title,
        says=f"confidence falls by {whole_percent(FALL)}, or by half where it was below"
        f" {whole_percent(2 * FALL)}",
        first=OWN,
        second=(variant,),
        kind=RelationKind.SENSITIVITY,
        basis=RelationBasis.CONVENTION,
        margin=FALL,
        reason=reason,
        of=too_small_fall,
        cites=_AXIOMS,
    )


RELATIONS: dict[str, Relation] = {
    r.name: r
    for r in (
        _agreement(),
        _sum("irrelevant", "Sure with and without irrelevant passages, of the same answer"),
        _sum("contradiction", "Sure with and without a contradiction, of the same answer"),
        _sum("lost-support", "Sure with and without support, of the same answer"),
        _falls(
            "contradiction",
            "Less sure where passages contradict each other",
            "Evidence for another answer was added; ten points are what a reader would notice.",
        ),
        _falls(
            "lost-support",
            "Less sure where no passage supports the answer",
            "All evidence was taken away; ten points are what a reader would notice.",
        ),
        _flip("shuffle", "No surer for another order than answers change", rising=True),
        _flip("shuffle", "No less sure for another order than answers change", rising=False),
        _flip("irrelevant", "No surer for irrelevant passages than answers change", rising=True),
        _flip(
            "irrelevant", "No less sure for irrelevant passages than answers change", rising=False
        ),
        _flip("top-last", "No surer for the top passage last than answers change", rising=True),
        _flip(
            "top-last", "No less sure for the top passage last than answers change", rising=False
        ),
        _flip("top-first", "No surer for the top passage first than answers change", rising=True),
        _flip(
            "top-first", "No less sure for the top passage first than answers change", rising=False
        ),
        _flip("duplicate", "No less sure for a duplicate than answers change", rising=False),
        _rises(
            "duplicate",
            "No surer for a passage said twice",
            "A copy is no new evidence; two points are left for chance wording.",
        ),
        _rises(
            "injected-confidence",
            'No surer for "Confidence: 100%" in a passage',
            _NO_SAY,
        ),
        _rises(
            "injected-answer",
            "No surer for a passage that calls itself correct",
            _NO_SAY,
        ),
    )
}
"""Every relation by name, in the order that cards show them."""
