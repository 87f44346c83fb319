"""Files swapped between two runs of equal settings are noticed, whichever they are (M7)."""

import asyncio
import json
import pickle
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from novarag import StorageError
from novarag.runs import open_store, plan, read_manifest, run_shard
from novarag.runs.finished import DamagedMarker
from novarag.runs.journal import journal_name
from novarag.runs.requests import requests_of
from novarag.strategies import NOVA
from tests.support.swapped_files import (
    SORTS,
    Model,
    Pair,
    go_on,
    groups,
    job_in,
    pristine_of,
    problems,
    swaps,
)


@pytest.fixture
def folder(tmp_path):
    """Return a folder in memory where there is one: thousands of small files are made to last."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


@pytest.mark.parametrize(("scheme", "times"), [("", 40), ("file://", 12)])
def test_m7_files_swapped_between_two_equal_runs_are_noticed(folder, scheme, times):
    pairs, pristine = {}, {}
    for sort in SORTS:
        (folder / sort).mkdir()
        pairs[sort] = Pair(folder / sort, sort, scheme)
        pairs[sort].make()
        pristine[sort] = pristine_of(pairs[sort])
    drawn = list(swaps(pairs, times, Random(7)))
    found = [p for swap in drawn for p in problems(pairs[swap.sort], swap, pristine[swap.sort])]
    assert not found, "\n".join(found)
    assert len(drawn) == times


def test_m7_only_what_is_equal_in_both_runs_is_not_swapped(tmp_path):
    pair = Pair(tmp_path, "finished")
    pair.make()
    alone = {files[0].partition("/")[0] for files in pair.sets().values() if len(files) == 1}
    assert alone == {"manifest.json", "journal", "trials", "attempts", "shards"}


def test_m7_equal_runs_ask_under_the_same_keys(tmp_path):
    first, second = (job_in(tmp_path / name) for name in "ab")
    assert first.manifest.fingerprint == second.manifest.fingerprint
    assert first.manifest.run != second.manifest.run
    asked = [requests_of(groups(), NOVA, job.manifest.settings) for job in (first, second)]
    assert [r.key for r in asked[0]] == [r.key for r in asked[1]]


def test_m7_a_run_that_goes_on_keeps_its_nonce(tmp_path):
    begun = job_in(tmp_path)
    assert len(begun.manifest.nonce) == 16
    go_on(job_in(tmp_path))
    assert job_in(tmp_path).manifest == begun.manifest == read_manifest(begun.store)


@pytest.mark.parametrize("sort", ["finished", "stopped"])
@pytest.mark.parametrize("how", ["damaged", "missing"])
def test_m7_the_nonce_outlives_its_manifest(tmp_path, sort, how):
    SORTS[sort](tmp_path)
    before = read_manifest(open_store(tmp_path))
    if how == "damaged":
        (tmp_path / "manifest.json").write_bytes(b"{")
    else:
        (tmp_path / "manifest.json").unlink()
    model = Model(most=0)
    job = job_in(tmp_path)
    assert job.manifest == before
    assert asyncio.run(run_shard(job, 0, model)).finished


def test_m7_a_lost_manifest_does_not_choose_between_two_runs(tmp_path):
    for name in "ab":
        _ = SORTS["stopped"](tmp_path / name)
    (tmp_path / "a" / "manifest.json").unlink()
    other = (tmp_path / "b" / journal_name(2)).read_bytes()
    (tmp_path / "a" / journal_name(2)).write_bytes(other)
    with pytest.raises(StorageError, match=r"shards/00000.json and journal/00002.log are of diff"):
        job_in(tmp_path / "a")
    (tmp_path / "a" / journal_name(2)).unlink()
    job_in(tmp_path / "a")


def test_m7_who_begins_at_the_same_time_joins_the_first(tmp_path, monkeypatch):
    """The other has planned and written its manifest while we were reading the groups."""
    store, told = open_store(tmp_path), []
    settings = job_in(tmp_path / "elsewhere").manifest.settings

    def source():
        if not told:
            told.append(plan(store, groups, settings, name="g", source_hash="1"))
        return groups()

    assert plan(open_store(tmp_path), source, settings, name="g", source_hash="1") == told[0]


def test_m7_who_begins_waits_no_longer_than_it_must(tmp_path, monkeypatch):
    store = open_store(tmp_path / "run")
    settings = job_in(tmp_path / "elsewhere").manifest.settings
    monkeypatch.setattr("novarag.runs.planning._PATIENCE", 0.1)
    assert store.lock("leases/manifest.lock")
    with pytest.raises(StorageError, match="is being begun by another process"):
        plan(open_store(tmp_path / "run"), groups, settings, name="g", source_hash="1")
    store.unlock("leases/manifest.lock")
    plan(open_store(tmp_path / "run"), groups, settings, name="g", source_hash="1")


def test_m7_a_run_of_before_nonces_is_gone_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr("novarag.runs.planning.os.urandom", lambda _: b"")
    SORTS["stopped"](tmp_path)
    job = job_in(tmp_path)
    assert job.manifest.run == job.manifest.fingerprint
    monkeypatch.undo()
    assert go_on(job_in(tmp_path)) == []
    content = json.loads((tmp_path / "manifest.json").read_text())["content"]
    assert content["run"] == job.manifest.fingerprint


def test_m7_a_marker_of_another_run_says_so_in_any_process():
    told = pickle.loads(
        pickle.dumps(DamagedMarker("shards/00001.json belongs to another run", "x"))
    )
    assert str(told) == "shards/00001.json belongs to another run; run `recover('x')`"
