"""The audit's connection to PostgreSQL: opened, brought up to date, and written to in batches."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.gateway.audit.payloads import (
    DECISION_COLUMNS,
    FEEDBACK_COLUMNS,
    SOURCE,
    DecisionRecord,
    FeedbackRecord,
    IdMaps,
)
from novarag.gateway.audit.schema import TABLES, list_days_ahead, make_days, migrate, name_partition

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from datetime import date

    import asyncpg

_CONNECT = 5.0  # seconds
_COMMAND = 30.0  # seconds that one statement may take
_INCOMING = """
create temp table incoming_decisions (like decisions) on commit delete rows;
create temp table incoming_feedback (like feedback) on commit delete rows
"""
_KNOWN = "not exists (select from forgotten f where f.tenant = i.tenant and i.time <= f.until)"
_DECISIONS = f"""
insert into decisions select * from incoming_decisions i where {_KNOWN}
on conflict (id, day) do nothing
"""  # noqa: S608 - constants
_FEEDBACK = f"""
insert into feedback as old select * from incoming_feedback i where {_KNOWN}
order by id, tenant
on conflict (id, day, tenant) do update set verdict = excluded.verdict, time = excluded.time
where old.time < excluded.time
"""  # noqa: S608 - constants

_NEW_TENANTS = "insert into tenants (name) select unnest($1::text[]) on conflict do nothing"
_TENANTS = "select id, name from tenants where name = any($1::text[])"
_NEW_SOURCE = f"""
insert into sources ({", ".join(SOURCE)}) values ($1, $2, $3, $4, $5, $6) on conflict do nothing
"""  # noqa: S608 - constants
_SOURCE = f"""
select id from sources where ({", ".join(SOURCE)}) = ($1, $2, $3, $4, $5, $6)
"""  # noqa: S608 - constants


@asynccontextmanager
async def open_connection(
    dsn: str, *, command: float | None = _COMMAND
) -> AsyncIterator[asyncpg.Connection]:
    """Open one connection; an address that is none is refused without being repeated."""
    import asyncpg

    try:
        connection = await asyncpg.connect(
            dsn,
            timeout=_CONNECT,
            command_timeout=command,
            server_settings={"application_name": "novarag", "timezone": "UTC"},
        )
    except (asyncpg.InterfaceError, ValueError) as error:
        if isinstance(error, OSError):
            raise
        raise UsageError("the address of the audit's database is none of PostgreSQL's") from None
    try:
        yield connection
    finally:
        if not connection.is_closed():
            try:
                await connection.close(timeout=_CONNECT)
            except (OSError, TimeoutError, asyncpg.PostgresError):
                connection.terminate()


class BatchWriter:
    """Writes batches over one connection; each is committed whole, and never twice."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._known = IdMaps({}, {})
        self._partitions: set[str] = set()

    async def prepare(self) -> None:
        """Bring the schema up to date and make the partitions of today and of the next days."""
        await migrate(self._connection)
        await self._connection.execute(_INCOMING)
        await self.make_ahead()

    async def make_ahead(self) -> None:
        """Make the partitions of the next days."""
        self._partitions = await make_days(self._connection, list_days_ahead())

    async def write(self, rows: Sequence[DecisionRecord | FeedbackRecord]) -> None:
        """Commit rows; those that the database has already are left as they are."""
        await self._make({row.day for row in rows})
        await self._learn_tenants({row.tenant for row in rows})
        await self._learn_sources({row.source for row in rows if isinstance(row, DecisionRecord)})
        known = self._known
        decisions = [row.record(known) for row in rows if isinstance(row, DecisionRecord)]
        said = [
            row.record(known)
            for row in _keep_latest(r for r in rows if isinstance(r, FeedbackRecord))
        ]
        copy = self._connection.copy_records_to_table
        async with self._connection.transaction():
            if decisions:
                await copy("incoming_decisions", records=decisions, columns=DECISION_COLUMNS)
                await self._connection.execute(_DECISIONS)
            if said:
                await copy("incoming_feedback", records=said, columns=FEEDBACK_COLUMNS)
                await self._connection.execute(_FEEDBACK)

    async def _make(self, days: set[date]) -> None:
        wanted = {name_partition(table, day) for day in days for table in TABLES}
        if not wanted <= self._partitions:
            self._partitions = await make_days(self._connection, days)

    async def _learn_tenants(self, names: set[str]) -> None:
        """Number tenants that this connection has not met yet."""
        fresh = sorted(names - self._known.tenants.keys())
        if fresh:
            await self._connection.execute(_NEW_TENANTS, fresh)
            found = await self._connection.fetch(_TENANTS, fresh)
            self._known.tenants.update({row["name"]: row["id"] for row in found})

    async def _learn_sources(self, sources: set[tuple[str, ...]]) -> None:
        """Number sources that this connection has not met yet."""
        fresh = sorted(sources - self._known.sources.keys())
        if fresh:
            await self._connection.executemany(_NEW_SOURCE, fresh)
            for source in fresh:
                self._known.sources[source] = await self._connection.fetchval(_SOURCE, *source)


def _keep_latest(said: Iterable[FeedbackRecord]) -> list[FeedbackRecord]:
    """Keep the last word on each answer: a statement may touch a row only once."""
    last: dict[tuple[str, str], FeedbackRecord] = {}
    for one in said:
        key = (one.id, one.tenant)
        if key not in last or last[key].time <= one.time:
            last[key] = one
    return list(last.values())
