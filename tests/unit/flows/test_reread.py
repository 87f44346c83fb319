"""Reading a run again: what changed is told, nothing is asked, no kill loses anything."""

import asyncio
from dataclasses import asdict, fields, replace

import polars as pl
import pytest
from typer.testing import CliRunner

from novarag import Passage, PassageGroup, Question, Reply, Sampling, StorageError, Usage
from novarag.calls import Attempt
from novarag.checksums import checksum
from novarag.cli import app
from novarag.flows.reread import reread_run as reread
from novarag.records import Completion
from novarag.runs import (
    Job,
    ProgressBoard,
    Run,
    Settings,
    crash_points,
    drive,
    open_store,
    plan,
    settle,
)
from novarag.runs.finished import shard_name, table_name
from novarag.runs.journal import journal_name
from novarag.runs.lease import Lease
from novarag.runs.manifest import groups_name
from novarag.sealed_json import seal, unseal
from novarag.strategies import NOVA, Strategy
from novarag.taxonomy import PassageKind

run = CliRunner().invoke
REPLY = (
    "Step 3: rule 2.\nPassage Classifications: HR, I\nGroup Judgment: Consistent\n"
    "Answer: 1871\nConfidence: {}%"
)


class OtherReader(Strategy):
    """The strategy with a reader that reads another confidence."""

    def read(self, reply, *, group=None, k=None, truncated=False):
        found = super().read(reply, group=group, k=k, truncated=truncated)
        return found if found.confidence is None else replace(found, confidence=0.11)


OTHER = OtherReader(**{f.name: getattr(NOVA, f.name) for f in fields(NOVA)})


class Model:
    """Answers by what it is asked; every seventh reply cannot be read."""

    def __init__(self):
        self.asked = 0

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        self.asked += 1
        attempt = Attempt(id=f"a{self.asked}", endpoint="model")
        tell(attempt)
        texts = [REPLY.format((self.asked * 7 + i) % 101) for i in range(sampling.n)]
        if self.asked % 7 == 0:
            texts[0] = "dunno"
        completions = tuple(
            Completion(text=t, model="m", tokens=("a", "b"), logprobs=(-0.5, -1.0)) for t in texts
        )
        return Reply(
            completions=completions, usage=Usage(prompt=1, completion=2), attempt=attempt.id
        )


def made(folder, groups=12):
    """Ask a finished run of three shards, and return its job."""
    store = open_store(folder)
    asked = [
        PassageGroup(
            id=f"g{i}",
            question=Question(id=f"q{i}", text=f"When was light {i} lit?", answers=("1871",)),
            passages=(
                Passage(text=f"Light {i}: 1871.", kind=PassageKind.GOLD),
                Passage(text="Bread.", kind=PassageKind.IRRELEVANT),
            ),
        )
        for i in range(groups)
    ]
    settings = Settings(
        strategy="nova", template_hash=NOVA.template.hash, model="m", samples=4, shard_size=5,
        sampling=Sampling(temperature=1.0),
    )  # fmt: skip
    manifest = plan(store, lambda: asked, settings)
    job = Job(store=store, manifest=manifest, strategy=NOVA)
    asyncio.run(drive(job, Model, board=ProgressBoard(), stop=asyncio.Event()))
    return job


def trials(job):
    return pl.concat(
        pl.read_parquet(job.store.root / table_name("trials", s))
        for s in range(len(job.manifest.parts))
    )


def again(job, strategy=NOVA, **options):
    return reread(Run(job.store, job.manifest), strategy, **options)


def is_whole(job):
    found = asyncio.run(settle(job))
    return all(outlook.finished for outlook in found), [d for o in found for d in o.damage]


def snapshot(folder):
    files = (p for p in folder.rglob("*") if p.is_file() and "leases" not in p.parts)
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def test_the_same_reader_changes_nothing(tmp_path):
    job = made(tmp_path / "run")
    before = snapshot(tmp_path / "run")
    told = []
    found = again(job, on_event=told.append)
    assert (found.trials, found.changed, dict(found.columns)) == (48, 0, {})
    assert told == [1, 1, 1]
    assert snapshot(tmp_path / "run") == before


@pytest.mark.parametrize("workers", [1, 2])
def test_another_reader_changes_what_it_reads_and_says_so(tmp_path, workers):
    job = made(tmp_path / "run")
    before = trials(job)
    found = again(job, OTHER, workers=workers)
    after = trials(job)
    unread = before["flaw"].is_not_null().sum()
    assert set(after["confidence"].drop_nulls()) == {0.11}
    changed = (before["confidence"] != after["confidence"]).sum()
    assert (found.trials, found.changed, dict(found.columns)) == (
        48,
        changed,
        {"confidence": changed},
    )
    assert 0 < unread < changed < 48
    kept = [
        "question", "group", "sample", "reply", "request", "prompt_hash", "tokens", "logprobs",
        "correct", "kind",
    ]  # fmt: skip
    assert after.select(kept).equals(before.select(kept))
    assert is_whole(job) == (True, [])


