"""Sums over decisions: what a status page shows of an hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    import asyncpg

_HOUR = """
select
    s.answered as model,
    (array['conflicting', 'consistent', 'insufficient'])[evidence] as evidence,
    (array['answer', 'abstain', 'clarify', 'none', 'failed'])[decision] as decision,
    rows, read, confidence, latency_ms
from (
    select source, evidence, decision, count(*) as rows, count(confidence) as read,
        avg(confidence) as confidence, avg(latency_ms)::float8 as latency_ms
    from decisions
    where day between ($1::timestamptz at time zone 'UTC')::date
            and ($2::timestamptz at time zone 'UTC')::date
        and time >= $1 and time < $2
    group by source, evidence, decision
) d join sources s on s.id = d.source
order by 1, 2, 3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollup:
    """How many decisions of a kind there were, and their means; None where there is no value."""

    model: str
    evidence: str | None
    decision: str
    rows: int
    read: int
    confidence: float | None
    latency_ms: float | None


async def roll_up(
    connection: asyncpg.Connection, since: datetime, until: datetime | None = None
) -> list[Rollup]:
    """Sum up the decisions of an hour, or of the time until another, by model, state, decision."""
    end = since + timedelta(hours=1) if until is None else until
    return [Rollup(**dict(row)) for row in await connection.fetch(_HOUR, since, end)]
