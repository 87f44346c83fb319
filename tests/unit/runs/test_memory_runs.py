"""A run in memory is a run like any other: the same trials, resumed, locked, read by `Run`."""

import asyncio

import pytest

from novarag import CallError, Outcome, UsageError
from novarag.llm.simulated import open_simulated
from novarag.records import Passage, PassageGroup, Question
from novarag.runs import (
    Job,
    Memory,
    ProgressBoard,
    Settings,
    drive,
    everywhere,
    is_finished,
    open_run,
    open_store,
    plan,
    settle,
    summarize,
)
from novarag.runs.lease import Lease
from novarag.strategies import NOVA
from novarag.taxonomy import PassageKind

GROUPS = [
    PassageGroup(
        question=Question(id=f"q{i}", text=f"When was light {i} lit?", answers=("1871",)),
        passages=(
            Passage(text=f"Light {i} was lit in 1871.", kind=PassageKind.GOLD),
            Passage(text=f"Bread {i} rises.", kind=PassageKind.IRRELEVANT),
        ),
    )
    for i in range(10)
]
SETTINGS = Settings(
    strategy="nova", template_hash=NOVA.template.hash, model="m", samples=2, shard_size=4
)


def connect():
    return open_simulated("base", GROUPS)


def asked(store, connect=connect):
    manifest = plan(store, lambda: GROUPS, SETTINGS)
    job = Job(store=store, manifest=manifest, strategy=NOVA, patience=0.1)
    return asyncio.run(drive(job, connect, board=ProgressBoard(), stop=asyncio.Event()))


def test_it_gives_what_a_folder_gives(tmp_path):
    memory = Memory()
    for store in (memory, open_store(tmp_path / "run")):
        assert all(found.finished for found in asked(store))
    here, there = open_run(memory), open_run(tmp_path / "run")
    assert here.trials_table().equals(there.trials_table())
    assert list(here.trials()) == list(there.trials())
    assert list(here.groups()) == list(there.groups())
    assert (here.finished, here.missing, here.dead) == ((0, 1, 2), 0, 0)
    assert here.counts == there.counts
    assert here.cost == there.cost
    assert here.dead_table.equals(there.dead_table)
    assert is_finished(memory)
    assert summarize(memory, NOVA).counts["trials"] == 20
    assert [memory.names(kind) for kind in ("shards", "trials")] == [
        [f"{kind}/0000{i}.{end}" for i in range(3)]
        for kind, end in (("shards", "json"), ("trials", "parquet"))
    ]


class Denied:
    """A server that lets nobody in."""

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def complete(self, *_, **__):
        raise CallError(Outcome.DENIED, "no")


def test_what_was_stopped_goes_on():
    memory = Memory()
    with pytest.raises(CallError):
        asked(memory, Denied)
    assert not is_finished(memory)
    assert open_run(memory).missing == 3
    asked(memory)
    assert open_run(memory).trials_table().height == 20
    memory.remove("trials/00001.parquet")
    job = Job(store=memory, manifest=open_run(memory).manifest, strategy=NOVA)
    assert "trials/00001.parquet is damaged or missing" in asyncio.run(settle(job))[1].damage[0]
    assert open_run(memory).trials_table().height == 20


def test_one_at_a_time():
    memory = Memory()
    one, other = Lease(memory, 0), Lease(memory, 0)
    assert (one.take(), other.take()) == (True, False)
    one.end()
    assert other.take()


def test_it_stays_in_its_process():
    with pytest.raises(UsageError, match="stays in its process"):
        everywhere(Memory())
