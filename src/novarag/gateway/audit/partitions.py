"""Daily partitions: made ahead, made for late rows, and found by day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from novarag.gateway.audit.schema import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    import asyncpg

TABLES = ("decisions", "feedback")
AHEAD = 2  # days that have their partitions before they begin
_ATTACHED = """
select child.relname as name, inhdetachpending as leaving
from pg_inherits join pg_class child on child.oid = inhrelid
where inhparent = any (array['decisions'::regclass, 'feedback'::regclass])
"""


def name_partition(table: str, day: date) -> str:
    """Name the partition of a day."""
    return f"{table}_{day:%Y%m%d}"


def list_days_ahead(now: datetime | None = None) -> list[date]:
    """Return today and the days that are made ahead, in UTC."""
    today = (now or datetime.now(UTC)).date()
    return [today + timedelta(days=n) for n in range(AHEAD + 1)]


async def find_partitions(connection: asyncpg.Connection) -> set[str]:
    """Return the names of all partitions that are in use."""
    return {name for name, leaving in (await _read_partitions(connection)).items() if not leaving}


async def _read_partitions(connection: asyncpg.Connection) -> dict[str, bool]:
    """Return all partitions, and whether they are being detached."""
    return {row["name"]: row["leaving"] for row in await connection.fetch(_ATTACHED)}


async def make_days(connection: asyncpg.Connection, days: Iterable[date]) -> set[str]:
    """Make the partitions of days, where they are missing; return all that are in use.

    A partition is made beside its table and then attached, which lets all readers and writers go
    on. One that was detached, wholly or half, and never dropped is attached again.
    """
    wanted = {(table, day) for day in days for table in TABLES}
    present = await find_partitions(connection)
    if all(name_partition(*one) in present for one in wanted):
        return present
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
        children = await _read_partitions(connection)
        for table, day in sorted(wanted):
            if children.get(name_partition(table, day), True):
                await _make_partition(
                    connection, table, day, leaving=name_partition(table, day) in children
                )
    return await find_partitions(connection)


async def _make_partition(
    connection: asyncpg.Connection, table: str, day: date, *, leaving: bool
) -> None:
    name, following = name_partition(table, day), day + timedelta(days=1)
    if leaving:
        await connection.execute(f"alter table {table} detach partition {name} finalize")
    await connection.execute(
        f"create table if not exists {name} (like {table} including all);"
        f"alter table {table} attach partition {name}"
        f" for values from ('{day}') to ('{following}')"
    )


async def list_kept_days(connection: asyncpg.Connection) -> list[date]:
    """Return the days that have a partition of decisions, oldest first."""
    names = [name for name in await find_partitions(connection) if name.startswith("decisions_")]
    return sorted(
        datetime.strptime(name.removeprefix("decisions_"), "%Y%m%d").replace(tzinfo=UTC).date()
        for name in names
    )
