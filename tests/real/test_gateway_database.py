"""The audit in a real PostgreSQL: nothing lost, nothing doubled, whatever is stopped or killed."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import partial

import asyncpg
import pytest

import novarag
from novarag.calibration.graded_answers import UNKNOWN
from novarag.errors import DataError, StorageError
from novarag.gateway.audit import database, rows
from novarag.gateway.audit import recorder as recording
from novarag.gateway.audit.codes import CODES
from novarag.gateway.audit.database import open_connection
from novarag.gateway.audit.graded import read_graded
from novarag.gateway.audit.payloads import to_payload
from novarag.gateway.audit.rows import TextRecord
from novarag.gateway.audit.schema import (
    find_partitions,
    list_kept_days,
    make_days,
    migrate,
    name_partition,
    read_migrations,
)
from novarag.gateway.audit.spool import Spool
from novarag.gateway.http.replies import draw_id
from tests.support.audited import VARIABLE, audit, row, settled
from tests.support.databases import asked, id_at, load_rows, recorded, said, with_connection
from tests.support.postgres import program
from tests.support.waiting import until

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.skipif(program("initdb") is None, reason="PostgreSQL is not installed"),
]
NOW = datetime.now(UTC)


# --- rows -----------------------------------------------------------------------------------------


def test_a_row_arrives_as_it_was_recorded(monkeypatch, tmp_path, dsn):
    texts = TextRecord(-5, 6, 7, 8, 9, 10, "wh\u00e4t\ttab?", ("a\nb", 'c"'), "an\\swer")
    full = row(texts=texts, flaw="no answer found", evidence="conflicting", action="closed-book")
    bare = rows.AuditRow(
        id=draw_id(), tenant="b", model="m", answered="m", served="s", upstream="u", prompt="p",
        settings="v", route="stream", mode="annotate", status=502, decision="failed",
    )  # fmt: skip
    state = recorded(audit(monkeypatch, tmp_path, dsn), [full, bare])
    assert (state.recorded, state.committed, state.lost, state.rejected) == (2, 2, 0, 0)
    found = with_connection(dsn, lambda c: c.fetch("select * from audited order by decision desc"))
    got = [dict(one) for one in found]
    assert [str(one["id"]) for one in got] == [bare.id, full.id]
    for one, kept in zip(got, [bare, full], strict=True):
        assert one["time"] == rows.read_id_time(kept.id)
        assert one["day"] == one["time"].date()
        names = ("tenant", "model", "answered", "served", "upstream", "prompt", "settings", "route")
        values = (
            "mode", "status", "decision", "action", "evidence", "flaw", "stated", "confidence",
        )  # fmt: skip
        more = ("low", "high", "calibrated", "shown", "prompt_tokens", "reply_tokens", "latency_ms")
        for name in (*names, *values, *more):
            assert one[name] == getattr(kept, name), name
        for name in TextRecord.__dataclass_fields__:
            wanted = getattr(kept.texts, name)
            assert one[name] == (list(wanted) if name == "passages" and wanted else wanted)
    assert got[1]["judgments"] == ["highly relevant", "irrelevant"]
    assert got[0]["judgments"] is None
    assert list((tmp_path / "spool").iterdir()) == []


def test_every_word_is_spelled_by_the_view_as_by_the_code(monkeypatch, tmp_path, dsn):
    longest = max(len(codes) for codes in CODES.values())

    def nth(name, number):
        words = list(CODES[name])
        return words[number % len(words)]

    kinds = ("route", "mode", "decision", "action", "evidence", "flaw")
    kept = [
        row(**{kind: nth(kind, i) for kind in kinds}, judgments=(i % 3 + 1,))
        for i in range(longest)
    ]
    recorded(audit(monkeypatch, tmp_path, dsn), kept)
    columns = ", ".join(kinds)
    found = {
        str(i): tuple(rest)
        for i, *rest in asked(dsn, f"select id, {columns}, judgments[1] from audited")
    }
    for i, one in enumerate(kept):
        assert found[one.id] == (*(nth(kind, i) for kind in kinds), nth("judgment", i))


def test_a_word_that_is_added_is_spelled_in_a_database_that_is_there(monkeypatch, tmp_path, dsn):
    recorded(audit(monkeypatch, tmp_path, dsn), [row()])
    with monkeypatch.context() as later:
        later.setitem(CODES["action"], "prefer-short", len(CODES["action"]) + 1)
        recorded(audit(monkeypatch, tmp_path, dsn), [row(action="prefer-short")])
    assert with_connection(dsn, migrate) == 0  # an older gateway, which leaves the view
    found = asked(dsn, "select action from audited order by time, id")
    assert found == [("answer",), ("prefer-short",)]


def test_a_row_that_no_database_takes_is_set_aside_and_stops_no_other(monkeypatch, tmp_path, dsn):
    kept = [row() for _ in range(40)]
    kept[7] = row(prompt_tokens=2**40)
    kept[23] = row(tenant="nul\0")
    state = recorded(audit(monkeypatch, tmp_path, dsn), kept)
    assert (state.committed, state.rejected) == (38, 2)
    assert asked(dsn, "select count(*) from decisions") == [(38,)]
    aside = (tmp_path / "spool" / "rejected.jsonl").read_bytes().splitlines()
    assert aside == [to_payload(kept[7]), to_payload(kept[23])]


def test_one_connection_is_enough_whatever_theload_rows(monkeypatch, tmp_path, dsn):
    async def story():
        made, most = audit(monkeypatch, tmp_path, dsn), 0
        watcher = await asyncpg.connect(dsn)
        async with made:
            for _ in range(20):
                for _ in range(300):
                    made.record(row())
                most = max(most, await watcher.fetchval(
                    "select count(*) from pg_stat_activity where application_name = 'novarag'"
                ))  # fmt: skip
            await settled(made)
        count = await watcher.fetchval("select count(*) from decisions")
        await watcher.close()
        return most, count

    assert asyncio.run(story()) == (1, 6000)


# --- failures -------------------------------------------------------------------------------------


def _check_all_there(dsn, kept):
    found = [str(one) for (one,) in asked(dsn, "select id from decisions")]
    assert len(found) == len(set(found))
    assert set(found) == set(kept)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_restarts_under_load_lose_nothing_and_double_nothing(
    monkeypatch, tmp_path, postgres, dsn, how
):
    async def story():
        kept = []
        async with audit(monkeypatch, tmp_path, dsn) as made:
            load = asyncio.create_task(load_rows(made, 400, 4.0, kept))
            for _ in range(3):
                await asyncio.sleep(0.6)
                await asyncio.to_thread(postgres.restart, how)
            await load
            await settled(made)
            return kept, made.state()

    kept, state = asyncio.run(story())
    assert state.committed == state.recorded == len(kept)
    assert state.lost == state.rejected == 0
    _check_all_there(dsn, kept)


def test_an_outage_is_bridged_and_a_server_that_is_not_there_at_the_start_is_waited_for(
    monkeypatch, tmp_path, postgres, dsn, caplog
):
    async def story():
        kept = []
        await asyncio.to_thread(postgres.stop)
        try:
            async with audit(monkeypatch, tmp_path, dsn) as made:
                await load_rows(made, 500, 1.0, kept)
                assert not made.state().connected
                assert made.state().waiting > 0
                await asyncio.to_thread(postgres.start)
                await settled(made)
                assert made.state().connected
        finally:
            if postgres._process is None:
                postgres.start()
        return kept

    _check_all_there(dsn, asyncio.run(story()))
    assert "decisions wait in the spool" in caplog.text
    assert dsn not in caplog.text


def test_a_server_that_hangs_is_given_up_and_holds_up_no_request(
    monkeypatch, tmp_path, postgres, dsn
):
    monkeypatch.setattr(recording, "open_connection", partial(open_connection, command=0.5))
    monkeypatch.setattr(database, "_CONNECT", 0.5)

    async def story():
        kept, watcher = [], await asyncpg.connect(dsn)
        async with audit(monkeypatch, tmp_path, dsn) as made:
            await until(lambda: made.state().connected)
            (backend,) = await watcher.fetchrow(
                "select pid from pg_stat_activity"
                " where application_name = 'novarag' and datname = current_database()"
            )
            await watcher.close()
            with postgres.hung(backend):
                await load_rows(made, 300, 2.5, kept)
                assert not made.state().connected
            await settled(made)
            return kept

    _check_all_there(dsn, asyncio.run(story()))


def test_what_an_outage_left_is_replayed_by_the_next_process(monkeypatch, tmp_path, postgres, dsn):
    kept = [row() for _ in range(700)]

    async def story():
        begun = time.monotonic()
        async with audit(monkeypatch, tmp_path, dsn) as made:
            for one in kept:
                made.record(one)
        return time.monotonic() - begun

    postgres.stop()
    try:
        took = asyncio.run(story())
    finally:
        postgres.start()
    assert took < 3
    assert list((tmp_path / "spool").iterdir())
    recorded(audit(monkeypatch, tmp_path, dsn), [row(kept[0].id)])  # the same id once more
    _check_all_there(dsn, [one.id for one in kept])


def test_a_commit_whose_answer_was_lost_is_not_doubled(monkeypatch, tmp_path, postgres, dsn):
    """The server is killed at random moments, some of them after it committed."""

    async def story():
        kept = []
        killer = await asyncpg.connect(postgres.dsn)
        async with audit(monkeypatch, tmp_path, dsn) as made:
            load = asyncio.create_task(load_rows(made, 1000, 3.0, kept))
            while not load.done():
                await asyncio.sleep(0.05)
                await killer.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where application_name = 'novarag'"
                )
            await settled(made)
        await killer.close()
        return kept

    _check_all_there(dsn, asyncio.run(story()))


GATEWAY = """
import asyncio, os, sys
from pathlib import Path
from tests.support.audited import row
from novarag.gateway.audit.recorder import AuditRecorder
from novarag.gateway.audit.settings import AuditSettings

