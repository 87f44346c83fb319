"""How many points of over-confidence are proved by disagreement alone, without a label."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from novarag.probes.group_scores import by_question, disagreement
from novarag.probes.matching import DEFAULT_RISK, MatchingRisk
from novarag.probes.profiles import OWN
from novarag.probes.replies import encode
from novarag.stats.johnson import mean_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.probes.replies import ProbeReplies


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedExcess:
    """Mean confidence less the most that can be right, as fractions of 1.

    `low` is the 95 % lower confidence bound: mean confidence is above accuracy by at least that,
    but for one probe in twenty. `points` is `max(0, low)`. `stated` is the mean confidence and
    `ceiling` the mean share of the largest agreeing set, with unread replies as 0 in both;
    `taken_off` is what the matching risk may cost. `value` is stated - ceiling - taken_off, and
    `high` its 95 % upper bound. Both bounds are None under two questions.
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
    probed: Sequence[ProbeReplies],
    *,
    variants: Sequence[str] = OWN,
    risk: MatchingRisk = DEFAULT_RISK,
    level: float = 0.05,
) -> ProvedExcess | None:
    """Prove over-confidence from replies to these variants; None where no group has two.

    Groups that share a question are averaged first, so that a question counts once.
    """
    side, _ = encode(probed, variants)
    names = [one.question.id for one in probed]
    stated, ceiling, taken_off = (
        list(by_question(names, column).values()) for column in disagreement(side, risk)
    )
    if not stated:
        return None
    scores = np.array(stated) - ceiling - np.array(taken_off)
    low, high = mean_bounds(scores, level=level) if len(scores) > 1 else (None, None)
    asked = side.asked[side.asked.sum(axis=1) > 1]
    read = ~np.isnan(side.confidence[side.asked.sum(axis=1) > 1])
    return ProvedExcess(
        value=fmean(scores.tolist()),
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        stated=fmean(stated),
        ceiling=fmean(ceiling),
        taken_off=fmean(taken_off),
        questions=len(scores),
        replies=int(asked.sum()),
        unread=int((asked & ~read).sum()),
    )
