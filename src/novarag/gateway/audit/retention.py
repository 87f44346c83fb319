"""How long rows are kept: a day is exported to Parquet, detached and dropped; a tenant forgotten.

These run beside gateways that write. Each may be cut off anywhere, and called again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from novarag.atomic import whole_file
from novarag.errors import StorageError, UsageError
from novarag.gateway.audit.codes import spell_column
from novarag.gateway.audit.database import open_connection
from novarag.gateway.audit.payloads import SOURCE
from novarag.gateway.audit.schema import (
    LOCK,
    TABLES,
    find_partitions,
    list_kept_days,
    make_days,
    migrate,
    name_partition,
)

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    import asyncpg

_DAY = {
    "decisions": "select * from audited where day = $1",
    "feedback": f"""
        select f.id, f.time, f.day, t.name as tenant,
            {spell_column("verdict", "f.verdict")} as verdict
        from feedback f join tenants t on t.id = f.tenant where f.day = $1
    """,  # noqa: S608 - constants
}
_ROWS = 50_000  # read at a time
_TRIES = 3  # rows may arrive while a partition is exported; then it is done again


@dataclass(frozen=True, slots=True)
class AuditExport:
    """A file with the rows of one day, and how many they are."""

    path: Path
    rows: int


async def export_day(dsn: str, day: date, folder: Path) -> list[AuditExport]:
    """Write a day's decisions and feedback to Parquet files, whole or not at all.

    What was exported before is not overwritten: a day that got late rows has a second file, and
    ids tell which rows are in both.
    """
    async with open_connection(dsn, command=None) as connection:
        return [await _export_table(connection, table, day, folder) for table in TABLES]


async def drop_day(dsn: str, day: date, folder: Path) -> list[AuditExport]:
    """Export a day, then take its partitions out of use and delete them."""
    if day >= datetime.now(UTC).date():
        raise UsageError(f"{day} is not over, so its rows cannot be dropped")
    async with open_connection(dsn, command=None) as connection:
        await _attach_again(connection, day)
        if name_partition("decisions", day) not in await find_partitions(connection):
            return []
        return [await _drop_partition(connection, table, day, folder) for table in TABLES]


async def drop_days_before(dsn: str, last: date, folder: Path) -> list[AuditExport]:
    """Export and drop all days before a day."""
    async with open_connection(dsn, command=None) as connection:
        old = [day for day in await list_kept_days(connection) if day < last]
    return [one for day in old for one in await drop_day(dsn, day, folder)]


async def forget_tenant(dsn: str, tenant: str, exports: Path | None = None) -> int:
    """Delete all rows of a tenant, up to now, and its texts with them; return how many there were.

    Rows that wait in spools do not come back. With `exports` the Parquet files in that folder are
    written again without the tenant's rows. What a database's own backups hold is not touched.
    """
    async with open_connection(dsn, command=None) as connection:
        await migrate(connection)
        number = await connection.fetchval("select id from tenants where name = $1", tenant)
        if number is None:
            raise UsageError(f"there is no tenant {tenant!r} in the audit")
        await connection.execute(
            "insert into forgotten values ($1, now())"
            " on conflict (tenant) do update set until = now()",
            number,
        )
        # A batch that began before this is visible may still commit: wait for those that write.
        await connection.execute("begin; lock table decisions, feedback in share mode; commit")
        deleted = 0
        for name in sorted(await find_partitions(connection)):
            said = await connection.execute(f"delete from {name} where tenant = $1", number)  # noqa: S608
            deleted += int(said.rpartition(" ")[2])
    if exports is not None:
        deleted += _forget_in_exports(tenant, exports)
    return deleted


def _forget_in_exports(tenant: str, folder: Path) -> int:
    import polars as pl

    deleted = 0
    for path in sorted(folder.glob("*.parquet")):
        others = pl.scan_parquet(path).filter(pl.col("tenant") != tenant)
        before = pl.scan_parquet(path).select(pl.len()).collect().item()
        left = others.select(pl.len()).collect().item()
        if left < before:
            with whole_file(path) as out:
                others.sink_parquet(out)
            deleted += before - left
    return deleted


async def _export_table(
    connection: asyncpg.Connection, table: str, day: date, folder: Path
) -> AuditExport:
    """Write parts of one consistent view, then all of them as one file."""
    import polars as pl

    schema, rows = _list_columns(table), 0
    with TemporaryDirectory(dir=_make_folder(folder), prefix=".export-") as drafts:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            cursor = await connection.cursor(_DAY[table], day)
            while found := await cursor.fetch(_ROWS):
                columns = {name: _read_column(found, name) for name in schema}
                part = pl.DataFrame(columns, schema=schema)
                part.write_parquet(f"{drafts}/{rows:012d}.parquet")
                rows += len(found)
        if not rows:
            pl.DataFrame(schema=schema).write_parquet(f"{drafts}/0.parquet")
        path = _find_free_name(folder, f"{table}-{day}")
        with whole_file(path) as out:
            pl.scan_parquet(f"{drafts}/*.parquet").sink_parquet(out)
    return AuditExport(path, rows)


def _read_column(rows: list[asyncpg.Record], name: str) -> list[Any]:
    values = [row[name] for row in rows]
    return list(map(str, values)) if name == "id" else values


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _list_columns(table: str) -> dict[str, Any]:
    import polars as pl

    time = pl.Datetime("us", "UTC")
    common = {"id": pl.String, "time": time, "day": pl.Date, "tenant": pl.String}
    if table == "feedback":
        return {**common, "verdict": pl.String}
    words = (*SOURCE, "route", "mode", "decision", "action", "evidence", "flaw")
    texts = ("question", "passages", "answer")
    return {
        **common,
        **dict.fromkeys(words, pl.String),
        **dict.fromkeys(("stated", "confidence"), pl.Float64),
        **dict.fromkeys(("low", "high", "latency_ms"), pl.Float32),
        **dict.fromkeys(("calibrated", "shown"), pl.Boolean),
        "status": pl.Int16,
        "judgments": pl.List(pl.String),
        **dict.fromkeys(("prompt_tokens", "reply_tokens"), pl.Int32),
        **{f"{name}_digest": pl.Int64 for name in texts},
        **{f"{name}_length": pl.Int32 for name in texts},
        "question": pl.String,
        "passages": pl.List(pl.String),
        "answer": pl.String,
    }


def _find_free_name(folder: Path, name: str) -> Path:
    """Return a name that no file has."""
    number = 1
    while (path := folder / f"{name}{'' if number == 1 else f'-{number}'}.parquet").exists():
        number += 1
    return path


async def _drop_partition(
    connection: asyncpg.Connection, table: str, day: date, folder: Path
) -> AuditExport:
    """Export a partition while it is in use, detach it, and drop it if nothing came in between."""
    name = name_partition(table, day)
    for _ in range(_TRIES):
        made = await _export_table(connection, table, day, folder)
        await connection.execute("select pg_advisory_lock($1)", LOCK)  # nobody attaches it again
        try:
            await connection.execute(f"alter table {table} detach partition {name} concurrently")
            rows = await connection.fetchval(f"select count(*) from {name}")  # noqa: S608
            if rows == made.rows:
                await connection.execute(f"drop table {name}")
                return made
        finally:
            await connection.execute("select pg_advisory_unlock($1)", LOCK)
        made.path.unlink()
        await make_days(connection, [day])
    raise StorageError(f"rows of {day} keep coming, so they were not dropped: try again later")


async def _attach_again(connection: asyncpg.Connection, day: date) -> None:
    """Put partitions back into use whose dropping was cut off."""
    exists = "select to_regclass($1) is not null or to_regclass($2) is not null"
    if await connection.fetchval(exists, *(name_partition(table, day) for table in TABLES)):
        await make_days(connection, [day])
