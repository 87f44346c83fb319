"""How long the audit is kept in a real PostgreSQL: exported, dropped, forgotten."""

import asyncio
from datetime import UTC, datetime, timedelta

import asyncpg
import polars as pl
import pytest

from novarag.errors import UsageError
from novarag.gateway.audit import retention
from novarag.gateway.audit.rows import TextRecord
from novarag.gateway.audit.schema import find_partitions, name_partition
from tests.support.audited import audit, row, settled
from tests.support.databases import asked, id_at, load_rows, recorded, said, with_connection
from tests.support.postgres import program

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.skipif(program("initdb") is None, reason="PostgreSQL is not installed"),
]
NOW = datetime.now(UTC)


def _days_of_rows(monkeypatch, tmp_path, dsn):
    old = NOW - timedelta(days=2)
    texts = TextRecord(1, 2, 3, 4, 5, 6, "q", ("p", "r"), "a")
    kept = [row(id_at(old), tenant=t, texts=texts) for t in ("acme", "b", "acme")]
    kept += [row(id_at(NOW), tenant=t) for t in ("acme", "b")]
    recorded(audit(monkeypatch, tmp_path, dsn), [*kept, said(kept[0].id), said(kept[3].id)])
    return old.date(), kept


def test_a_day_is_exported_then_dropped(monkeypatch, tmp_path, dsn):
    day, kept = _days_of_rows(monkeypatch, tmp_path, dsn)
    out = tmp_path / "exports"
    files = asyncio.run(retention.drop_day(dsn, day, out))
    assert [(f.path.name, f.rows) for f in files] == [
        (f"decisions-{day}.parquet", 3), (f"feedback-{day}.parquet", 1),
    ]  # fmt: skip
    table = pl.read_parquet(files[0].path).sort("id")
    assert table["id"].to_list() == sorted(one.id for one in kept[:3])
    first = table.row(0, named=True)
    assert first["judgments"] == ["highly relevant", "irrelevant"]
    assert (first["passages"], first["stated"], first["decision"]) == (["p", "r"], 0.9, "answer")
    verdicts = pl.read_parquet(files[1].path).select("id", "verdict", "tenant").rows()
    assert verdicts == [(kept[0].id, "right", "acme")]
    assert asked(dsn, "select count(*) from decisions") == [(2,)]
    assert not any(
        f"{day:%Y%m%d}" in name for (name,) in asked(dsn, "select relname from pg_class")
    )
    assert asyncio.run(retention.drop_day(dsn, day, out)) == []
    with pytest.raises(UsageError, match="not over"):
        asyncio.run(retention.drop_day(dsn, NOW.date() + timedelta(days=1), out))
    # a late row of that day makes it anew, and what was exported stays
    recorded(audit(monkeypatch, tmp_path, dsn), [row(id_at(NOW - timedelta(days=2)))])
    assert (
        asyncio.run(retention.drop_days_before(dsn, NOW.date(), out))[0].path.name
        == f"decisions-{day}-2.parquet"
    )
    assert pl.read_parquet(files[0].path).height == 3


def test_a_drop_that_was_cut_off_is_taken_up_again(monkeypatch, tmp_path, dsn):
    day, _ = _days_of_rows(monkeypatch, tmp_path, dsn)

    async def cut(connection):
        await connection.execute(
            f"alter table decisions detach partition {name_partition('decisions', day)} concurrently"
        )

    with_connection(dsn, cut)
    assert asked(dsn, "select count(*) from decisions") == [(2,)]
    files = asyncio.run(retention.drop_day(dsn, day, tmp_path / "exports"))
    assert [f.rows for f in files] == [3, 1]


def test_a_day_that_is_half_detached_still_takes_late_rows(monkeypatch, tmp_path, dsn):
    day, _ = _days_of_rows(monkeypatch, tmp_path, dsn)
    name = name_partition("decisions", day)

    async def cut(connection):
        reader = await asyncpg.connect(dsn)
        async with reader.transaction():  # the detachment waits for it, and is given up
            await reader.fetch("select count(*) from decisions")
            await connection.execute("set statement_timeout = '300ms'")
            with pytest.raises(asyncpg.QueryCanceledError):
                await connection.execute(
                    f"alter table decisions detach partition {name} concurrently"
                )
        await reader.close()
        return await find_partitions(connection)

    assert name not in with_connection(dsn, cut)
    recorded(audit(monkeypatch, tmp_path, dsn), [row(id_at(NOW - timedelta(days=2)))])
    assert asked(dsn, f"select count(*) from {name}") == [(4,)]
    files = asyncio.run(retention.drop_day(dsn, day, tmp_path / "exports"))
    assert [f.rows for f in files] == [4, 1]


