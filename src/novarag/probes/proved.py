"""How many points of over-confidence are proved by disagreement alone, without a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.probes.matching import DEFAULT_RISK, MatchingRisk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.probes.replies import Probed


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """Mean confidence less the most that can be right, as fractions of 1.

    `low` is the 95 % lower confidence bound: mean confidence is above accuracy by at least that,
    unless one card in twenty is unlucky. `points` is `max(0, low)`. `stated` is the mean
    confidence and `ceiling` the mean share of the largest agreeing set, unread replies as 0 in
    both; `taken_off` is what the matching risk costs. `value` = stated - ceiling - taken_off, and
    `high` is its 95 % upper bound. None as bounds under two questions.
    """

    value: float
    low: float | None
    high: float | None
    stated: float
    ceiling: float
    taken_off: float
    questions: int
    replies: int
    unread: int

    @property
    def points(self) -> float:
        """What is proved, at least 0."""
        return max(0.0, self.low or 0.0)


def prove(
    probed: Sequence[Probed],
    *,
    variants: Sequence[str] = ("original", "repeat"),
    risk: MatchingRisk = DEFAULT_RISK,
) -> Proved | None:
    """Prove over-confidence from replies to these variants; None where no group has two."""
    raise NotImplementedError
