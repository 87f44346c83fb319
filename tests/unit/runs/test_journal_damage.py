"""Damage to the journals of killed runs is noticed, class by class; `make prove NAME=runs` does 5,000."""

import asyncio
from contextlib import suppress
from random import Random

import pytest

from novarag import CallError, StorageError
from novarag.runs import run_shard, settle, summarize
from novarag.runs.finished import shard_name
from novarag.runs.journal import journal_name, replay
from novarag.runs.lease import lease_name, mark_in, read_lease
from novarag.strategies import NOVA
from tests.support.journal_damage import (
    NOTICED,
    OUTSIDE,
    SEGMENTS,
    Killed,
    Model,
    damaged,
    job_in,
    records,
)


@pytest.fixture(scope="module", params=[(NOTICED, ""), (SEGMENTS, "file://")])
def promised(request, tmp_path_factory):
    kinds, scheme = request.param
    killed = Killed(tmp_path_factory.mktemp("killed"), scheme)
    killed.make()
    return kinds, killed


def test_every_class_of_damage_is_noticed_by_everybody(promised):
    kinds, killed = promised
    for kind, tally in damaged(kinds, killed, len(kinds), Random(7)).items():
        assert tally["noticed"] == tally["done"] == 1, kind
        assert not tally["tables that differ"], kind
        assert not tally["asked other than was lost"], kind


def test_what_is_outside_the_promise_loses_nothing_else(tmp_path):
    killed = Killed(tmp_path)
    killed.make()
    for kind, tally in damaged(OUTSIDE, killed, 2, Random(7)).items():
        assert (tally["noticed"], tally["finished"]) == (0, 1), kind
        assert not tally["tables that differ"], kind


def test_a_killed_run_that_nobody_touched_is_quiet(tmp_path):
    killed = Killed(tmp_path)
    killed.make()
    killed.fresh()
    path = tmp_path / "work" / journal_name(1)
    path.write_bytes(path.read_bytes()[:-9])  # as a kill in the middle of a record leaves it
    job = killed.work()
    assert summarize(job.store, NOVA).damage == []
    assert [line for result in asyncio.run(settle(job)) for line in result.damage] == []
    with suppress(CallError):
        asyncio.run(run_shard(job, 1, Model(most=1)))
    assert summarize(job.store, NOVA).damage == []


@pytest.fixture
def begun(tmp_path):
    job = job_in(str(tmp_path))
    with pytest.raises(CallError):
        asyncio.run(run_shard(job, 0, Model(most=3)))
    return job


def test_whoever_ends_in_good_order_vouches_for_all_of_the_journal(begun):
    content = begun.store.read_log(journal_name(0))
    past = replay(content, run=begun.manifest.run, shard=0)
    assert mark_in(read_lease(begun.store, 0)) == (len(content), past.head.decode())
    assert len(past.replies) == 3


def test_a_heartbeat_is_there_before_the_journal_and_before_a_marker_goes(tmp_path, monkeypatch):
    job, seen = job_in(str(tmp_path)), []
    asyncio.run(run_shard(job, 0, Model()))
    (tmp_path / "trials" / "00000.parquet").unlink()
    real_log, real_remove = job.store.log, job.store.remove

    def log(name):
        seen.append((tmp_path / lease_name(int(name[8:13]))).exists())
        return real_log(name)

    def remove(name):
        if name == shard_name(0):
            seen.append((tmp_path / lease_name(0)).exists())
        real_remove(name)

    monkeypatch.setattr(job.store, "log", log)
    monkeypatch.setattr(job.store, "remove", remove)
    asyncio.run(run_shard(job, 0, Model()))
    asyncio.run(run_shard(job, 1, Model()))
    assert seen == [True, True, True]


def test_whoever_takes_a_shard_over_keeps_what_its_heartbeat_said(tmp_path):
    job = job_in(f"file://{tmp_path}")
    with suppress(CallError):
        asyncio.run(run_shard(job, 0, Model(most=3)))
    safe = mark_in(read_lease(job.store, 0))
    asyncio.run(settle(job))
    assert mark_in(read_lease(job.store, 0)) == safe
    assert safe.size == len(job.store.read_log(journal_name(0)))


def test_a_lease_that_is_gone_is_told_until_somebody_goes_on(begun, tmp_path):
    (tmp_path / lease_name(0)).unlink()
    for _ in range(2):
        (line,) = asyncio.run(settle(begun))[0].damage
        assert line.startswith("journal/00000.log: leases/00000.json is missing")
    with suppress(CallError):
        asyncio.run(run_shard(begun, 0, Model(most=1)))
    assert asyncio.run(settle(begun))[0].damage == [line]  # that one ended without saying so
    assert asyncio.run(settle(begun))[0].damage == []


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_damage_that_nobody_was_told_of_outlives_whoever_found_it(tmp_path, scheme):
    job = job_in(f"{scheme}{tmp_path}")
    for _ in range(2):
        with suppress(CallError):
            asyncio.run(run_shard(job, 0, Model(most=2)))
    log = tmp_path / journal_name(0)
    if scheme:
        max(log.iterdir()).unlink()
    else:
        log.write_bytes(b"".join(records(log)[:-2]))
    with pytest.raises(CallError):  # it finds the damage, goes on, and does not come to say so
        asyncio.run(run_shard(job, 0, Model(most=1)))
    assert "bytes are missing" in summarize(job.store, NOVA).damage[0]
    result = asyncio.run(run_shard(job, 0, Model()))
    assert [line.startswith("journal/00000.log: its last") for line in result.damage] == [True]
    assert result.finished


def test_a_damaged_lease_is_told_even_where_nothing_was_asked(tmp_path):
    job = job_in(str(tmp_path))
    asyncio.run(settle(job))
    (tmp_path / lease_name(0)).write_bytes(b"x")
    assert "leases/00000.json" in asyncio.run(settle(job))[0].damage[0]


def test_a_journal_of_another_shard_is_refused_by_its_shard(begun, tmp_path):
    with suppress(CallError):
        asyncio.run(run_shard(begun, 1, Model(most=1)))
    one, other = (tmp_path / journal_name(shard) for shard in (0, 1))
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    for look in (lambda: asyncio.run(settle(begun)), lambda: summarize(begun.store, NOVA)):
        with pytest.raises(
            StorageError, match=r"journal/00000\.log belongs to shard 1; put it back"
        ):
            look()
    one.write_bytes(kept)
    assert summarize(begun.store, NOVA).damage == []


def test_a_journal_without_links_is_refused_and_says_what_to_do(begun, tmp_path):
    path = tmp_path / journal_name(0)
    path.write_bytes(b'0a1b2c3d 00000002 {"event":"open"}\n')
    for look in (lambda: asyncio.run(settle(begun)), lambda: summarize(begun.store, NOVA)):
        with pytest.raises(StorageError, match="did not link its records: finish this run with"):
            look()


def test_a_journal_of_another_version_is_refused(begun, tmp_path, monkeypatch):
    monkeypatch.setattr("novarag.runs.past.VERSION", 3)
    with pytest.raises(StorageError, match="another version: finish"):
        summarize(begun.store, NOVA)


def test_a_journal_whose_first_record_is_damaged_keeps_the_others(begun, tmp_path):
    path = tmp_path / journal_name(0)
    first, *rest = records(path)
    path.write_bytes(b"".join([first[:50] + b"#" + first[51:], *rest]))
    seen = summarize(begun.store, NOVA)
    assert "bytes are damaged at byte 0" in seen.damage[0]
    assert seen.counts["trials"] == 3