def test_rows_that_come_between_export_and_drop_are_exported_too(monkeypatch, tmp_path, dsn):
    day, _ = _days_of_rows(monkeypatch, tmp_path, dsn)
    export, late = retention._export_table, [row(id_at(NOW - timedelta(days=2)))]

    async def slow(connection, table, *more):
        made = await export(connection, table, *more)
        if late:
            async with audit(monkeypatch, tmp_path, dsn) as writer:
                writer.record(late.pop())
                await settled(writer)
        return made

    monkeypatch.setattr(retention, "_export_table", slow)
    files = asyncio.run(retention.drop_day(dsn, day, tmp_path / "exports"))
    assert [f.rows for f in files] == [4, 1]
    assert [f.name for f in sorted((tmp_path / "exports").iterdir())] == [
        f"decisions-{day}.parquet", f"feedback-{day}.parquet",
    ]  # fmt: skip


def test_a_day_is_detached_while_a_reader_reads_and_gateways_write(monkeypatch, tmp_path, dsn):
    day, _ = _days_of_rows(monkeypatch, tmp_path, dsn)

    async def story():
        kept = []
        async with audit(monkeypatch, tmp_path, dsn) as made:
            load = asyncio.create_task(load_rows(made, 300, 2.0, kept))
            await retention.drop_day(dsn, day, tmp_path / "exports")
            await load
            await settled(made)
            return kept, made.state()

    kept, state = asyncio.run(story())
    assert state.committed == len(kept)
    assert asked(dsn, "select count(*) from decisions") == [(len(kept) + 2,)]


def test_a_row_of_a_day_that_was_dropped_a_moment_ago_makes_it_anew(monkeypatch, tmp_path, dsn):
    day, _ = _days_of_rows(monkeypatch, tmp_path, dsn)
    late = [row(id_at(NOW - timedelta(days=2))) for _ in range(2)]

    async def story():
        async with audit(monkeypatch, tmp_path, dsn) as made:
            made.record(late[0])
            await settled(made)
            await retention.drop_day(dsn, day, tmp_path / "exports")
            made.record(late[1])  # this process still believes in the partition
            await settled(made)
            return made.state()

    state = asyncio.run(story())
    assert (state.committed, state.rejected) == (2, 0)
    found = asked(dsn, "select id::text from decisions where day = $1", day)
    assert found == [(late[1].id,)]


def test_a_tenant_is_forgotten_everywhere_and_does_not_come_back(monkeypatch, tmp_path, dsn):
    day, kept = _days_of_rows(monkeypatch, tmp_path, dsn)
    out = tmp_path / "exports"
    asyncio.run(retention.export_day(dsn, day, out))
    # 3 decisions, 2 verdicts in the database; 2 and 1 in the files
    assert asyncio.run(retention.forget_tenant(dsn, "acme", out)) == 5 + 3
    assert {t for (t,) in asked(dsn, "select distinct tenant from audited")} == {"b"}
    assert asked(dsn, "select count(*) from feedback") == [(0,)]
    tables = [pl.read_parquet(path) for path in sorted(out.iterdir())]
    assert [table.height for table in tables] == [1, 0]
    # a spool that was written before, of a process that was killed, is replayed now
    fresh = row(tenant="acme", identity=id_at(datetime.now(UTC) + timedelta(seconds=5)))
    recorded(audit(monkeypatch, tmp_path, dsn), [*kept, said(kept[0].id), fresh])
    assert asked(dsn, "select id::text from audited where tenant = 'acme'") == [(fresh.id,)]
    with pytest.raises(UsageError, match="no tenant 'x'"):
        asyncio.run(retention.forget_tenant(dsn, "x"))
