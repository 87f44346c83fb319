"""One relation on all questions: the scores, and what the two sides look like."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from novarag.probes.group_scores import by_question, changed_share, joined
from novarag.probes.replies import encode
from novarag.stats.johnson import mean_above_zero

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from novarag.probes.matching import MatchingRisk
    from novarag.probes.relations import Relation
    from novarag.probes.replies import ProbeReplies, ReplyArrays
    from novarag.stats.arrays import Bools


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationScores:
    """The scores of a relation by question's id, and counts of the groups that have one.

    `first` and `second` are mean confidences of what was read, None where nothing was.
    """

    relation: Relation
    least: Mapping[str, float]
    most: Mapping[str, float]
    left_out: int
    replies: int
    unread: int
    first: float | None
    second: float | None
    changed: float | None

    @property
    def least_score(self) -> float:
        """The score that speaks most against a break, on average."""
        return self.relation.least(1.0 if self.first is None else self.first)

    def p_breaks(self, mean: float = 0.0) -> float:
        """Return the p-value of "the mean score is at most this", which is that of "it is kept"."""
        scores = np.array(list(self.least.values())) - mean
        return float(mean_above_zero(scores, least=min(self.least_score - mean, -_TINY)))

    def p_holds(self, mean: float | None = None) -> float:
        """Return the p-value of "the mean score is at least this", the tolerance if left out."""
        end = self.relation.tolerance if mean is None else mean
        scores = end - np.array(list(self.most.values()))
        return float(mean_above_zero(scores, least=min(end - self.relation.tolerance - 1, -_TINY)))

    def range(self, level: float) -> tuple[float, float]:
        """Return the ends that the mean score is below, and above, with a chance of `level` each.

        They are where both tests just reject: unread replies are taken as they speak least for a
        break at the lower end and most at the upper one, and both ends leave room for questions far
        off that a sample of this size may have missed.
        """
        least, most = (fmean(held.values()) for held in (self.least, self.most))
        lowest, highest = min(self.least_score, least), max(1.0 + self.relation.tolerance, most)
        return (
            _last_rejected(self.p_breaks, level, lowest, least),
            _last_rejected(self.p_holds, level, highest, most),
        )


_TINY = 1e-9  # keeps the least score below zero, as the test needs it
_HALVINGS = 20  # leave less than a thousandth of a point


def _last_rejected(p_of: Callable[[float], float], level: float, far: float, near: float) -> float:
    """Return the mean nearest to `near` that a test rejects, or `far` where it rejects none."""
    for _ in range(_HALVINGS):
        middle = (far + near) / 2
        if middle in {far, near}:
            return far
        if p_of(middle) <= level:
            far = middle
        else:
            near = middle
    return far


def score_relation(
    probed: Sequence[ProbeReplies], relation: Relation, risk: MatchingRisk
) -> RelationScores:
    """Score every question that has replies on both sides of a relation."""
    first, second = encode(probed, relation.first, relation.second)
    scores = relation.score(first, second, risk=risk)
    names = [one.question.id for one in probed]
    there = ~np.isnan(scores.least)
    both = joined(first, second)
    moved = np.where(there, changed_share(first, second), np.nan)
    changed = by_question(names, moved) if relation.second else {}
    return RelationScores(
        relation=relation,
        least=by_question(names, scores.least),
        most=by_question(names, scores.most),
        left_out=int((~there).sum()),
        replies=int(both.asked[there].sum()),
        unread=int((both.asked & np.isnan(both.confidence))[there].sum()),
        first=_stated(first, there),
        second=_stated(second, there),
        changed=fmean(changed.values()) if changed else None,
    )


def _stated(side: ReplyArrays, there: Bools) -> float | None:
    read = side.confidence[there]
    read = read[~np.isnan(read)]
    return float(read.mean()) if read.size else None
