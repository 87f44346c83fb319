"""A card: each relation with its verdict, and the points of over-confidence that are proved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from novarag.probes.matching import DEFAULT_RISK, MatchingRisk
from novarag.probes.relations import RELATIONS, Kind, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from novarag.probes.proved import Proved
    from novarag.probes.replies import Probed
    from novarag.stats.figure import Figure

LEVEL = 0.05
"""The chance, over all relations of a card, that one is called broken though all are kept."""

FEWEST = 50
"""Questions below which scores are described and not judged."""

POWER = 0.8
SMALLEST = 0.02
"""The least mean score that "ask about N more" would settle."""


class Verdict(StrEnum):
    """What is known of a relation."""

    BREAKS = "breaks"
    HOLDS = "holds"
    CANNOT_TELL = "cannot tell"
    TOO_FEW = "too few questions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One relation on one card.

    `score` is the mean over questions with its 95 % interval, over 0 where the relation is broken.
    `p_breaks` and `p_holds` are adjusted for all relations of the card (Holm); None under `FEWEST`
    questions. `more` is how many more questions would settle it, where that is open. `first` and
    `second` are mean stated confidences of the replies that were read, `changed` is the share of
    pairs of replies with other answers (strictly matched). `scores` has each question's own.
    """

    relation: Relation
    verdict: Verdict
    score: Figure
    p_breaks: float | None
    p_holds: float | None
    more: int | None
    questions: int
    left_out: int
    replies: int
    unread: int
    first: float | None
    second: float | None
    changed: float | None
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a probe found, relation by relation.

    Relations without any question are in `not_asked`, by name. `proved` speaks of the original
    passages; None where no question has two replies to them.
    """

    findings: tuple[Finding, ...]
    not_asked: tuple[str, ...]
    proved: Proved | None
    risk: MatchingRisk
    questions: int
    replies: int
    unread: int

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The relations that are broken."""
        return tuple(f for f in self.findings if f.verdict is Verdict.BREAKS)

    @property
    def one_sided(self) -> bool:
        """Say whether only invariances were asked, which a constant confidence keeps."""
        kinds = {finding.relation.kind for finding in self.findings}
        return Kind.INVARIANCE in kinds and Kind.SENSITIVITY not in kinds


def make_card(
    probed: Sequence[Probed],
    *,
    relations: Iterable[Relation] = RELATIONS.values(),
    risk: MatchingRisk = DEFAULT_RISK,
    level: float = LEVEL,
) -> Card:
    """Score every relation whose variants have replies, and judge them together.

    Scores of groups that share a question are averaged first. All replies must have been drawn
    with one setting of the sampling.
    """
    raise NotImplementedError
