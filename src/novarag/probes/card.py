"""A card: each relation with its verdict, and the points of over-confidence that are proved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import ceil, log
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from novarag.probes.matching import DEFAULT_RISK, MatchingRisk
from novarag.probes.profiles import OWN
from novarag.probes.proved_excess import ProvedExcess, prove
from novarag.probes.relation_scores import RelationScores, score_relation
from novarag.probes.relations import RELATIONS, Relation, RelationKind
from novarag.stats.corrections import holm
from novarag.stats.figure import Figure
from novarag.stats.johnson import mean_bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from novarag.probes.replies import ProbeReplies

LEVEL = 0.05
"""The chance, over all relations of a card, that one is called broken though all are kept."""

FEWEST = 50
"""Questions below which scores are described and not judged."""

POWER = 0.8
"""The chance with which "ask about N more" settles a relation, if it is as far off as it seems."""

TEMPTING = ("irrelevant", "contradiction", "lost-support")
"""Variants whose replies are held against the original's to prove over-confidence."""

TENS = 10
"""Numbers of questions to ask about are rounded up to multiples of this."""

SMALLEST = 0.02
"""The least mean score that "ask about N more" would settle."""

_BEYOND = 1e-9  # what is not rejected lies within the range, however an end was rounded


class RelationVerdict(StrEnum):
    """What is known of a relation."""

    BREAKS = "breaks"
    HOLDS = "holds"
    CANNOT_TELL = "cannot tell"
    TOO_FEW = "too few questions"


class WideRangeCause(StrEnum):
    """Why a relation cannot be told: what makes its range so wide."""

    SPREAD = "questions differ too much for so few"
    RARE = "so few questions may hold none of those that are rare and far off"
    UNREAD = (
        "it depends on what the unread replies would have said; more questions do not settle it"
    )
    MATCHED = "it depends on answers that may be matched wrongly; more questions do not settle it"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationFinding:
    """One relation on one card.

    `score` is the mean over questions with the range by which verdicts go: where it does not reach
    below 0 the relation is broken, where not above its tolerance it holds, else it cannot be told,
    and `open` says why. Under `FEWEST` questions the range is a 95 % interval. `p_breaks` and
    `p_holds` are adjusted for all relations of the card (Holm); None under `FEWEST` questions.
    `more` is how many more questions would settle it, where that is open. `first` and `second` are
    mean stated confidences of the replies that were read, `changed` is the share of pairs of
    replies with other answers (strictly matched). `scores` has each question's own.
    """

    relation: Relation
    verdict: RelationVerdict
    score: Figure
    p_breaks: float | None
    p_holds: float | None
    more: int | None
    open: WideRangeCause | None
    questions: int
    left_out: int
    replies: int
    unread: int
    first: float | None
    second: float | None
    changed: float | None
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeCard:
    """What a probe found, relation by relation.

    Relations without any question are in `not_asked`, by name. `proved` speaks of replies to the
    original passages; None where no question has two. `proved_with` speaks of those and of one
    variant's, by the variant's name; its lower bounds hold together.
    """

    findings: tuple[RelationFinding, ...]
    not_asked: tuple[str, ...]
    proved: ProvedExcess | None
    proved_with: Mapping[str, ProvedExcess]
    risk: MatchingRisk
    questions: int
    replies: int
    unread: int

    @property
    def broken(self) -> tuple[RelationFinding, ...]:
        """The relations that are broken."""
        return tuple(f for f in self.findings if f.verdict is RelationVerdict.BREAKS)

    @property
    def one_sided(self) -> bool:
        """Say whether only invariances were asked, which a constant confidence keeps."""
        kinds = {finding.relation.kind for finding in self.findings}
        return RelationKind.INVARIANCE in kinds and RelationKind.SENSITIVITY not in kinds


def make_card(
    probed: Sequence[ProbeReplies],
    *,
    relations: Iterable[Relation] = RELATIONS.values(),
    risk: MatchingRisk = DEFAULT_RISK,
    level: float = LEVEL,
) -> ProbeCard:
    """Score every relation whose variants have replies, and judge them together.

    Scores of groups that share a question are averaged first. All replies must have been drawn
    with one setting of the sampling.
    """
    wanted = tuple(relations)
    scored = [score_relation(probed, relation, risk) for relation in wanted]
    held = [one for one in scored if one.least]
    tested = [one for one in held if len(one.least) >= FEWEST]
    adjusted = zip(
        [one.relation.name for one in tested],
        holm(np.array([one.p_breaks() for one in tested])).tolist(),
        holm(np.array([one.p_holds() for one in tested])).tolist(),
        strict=True,
    )
    found = {name: (breaks, holds) for name, breaks, holds in adjusted}
    every = [reply for one in probed for replies in one.replies.values() for reply in replies]
    return ProbeCard(
        findings=tuple(
            _finding(one, found.get(one.relation.name), level=level, tests=len(tested))
            for one in held
        ),
        not_asked=tuple(one.relation.name for one in scored if not one.least),
        proved=prove(probed, risk=risk, level=level),
        proved_with=_proved_with(probed, risk, level),
        risk=risk,
        questions=len({one.question.id for one in probed}),
        replies=len(every),
        unread=sum(reply is None for reply in every),
    )