def test_a_table_of_an_older_reader_gets_its_columns(tmp_path):
    job = made(tmp_path / "run")
    whole = snapshot(tmp_path / "run")
    for shard in range(3):
        name = table_name("trials", shard)
        path = tmp_path / "run" / name
        path.write_bytes(_without(path, "rule_step"))
        _vouch(job, shard, path)
    found = again(job)
    read = trials(job)["flaw"].is_null().sum()
    assert (found.changed, dict(found.columns)) == (read, {"rule_step": read})
    assert snapshot(tmp_path / "run") == whole


def _without(path, column):
    frame = pl.read_parquet(path).drop(column)
    frame.write_parquet(path)
    return path.read_bytes()


def _vouch(job, shard, path):
    marker = unseal(job.store.read(shard_name(shard)))
    marker["files"][table_name("trials", shard)] = asdict(checksum(path.read_bytes()))
    job.store.write(shard_name(shard), seal(marker))


def test_counts_follow(tmp_path):
    class Blind(type(NOVA)):
        def read(self, reply, *, group, truncated=False):
            return NOVA.read("dunno", k=len(group.passages))

    job = made(tmp_path / "run")
    found = again(job, Blind(name="nova", template=NOVA.template))
    assert found.counts["unread"] == 48
    assert found.counts["right"] == found.counts["graded"] == 0
    marker = unseal(job.store.read(shard_name(0)))
    assert (marker["counts"]["unread"], marker["counts"]["requests"]) == (20, 5)
    assert unseal(job.store.read("manifest.json"))["counts"]["unread"] == 48


class Killed(BaseException):
    pass


def killed_at(monkeypatch, instant, job):
    """Read again with a kill at the n-th half or end of a write; say whether it came to that."""
    left = [instant]

    def reached(point):
        left[0] -= point in {"file half written", "file renamed"}
        if left[0] == 0:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(crash_points, "reached", reached)
        try:
            again(job, OTHER)
        except Killed:
            return True
    return False


@pytest.mark.parametrize("journal", ["whole", "emptied"])
@pytest.mark.parametrize("mend", ["recover", "reread"])
def test_a_kill_at_any_write_loses_nothing(tmp_path, monkeypatch, mend, journal):
    """Also where the journal was lost before: then the tables are all there is."""
    undisturbed = made(tmp_path / "calm")
    again(undisturbed, OTHER)
    instant, killed = 0, True
    while killed:
        instant += 1
        job = made(tmp_path / f"run{instant}")
        if journal == "emptied":
            for shard in range(3):
                job.store.write(journal_name(shard), b"")
            assert len(is_whole(job)[1]) == 3
        killed = killed_at(monkeypatch, instant, job)
        if mend == "recover":
            assert is_whole(job)[0]
            assert is_whole(job) == (True, [])
            assert trials(job)["reply"].equals(trials(undisturbed)["reply"])
        again(job, OTHER)
        assert is_whole(job) == (True, [])
        assert trials(job).equals(trials(undisturbed))
    assert instant > 15


def test_what_is_damaged_or_taken_is_refused(tmp_path):
    job = made(tmp_path / "run")
    path = tmp_path / "run" / table_name("trials", 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(StorageError, match=r"`recover\("):
        again(job)
    path.write_bytes(whole)
    groups = tmp_path / "run" / groups_name(2)
    groups.write_bytes(groups.read_bytes()[:-1])
    with pytest.raises(StorageError, match="groups"):
        again(job)
    lease = Lease(open_store(tmp_path / "run"), 0)
    assert lease.take()
    with pytest.raises(StorageError, match="being worked on"):
        again(job)
    lease.end()


def test_the_command_says_what_changed(tmp_path):
    job = made(tmp_path / "run")
    result = run(app, ["run", "reread", str(tmp_path / "run"), "--workers", "1"])
    assert result.exit_code == 0
    assert result.stdout == "48 trials were read again, 0 of them changed\n"
    again(job, OTHER)
    job.store.remove(shard_name(2))
    result = run(app, ["run", "reread", str(tmp_path / "run"), "--workers", "1"])
    assert "40 trials were read again, 39 of them changed" in result.stdout
    assert "confidence       39" in result.stdout
    assert "1 shards are not finished" in result.stdout
