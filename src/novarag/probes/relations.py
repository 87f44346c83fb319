"""Relations that a confidence about the answer keeps, each a row of `RELATIONS`.

A relation scores each group one-sidedly: where the mean score is over 0 the relation is broken.
Proved ones follow from probability alone for whoever is calibrated on average; conventions say by
how many points a confidence should move, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.probes.replies import Side
    from novarag.stats.arrays import Floats


class Basis(StrEnum):
    """What a relation rests on."""

    PROVED = "proved from probability alone"
    CONVENTION = "by convention"


class Kind(StrEnum):
    """What a relation asks of a confidence."""

    BOUND = "bound"
    INVARIANCE = "invariance"
    SENSITIVITY = "sensitivity"


class Scores(NamedTuple):
    """A score for each group, NaN where there is none.

    `least` takes unread replies as they speak least for a break, `most` as they speak most.
    """

    least: Floats
    most: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation between the replies of two lists of variants; `second` may be empty.

    `of` takes both sides, the margin and the bound of the matching risk.
    """

    name: str
    title: str
    says: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    kind: Kind
    basis: Basis
    margin: float
    reason: str
    of: Callable[[Side, Side, float, float], Scores]
    least: float = -1.0
    """The least score there can be."""
    cites: str | None = None

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants whose replies are compared."""
        return (*self.first, *self.second)

    def score(self, first: Side, second: Side, *, risk: float) -> Scores:
        """Score each group."""
        return self.of(first, second, self.margin, risk)


RELATIONS: dict[str, Relation] = {}
"""Every relation by name, in the order that cards show them."""