async def main():
    async with AuditRecorder(AuditSettings(), folder=Path(sys.argv[1]), pause=0.01) as audit:
        while True:
            one = row()
            audit.record(one)
            os.write(1, one.id.encode() + b"\\n")  # the reply
            await asyncio.sleep(0.002)

asyncio.run(main())
"""


def test_what_a_killed_gateway_answered_is_in_the_audit_once(monkeypatch, tmp_path, dsn, root):
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {VARIABLE: dsn, "PYTHONPATH": path}
    answered = set()
    for lived in (0.2, 0.5, 1.1):
        command = [sys.executable, "-c", GATEWAY, str(tmp_path)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as gateway:
            answered.add(gateway.stdout.readline().decode().strip())
            time.sleep(lived)
            gateway.kill()
            lines = gateway.stdout.read().decode().split("\n")
            answered.update(lines[:-1])
    recorded(audit(monkeypatch, tmp_path, dsn), [])
    found = [str(one) for (one,) in asked(dsn, "select id from decisions")]
    assert len(found) == len(set(found))
    assert len(answered) > 100
    assert answered <= set(found)
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_spool_of_another_process_that_dies_is_found_while_this_one_runs(
    monkeypatch, tmp_path, dsn
):
    monkeypatch.setattr("novarag.gateway.audit.recorder._LOOK", 0.1)

    async def story():
        async with audit(monkeypatch, tmp_path, dsn) as made:
            await until(lambda: made.state().connected)
            other, one = Spool(tmp_path / "spool", limit=10**6), row()
            other.append(to_payload(one))
            await asyncio.sleep(0.5)
            assert made.state().committed == 0  # it lives
            os.close(other._live.handle)
            await until(lambda: made.state().committed == 1)
            return one

    one = asyncio.run(story())
    assert asked(dsn, "select id::text from decisions") == [(one.id,)]


# --- schema ---------------------------------------------------------------------------------------


def test_migrations_run_once_however_many_run_them(dsn):
    async def story():
        open_ones = [await asyncpg.connect(dsn) for _ in range(4)]
        counts = await asyncio.gather(*map(migrate, open_ones))
        again = await migrate(open_ones[0])
        for connection in open_ones:
            await connection.close()
        return counts, again

    counts, again = asyncio.run(story())
    assert sorted(counts) == [0, 0, 0, len(read_migrations())]
    assert again == 0


def test_a_failed_migration_leaves_nothing_and_another_past_is_refused(dsn):
    async def story(connection):
        broken = read_migrations() | {999: "create table half (a int); select 1 / 0"}
        with pytest.raises(asyncpg.DivisionByZeroError):
            await migrate(connection, broken)
        left = await connection.fetchval("select to_regclass('half')")
        await migrate(connection)
        changed = {number: text + " " for number, text in read_migrations().items()}
        with pytest.raises(StorageError, match="migration 1"):
            await migrate(connection, changed)
        await connection.execute("insert into migrations values (1000, 'later')")
        return left, await migrate(connection)

    assert with_connection(dsn, story) == (None, 0)


def test_partitions_are_made_ahead_by_any_number_of_processes(dsn):
    days = [NOW.date() + timedelta(days=n) for n in range(4)]

    async def story():
        open_ones = [await asyncpg.connect(dsn) for _ in range(4)]
        await migrate(open_ones[0])
        await asyncio.gather(*(make_days(one, days) for one in open_ones))
        found = await list_kept_days(open_ones[0]), await find_partitions(open_ones[0])
        for connection in open_ones:
            await connection.close()
        return found

    kept, names = asyncio.run(story())
    assert kept == days
    assert names == {
        name_partition(table, day) for table in ("decisions", "feedback") for day in days
    }


def test_late_rows_get_their_day(monkeypatch, tmp_path, dsn):
    late = [row(id_at(NOW - timedelta(days=n))) for n in (0, 3, 40)]
    recorded(audit(monkeypatch, tmp_path, dsn), late)
    found = dict(asked(dsn, "select id::text, tableoid::regclass::text from decisions"))
    for one in late:
        assert found[one.id] == name_partition("decisions", rows.read_id_time(one.id).date())


# --- feedback -------------------------------------------------------------------------------------


def test_feedback_counts_once_and_the_last_word_counts(monkeypatch, tmp_path, dsn):
    one, two, three = row(), row(), row(tenant="other")
    orphan = draw_id()
    kept = [
        said(one.id, "right", at=1000), said(one.id, "right", at=1001),
        said(two.id, "right", at=2000), said(two.id, "wrong", at=2001),
        said(two.id, "right", at=1999), said(three.id, "wrong"), said(orphan, "right"),
        one, two, three,
    ]  # fmt: skip
    recorded(audit(monkeypatch, tmp_path, dsn), kept)
    recorded(audit(monkeypatch, tmp_path, dsn), [said(two.id, "right", at=1500)])  # a late replay
    found = {(str(i), t): v for i, t, v in asked(dsn, (
        "select f.id, t.name, verdict from feedback f join tenants t on t.id = f.tenant"
    ))}  # fmt: skip
    assert found == {
        (one.id, "acme"): 1, (two.id, "acme"): 2, (three.id, "acme"): 2, (orphan, "acme"): 1,
    }  # fmt: skip


def test_t11_an_answer_is_known_on_its_way_and_in_the_database(monkeypatch, tmp_path, dsn):
    """Ask for answers of now and of yesterday, of others, and of none; a restart forgets nothing."""
    fresh, old = row(), row(id_at(NOW - timedelta(days=1)))

    async def look(made):
        names = [
            (fresh.id, "acme"), (old.id, "acme"), (old.id, "other"), (draw_id(), "acme"),
            (id_at(NOW - timedelta(days=3)), "acme"),
        ]  # fmt: skip
        return await asyncio.gather(*(made.has_answer(*name) for name in names))

    async def story():
        async with audit(monkeypatch, tmp_path, dsn) as made:
            await until(lambda: made.state().connected)
            for one in (fresh, old):
                made.record(one)
            before = await look(made)
            await settled(made)
            after = await look(made)
        async with audit(monkeypatch, tmp_path, dsn) as another:
            await until(lambda: another.state().connected)
            return before, after, await look(another)

    assert asyncio.run(story()) == ([True, True, False, False, False],) * 3


def test_t11_a_database_that_hangs_keeps_no_feedback_waiting(monkeypatch, tmp_path, postgres):
    async def story():
        async with audit(monkeypatch, tmp_path, postgres.dsn) as made:
            await until(lambda: made.state().connected)
            one = row()
            made.record(one)
            await settled(made)
            first = await made.has_answer(one.id, "acme")
            backend = made._lookup._connection.get_server_pid()
            with postgres.hung(backend):
                hung = [await made.has_answer(one.id, "acme") for _ in range(100)]
            made._lookup._away_until = -1.0
            return first, hung, await made.has_answer(one.id, "acme")

    assert asyncio.run(story()) == (True, [None] * 100, True)


def test_feedback_becomes_graded_rows_that_a_calibration_is_fitted_on(monkeypatch, tmp_path, dsn):
    kept, told = [], []
    for i in range(80):
        one = row(
            id_at(NOW - timedelta(hours=i)), stated=0.9 if i % 2 else 0.6,
            evidence=("consistent", "conflicting", None)[i % 3],
            texts=TextRecord(question_digest=i - 40),
        )  # fmt: skip
        kept.append(one)
        told.append(said(one.id, "wrong" if i % 4 == 0 else "right"))
    others = [
        row(answered="other"), row(shown=False), row(action="closed-book"), row(stated=None),
        row(tenant="b"), row(id_at(NOW - timedelta(days=9))),
    ]  # fmt: skip
    told += [said(one.id) for one in others]  # the last but one is said by another tenant
    ungraded = row()
    recorded(audit(monkeypatch, tmp_path, dsn), [*kept, *others, ungraded, *told])
    since, until_ = NOW - timedelta(days=5), NOW + timedelta(hours=1)
    table = read_graded(dsn, "support", since, until_)
    assert table.height == 80
    by_id = {one.id: (one, feedback.verdict) for one, feedback in zip(kept, told, strict=False)}
    for found in table.iter_rows(named=True):
        one, verdict = by_id[found["id"]]
        assert found["confidence"] == one.stated
        assert found["correct"] is (verdict == "right")
        assert found["evidence"] == one.evidence
        assert (found["model"], found["strategy"]) == ("llama", "0123456789abcdef")
    assert table["question"].n_unique() == 80
    made = novarag.calibrate(table)
    assert (made.source.model, made.source.prompt) == ("llama", "0123456789abcdef")
    assert UNKNOWN not in {made.source.model, made.source.prompt}
    with pytest.raises(DataError, match="no answer of 'nobody'"):
        read_graded(dsn, "nobody", since, until_)
    with pytest.raises(ValueError, match="time zone"):
        read_graded(dsn, "support", since.replace(tzinfo=None), until_)
