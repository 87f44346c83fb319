"""Confidence against truth: what answers were said to be worth, and how many users found right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.stats.exact import upper_bound

if TYPE_CHECKING:
    from datetime import datetime

    import asyncpg

_TAIL = 0.025  # on each side, which leaves an interval of 95 %
_DELIVERED = """
select s.answered as model, count(*) as answers, count(*) filter (where f.verdict = 1) as right,
    avg(d.stated) as stated, avg(d.confidence) as delivered, bool_and(d.calibrated) as calibrated
from feedback f
join decisions d on d.id = f.id and d.day = f.day and d.tenant = f.tenant
join sources s on s.id = d.source
where f.day >= ($1::timestamptz at time zone 'UTC')::date
    and d.day >= ($1::timestamptz at time zone 'UTC')::date
    and d.time >= $1 and d.shown and d.stated is not null and d.confidence is not null
group by s.answered
order by s.answered
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackSummary:
    """Answers of one model that users judged: mean confidences, and the share that was right.

    `low` and `high` are the 95 % interval of that share (Clopper and Pearson), as if each answer
    had been drawn by chance.
    """

    model: str
    answers: int
    right: int
    stated: float
    delivered: float
    calibrated: bool

    @property
    def share(self) -> float:
        """The share that was right."""
        return self.right / self.answers

    @property
    def low(self) -> float:
        """The least share that the answers allow."""
        return 1 - upper_bound(self.answers - self.right, self.answers, _TAIL)

    @property
    def high(self) -> float:
        """The greatest share that the answers allow."""
        return upper_bound(self.right, self.answers, _TAIL)

    @property
    def word(self) -> str:
        """Say how the confidence that was delivered stands to the truth."""
        if self.delivered > self.high:
            return "too confident"
        return "too cautious" if self.delivered < self.low else "within the interval"


async def summarise_feedback(
    connection: asyncpg.Connection, since: datetime
) -> list[FeedbackSummary]:
    """Hold the confidences of answers since a time against what users said of them."""
    return [FeedbackSummary(**dict(row)) for row in await connection.fetch(_DELIVERED, since)]
