"""The tables of the audit: migrations, each applied once by one process, and daily partitions."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from novarag.errors import StorageError
from novarag.gateway.audit.codes import CODES, spell_column

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    import asyncpg

LOCK = 0x6E6F7661  # the advisory lock that migrations and partitions are made under
_SPELLED_FROM = 1000  # the first number of a migration that is written from the words themselves

# The view in the text of a migration, and in it the arrays that spell numbers out in words.
_VIEW = re.compile(r"create (?:or replace )?view (audited as\b.*?;)", re.DOTALL)
_SPELLED = re.compile(r"\(array\[[^\]]*\]\)\[((?:d\.)?(\w+))\]")
_NAMES = {"j": "judgment"}  # columns of the view that are not called as their enumeration
_TABLE = """
create table if not exists migrations (
    number integer primary key,
    digest text not null,
    applied timestamptz not null default now()
)
"""


def read_migrations() -> dict[int, str]:
    """Return the packaged migrations by number."""
    folder = files("novarag.gateway.audit") / "migrations"
    found = {
        int(entry.name.removesuffix(".sql")): entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    }
    numbered = dict(sorted(found.items()))
    return numbered | _spell_again("".join(numbered.values()), max(numbered))


def _spell_again(numbered: str, last: int) -> dict[int, str]:
    """Return the migration that spells words which came after the numbered ones, if any did.

    Words are only ever added, so what spells more of them has a higher number; a gateway that knows
    fewer leaves the view of a newer one as it is.
    """
    view = _VIEW.findall(numbered)[-1]
    spelled = _SPELLED.sub(
        lambda found: spell_column(_NAMES.get(found[2], found[2]), found[1]), view
    )
    if _list_words(spelled) == _list_words(view):
        return {}
    number = _SPELLED_FROM * last + sum(map(len, CODES.values()))
    return {number: f"create or replace view {spelled}"}


def _list_words(view: str) -> list[str]:
    return re.findall(r"'((?:[^']|'')*)'", view)


async def migrate(connection: asyncpg.Connection, known: dict[int, str] | None = None) -> int:
    """Apply the migrations that a database lacks; return how many there were.

    A database that is ahead is left as it is: migrations only add, so that two versions of the
    gateway can run side by side. One whose past differs from ours is refused.
    """
    known = read_migrations() if known is None else known
    if not await _find_missing(connection, known):
        return 0
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", LOCK)
        await connection.execute(_TABLE)
        missing = await _find_missing(connection, known)
        for number in missing:
            await connection.execute(known[number])
            await connection.execute(
                "insert into migrations (number, digest) values ($1, $2)",
                number,
                _hash_migration(known[number]),
            )
    return len(missing)


async def _find_missing(connection: asyncpg.Connection, known: dict[int, str]) -> list[int]:
    if await connection.fetchval("select to_regclass('migrations')") is None:
        return list(known)
    rows = await connection.fetch("select number, digest from migrations")
    applied = {row["number"]: row["digest"] for row in rows}
    for number, digest in applied.items():
        if number in known and digest != _hash_migration(known[number]):
            raise StorageError(f"migration {number} of the audit's database is not the one we have")
    return list_missing(known, applied)


def list_missing(known: dict[int, str], applied: dict[int, str]) -> list[int]:
    """List the migrations that a database lacks; what a newer gateway spelled is left.

    Args:
        known: The migrations that we have, by number.
        applied: Those that the database has.
    """
    last = max(applied, default=0)
    return [n for n in known if n not in applied and not _SPELLED_FROM < n < last]


def _hash_migration(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


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