def _proved_with(
    probed: Sequence[ProbeReplies], risk: MatchingRisk, level: float
) -> dict[str, ProvedExcess]:
    """Prove over-confidence on the original and each variant that tempts to it, side by side."""
    there = [name for name in TEMPTING if any(one.replies.get(name) for one in probed)]
    found = {
        name: prove(probed, variants=(*OWN, name), risk=risk, level=level / len(there))
        for name in there
    }
    return {name: one for name, one in found.items() if one is not None}


def _finding(
    scored: RelationScores, adjusted: tuple[float, float] | None, *, level: float, tests: int
) -> RelationFinding:
    verdict = _verdict(adjusted, level)
    more, why = None, None
    if verdict is RelationVerdict.CANNOT_TELL:
        more, why = _more(scored, level / tests)
    return RelationFinding(
        relation=scored.relation,
        verdict=verdict,
        score=_described(scored) if adjusted is None else _judged(scored, adjusted, level, tests),
        p_breaks=None if adjusted is None else adjusted[0],
        p_holds=None if adjusted is None else adjusted[1],
        more=more,
        open=why,
        questions=len(scored.least),
        left_out=scored.left_out,
        replies=scored.replies,
        unread=scored.unread,
        first=scored.first,
        second=scored.second,
        changed=scored.changed,
        scores=scored.least,
    )


def _verdict(adjusted: tuple[float, float] | None, level: float) -> RelationVerdict:
    if adjusted is None:
        return RelationVerdict.TOO_FEW
    breaks, holds = adjusted
    if breaks <= level:
        return RelationVerdict.BREAKS
    return RelationVerdict.HOLDS if holds <= level else RelationVerdict.CANNOT_TELL


def _described(scored: RelationScores) -> Figure:
    """Return the mean score with a 95 % interval of its own, for too few questions to judge."""
    scores = np.array(list(scored.least.values()))
    if scores.size == 1:
        return Figure(float(scores[0]), None, None, 1)
    low, high = mean_bounds(scores, level=0.025)
    return Figure(float(scores.mean()), float(low), float(high), scores.size)


def _judged(
    scored: RelationScores, adjusted: tuple[float, float], level: float, tests: int
) -> Figure:
    """Return the mean score with the range that its verdict can be read from.

    All lower ends hold together with a chance of 1 - `level`, and so do all upper ends: each is
    corrected for the number of relations, and where Holm's steps reject and that does not, it ends
    where the relation would still be rejected (Strassburger and Bretz 2008).
    """
    low, high = scored.range(level / tests)
    breaks, holds = (p <= level for p in adjusted)
    tolerance = scored.relation.tolerance
    return Figure(
        fmean(scored.least.values()),
        max(low, 0.0) if breaks else min(low, -_BEYOND),
        min(high, tolerance) if holds else max(high, tolerance + _BEYOND),
        len(scored.least),
    )


def _more(scored: RelationScores, level: float) -> tuple[int | None, WideRangeCause]:
    """Say how many more questions like these would settle a relation, and why it is open.

    None where the mean is over 0 or not as unread replies and matching are taken: more questions
    would not settle that.
    """
    least, most = (np.array(list(held.values())) for held in (scored.least, scored.most))
    relation = scored.relation
    if least.mean() > 0:
        decisive, end = least, scored.least_score
    elif most.mean() < relation.tolerance:
        decisive, end = relation.tolerance - most, -1.0
    else:
        return None, WideRangeCause.UNREAD if scored.unread else WideRangeCause.MATCHED
    size = max(float(decisive.mean()), SMALLEST)
    reach = float(ndtri(1 - level) + ndtri(POWER))
    needed = (reach * float(decisive.std(ddof=1)) / size) ** 2
    unseen = log(level) / log(-end / (size - end))  # that scores far below 0 were not missed
    more = max(TENS, TENS * ceil((max(needed, unseen) - decisive.size) / TENS))
    return more, WideRangeCause.RARE if unseen >= needed else WideRangeCause.SPREAD
