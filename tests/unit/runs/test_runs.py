"""Runs: cut into shards, asked, killed, damaged, resumed; on a folder and on an object store."""

import asyncio
import errno
import os
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from random import Random

import polars as pl
import pytest

from novarag import (
    CallError,
    DataError,
    Outcome,
    Passage,
    PassageGroup,
    Question,
    Reply,
    Sampling,
    ServiceError,
    StorageError,
    Usage,
    UsageError,
)
from novarag.calls import Attempt
from novarag.records import Completion
from novarag.runs import (
    Driver,
    Job,
    ProgressBoard,
    Settings,
    drive,
    open_store,
    plan,
    run_shard,
    settle,
    some_trials,
    summarize,
    trial_tables,
)
from novarag.runs.finished import shard_name, table_name
from novarag.runs.group_table import read_groups, write_groups
from novarag.runs.lease import Lease
from novarag.runs.manifest import groups_name, read_manifest
from novarag.sealed_json import seal, unseal
from novarag.strategies import CLOSED_BOOK, NOVA
from novarag.taxonomy import PassageKind, Provenance, RelevantFacet
from tests.support.waiting import PATIENCE, until

NUMBERS = count()


class Model:
    """Answers from the prompt alone; fails where it is told to, and counts."""

    def __init__(self, failing=(), error=None, delay=0.0):
        self.failing, self.error, self.delay = failing, error, delay
        self.prompts, self.samplings = [], []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        attempt = Attempt(id=f"{id(self):x}-{next(NUMBERS)}", endpoint="model")
        tell(attempt)
        self.prompts.append(prompt)
        self.samplings.append(sampling)
        await asyncio.sleep(self.delay)
        if any(word in prompt for word in self.failing):
            error = self.error or CallError(Outcome.REFUSED, "no")
            tell(replace(attempt, outcome=Outcome.REFUSED, detail="no"))
            raise error
        number = len(prompt) % 101
        text = f"Answer: 1871\nConfidence: {number}%"
        completions = tuple(Completion(text=text, model="m") for _ in range(sampling.n))
        return Reply(
            completions=completions, usage=Usage(prompt=3, completion=4), attempt=attempt.id
        )


def some_groups(number=10, variants=1):
    return [
        PassageGroup(
            question=Question(
                id=f"q{i}", text=f"When was lighthouse number {i} lit?", answers=("1871",)
            ),
            passages=(
                Passage(text=f"Light {i} shone in 1871.", kind=PassageKind.GOLD),
                Passage(text=f"Bread {v}."),
            ),
        )
        for v in range(variants)
        for i in range(number)
    ]


def settings(**changed):
    return Settings(
        strategy="nova", template_hash=NOVA.template.hash, model="m", shard_size=4, sampling=Sampling(temperature=1.0)
    ) if not changed else replace(settings(), **changed)  # fmt: skip


def begin(place, groups=None, strategy=NOVA, on_event=lambda _: None, **changed):
    store = open_store(str(place))
    groups = some_groups() if groups is None else groups
    manifest = plan(store, lambda: groups, settings(**changed), on_event=on_event)
    return Job(store=store, manifest=manifest, strategy=strategy, concurrency=3, patience=0.3)


def go(job, model=None, **options):
    model = model or Model()
    outlooks = asyncio.run(
        drive(
            job,
            lambda: model,
            board=ProgressBoard(),
            stop=options.pop("stop", None) or asyncio.Event(),
            **options,
        )
    )
    return outlooks, model


def trials(place):
    return pl.read_parquet(f"{place}/trials/*.parquet")


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path):
    return tmp_path / "run" if request.param == "folder" else f"file://{tmp_path}/run"


def local(place):
    return str(place).removeprefix("file://")


def test_a_run_holds_every_trial_once(place):
    outlooks, model = go(begin(place, samples=3))
    table = trials(local(place))
    assert all(o.finished for o in outlooks)
    assert len(table) == 30 == table.select("group", "sample").n_unique()
    assert len(model.prompts) == 10
    assert table["correct"].all()
    assert table["kind"].null_count() == 30
    counts = summarize(open_store(str(place)), NOVA).counts
    assert (counts["trials"], counts["prompt_tokens"], counts["outcomes"]) == (
        30,
        30,
        {"answered": 10},
    )


def test_a_finished_run_asks_nothing(place):
    go(begin(place))
    before = trials(local(place))
    outlooks, model = go(begin(place))
    assert model.prompts == []
    assert [o.damage for o in outlooks] == [[], [], []]
    assert trials(local(place)).equals(before)


def test_samples_can_be_asked_one_by_one(tmp_path):
    job = begin(tmp_path, samples=4, per_request=1, sampling=Sampling(temperature=1.0, seed=7))
    _, model = go(job)
    assert {s.seed for s in model.samplings} == {7, 8, 9, 10}
    assert len(model.prompts) == job.manifest.requests == 40
    assert trials(tmp_path)["request"].n_unique() == 40


def test_groups_with_one_prompt_are_paid_for_once(tmp_path):
    job = begin(tmp_path, some_groups(6, variants=3), strategy=CLOSED_BOOK)
    _, model = go(job)
    assert len(model.prompts) == 6
    assert len(trials(tmp_path)) == 18
    assert trials(tmp_path)["group"].n_unique() == 18


def test_a_shard_holds_whole_questions_wherever_their_rows_stand(tmp_path):
    job = begin(tmp_path, some_groups(10, variants=3))
    shards = [read_groups(job.store.read(groups_name(i))) for i in range(3)]
    asked = [[g.question.id for g in shard] for shard in shards]
    assert [len(set(ids)) for ids in asked] == [4, 4, 2]
    assert not set(asked[0]) & set(asked[1])
    assert asked[0] == sorted(asked[0])


def test_rows_that_repeat_are_asked_once(tmp_path):
    job = begin(tmp_path, some_groups(3) + some_groups(3))
    assert (job.manifest.groups, job.manifest.repeated) == (3, 3)


def test_one_id_for_two_groups_is_refused(tmp_path):
    a, b = some_groups(2)
    with pytest.raises(DataError, match="row 2"):
        begin(tmp_path, [replace(a, id="x"), replace(b, id="x")])


def test_nothing_to_ask_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no groups"):
        begin(tmp_path, [])


def test_groups_survive_the_disk_in_every_field():
    passage = Passage(
        text="t\n", kind=PassageKind.RELEVANT, facet=next(iter(RelevantFacet)), claim="c",
        provenance=next(iter(Provenance)), source="s", flags=("f",),
    )  # fmt: skip
    question = Question(id="i", text="q", answers=("a", "b"))
    full = PassageGroup(
        question=question, passages=(passage, Passage(text="")), id="g", order=(1, 0), flags=("x",)
    )
    bare = PassageGroup(question=replace(question, answers=()), passages=(), id="h")
    assert read_groups(write_groups([("g", full), ("h", bare)])) == [full, bare]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"samples": 2}, "samples was 1, is 2"),
        ({"model": "n"}, "model was 'm', is 'n'"),
        ({"sampling": Sampling(seed=1)}, "seed was None, is 1"),
    ],
)
def test_other_settings_are_another_run(tmp_path, changed, said):
    begin(tmp_path)
    with pytest.raises(UsageError, match=said):
        begin(tmp_path, **changed)


def test_other_groups_are_another_run(tmp_path):
    begin(tmp_path)
    with pytest.raises(StorageError, match="another run"):
        begin(tmp_path, some_groups(11))
    store = open_store(tmp_path / "b")
    plan(store, some_groups, settings(), name="a.jsonl", source_hash="1")
    with pytest.raises(UsageError, match=r"were a\.jsonl, now b\.jsonl has other content"):
        plan(store, some_groups, settings(), name="b.jsonl", source_hash="2")


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"shard_size": 0}, {"per_request": 0}])
def test_impossible_settings(wrong):
    with pytest.raises(UsageError):
        settings(**wrong)


def test_what_failed_is_in_the_dead_letters_and_can_be_asked_again(place):
    outlooks, _ = go(begin(place), Model(failing=["number 2 "]))
    assert all(o.finished for o in outlooks)
    dead = pl.read_parquet(f"{local(place)}/dead/*.parquet")
    assert dead.select("question", "outcome", "detail").rows() == [("q2", "request refused", "no")]
    assert len(trials(local(place))) == 9
    _, model = go(begin(place))
    assert model.prompts == []
    _, model = go(replace(begin(place), revive=True))
    assert len(model.prompts) == 1
    assert len(trials(local(place))) == 10
    assert pl.read_parquet(f"{local(place)}/dead/*.parquet").is_empty()
    ledger = pl.read_parquet(f"{local(place)}/attempts/*.parquet")
    assert len(ledger) == 11


def test_any_failure_of_a_model_is_a_dead_letter(tmp_path):
    go(begin(tmp_path), Model(failing=["number 2 "], error=ServiceError("odd", retryable=False)))
    assert pl.read_parquet(f"{tmp_path}/dead/*.parquet")["detail"].to_list() == ["odd"]


@pytest.mark.parametrize("outcome", [Outcome.DENIED, Outcome.REDIRECTED])
def test_a_locked_door_stops_the_run_instead_of_filling_the_dead_letters(tmp_path, outcome):
    job = begin(tmp_path)
    with pytest.raises(CallError, match="key"):
        go(job, Model(failing=["number 1 "], error=CallError(outcome, "wrong key")))
    go(begin(tmp_path))
    assert len(trials(tmp_path)) == 10


def test_a_run_that_is_stopped_goes_on(place):
    job = begin(place, some_groups(40))

    async def stopped():
        stop = asyncio.Event()
        model = Model(delay=0.01)
        running = asyncio.create_task(drive(job, lambda: model, board=ProgressBoard(), stop=stop))
        await until(lambda: model.prompts)
        stop.set()
        return await running, model

    outlooks, first = asyncio.run(stopped())
    assert sum(o.finished for o in outlooks) < 10
    seen = summarize(job.store, NOVA)
    assert seen.left == 40 - len(first.prompts) == 40 - seen.counts["trials"]
    assert seen.counts["prompt_tokens"] == 3 * len(first.prompts)
    assert len(some_trials(seen, 3)) == 3
    assert sum(map(len, trial_tables(seen.job))) == len(first.prompts)
    _, second = go(begin(place, some_groups(40)))
    assert len(first.prompts) + len(second.prompts) == 40
    assert len(trials(local(place))) == 40


def test_a_model_that_never_comes_back_is_not_waited_for_after_a_stop(tmp_path):
    job = replace(begin(tmp_path), grace=0.1)

    async def stopped():
        stop = asyncio.Event()
        model = Model(delay=600)
        running = asyncio.create_task(drive(job, lambda: model, board=ProgressBoard(), stop=stop))
        await until(lambda: len(model.prompts) == 3)
        stop.set()
        return await asyncio.wait_for(running, PATIENCE)

    assert not asyncio.run(stopped())[0].finished
    assert [e.outcome for e in past(job, 0).attempts.values()] == [Outcome.UNKNOWN] * 3


def past(job, shard):
    from novarag.runs.journal import journal_name, replay

    return replay(job.store.read_log(journal_name(shard)), run=job.manifest.run, shard=shard)


def test_a_file_named_stop_stops_every_worker(tmp_path, monkeypatch):
    monkeypatch.setattr("novarag.runs.shard._BEAT", 0.02)
    job = begin(tmp_path, some_groups(4))

    async def run():
        model = Model(delay=0.1)
        running = asyncio.create_task(run_shard(replace(job, concurrency=1), 0, model))
        await until(lambda: model.prompts)
        (tmp_path / "stop").touch()
        return await running

    assert not asyncio.run(run()).finished


def test_two_cannot_work_on_one_shard(place):
    job = begin(place)
    other = Lease(open_store(str(place)), 0)
    assert other.take()
    other.beat(None)
    with pytest.raises(StorageError, match="is being worked on"):
        go(job)
    other.beat(None, released=True)
    other.end()
    assert all(o.finished for o in go(job)[0])


def damaged(path, how, rng):
    content = bytearray(path.read_bytes())
    where = rng.randrange(len(content))
    match how:
        case "flip":
            content[where] ^= 1 << rng.randrange(8)
        case "truncate":
            del content[where:]
        case "double":
            content[where:where] = content[where : where + 1 + rng.randrange(200)]
    path.write_bytes(content)


def unfinished_run(place):
    job = begin(place, some_groups(12))
    asyncio.run(run_shard(job, 0, Model()))
    half = Model(failing=["number 6 "], error=CallError(Outcome.DENIED, "x"))
    with pytest.raises(CallError):
        asyncio.run(run_shard(replace(job, concurrency=1), 1, half))


@pytest.mark.parametrize("how", ["flip", "truncate", "double"])
@pytest.mark.parametrize("seed", range(8))
def test_damage_to_any_file_is_found_and_costs_only_what_it_hit(tmp_path, how, seed):
    rng = Random(f"{how} {seed}")
    unfinished_run(tmp_path)
    files = sorted(p for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size)
    hit = rng.choice(files)
    before = hit.read_bytes()
    while hit.read_bytes() == before:
        damaged(hit, how, rng)
    told = []
    job = begin(tmp_path, some_groups(12), on_event=told.append)
    outlooks, model = go(job)
    assert told or [line for o in outlooks for line in o.damage]
    assert len(model.prompts) <= 6 + 1 + (
        len(before) if how == "truncate" and hit.parent.name == "journal" else 0
    )
    assert len(trials(tmp_path)) == 12
    assert trials(tmp_path).select("group", "sample").n_unique() == 12


def test_a_damaged_table_is_written_again_from_the_journal_for_nothing(place):
    job = begin(place)
    go(job)
    whole = trials(local(place))
    job.store.write(table_name("trials", 1), b"garbage")
    with pytest.raises(StorageError, match=r"`recover\("):
        summarize(job.store, NOVA)
    outlooks = asyncio.run(settle(begin(place)))
    assert "trials/00001.parquet is damaged" in outlooks[1].damage[0]
    assert trials(local(place)).equals(whole)
    job.store.remove(table_name("trials", 1))
    with pytest.raises(StorageError, match=r"`recover\("):
        summarize(job.store, NOVA)


def test_a_damaged_journal_of_a_finished_shard_is_told_and_costs_nothing(tmp_path):
    go(begin(tmp_path))
    (tmp_path / "journal" / "00001.log").write_bytes(b"x")
    outlooks, model = go(begin(tmp_path))
    assert outlooks[1].damage == ["journal/00001.log is damaged; its tables are whole"]
    assert model.prompts == []
    assert go(begin(tmp_path))[0][1].damage == []
    (tmp_path / "journal" / "00001.log").write_bytes(b"y")
    (tmp_path / table_name("trials", 1)).write_bytes(b"x")
    outlooks, model = go(begin(tmp_path))
    assert "what both lost is asked again" in " ".join(outlooks[1].damage)
    assert len(model.prompts) == 4


def test_damaged_groups_without_their_source_cannot_be_mended(tmp_path):
    job = begin(tmp_path)
    (tmp_path / groups_name(0)).write_bytes(b"x")
    with pytest.raises(StorageError, match="writes it anew"):
        asyncio.run(settle(job))


def test_the_journal_of_another_run_is_not_taken_over(tmp_path):
    go(begin(tmp_path / "a"))
    go(begin(tmp_path / "b", samples=2))
    (tmp_path / "a" / "journal" / "00000.log").write_bytes(
        (tmp_path / "b" / "journal" / "00000.log").read_bytes()
    )
    (tmp_path / "a" / shard_name(0)).unlink()
    with pytest.raises(StorageError, match="belongs to another run"):
        go(begin(tmp_path / "a"))


def test_recovering_looks_at_the_groups_of_finished_shards_too(tmp_path):
    job = begin(tmp_path)
    go(job)
    (tmp_path / groups_name(0)).unlink()
    assert "groups/00000.parquet is damaged or missing" in asyncio.run(settle(job))[0].damage[0]


def test_a_shard_that_lost_everything_is_unfinished_again(tmp_path):
    job = begin(tmp_path)
    go(job)
    (tmp_path / table_name("trials", 0)).unlink()
    (tmp_path / "journal" / "00000.log").write_bytes(b"")
    outlook = asyncio.run(settle(job))[0]
    assert (outlook.finished, outlook.counts["pending"]) == (False, 4)
    seen = summarize(job.store, NOVA)
    assert (seen.unfinished, seen.left) == ([0], 4)


def test_one_id_for_two_questions_is_refused(tmp_path):
    a, b = some_groups(2)
    with pytest.raises(DataError, match=r"row 2.*column 'id'"):
        begin(tmp_path, [a, replace(b, question=replace(b.question, id="q0"))])


def test_a_run_is_a_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="a run is a folder"):
        open_store(tmp_path / "file")


def test_a_changed_prompt_is_named_in_words(tmp_path):
    begin(tmp_path)
    with pytest.raises(UsageError, match="the prompt of 'nova' has changed"):
        begin(tmp_path, template_hash="other")


class Waiting(Model):
    """A model that answers when it is let."""

    def __init__(self):
        super().__init__()
        self.gate = asyncio.Event()

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        attempt = Attempt(id=f"{id(self):x}-{next(NUMBERS)}", endpoint="model")
        tell(attempt)
        self.prompts.append(prompt)
        await self.gate.wait()
        return await super().complete(prompt, sampling, key=key, tell=tell)


def test_somebody_at_work_is_seen(tmp_path):
    job = begin(tmp_path)

    async def run():
        model = Waiting()
        running = asyncio.create_task(run_shard(job, 0, model))
        await until(lambda: len(model.prompts) == 3)
        seen = summarize(job.store, NOVA)
        model.gate.set()
        await running
        return seen

    seen = asyncio.run(run())
    assert seen.owners[0].endswith("is at work")
    assert seen.counts["outcomes"] == {"in flight": 3}


def test_recovering_asks_nothing_and_says_what_is_left(tmp_path):
    unfinished_run(tmp_path)
    outlooks = asyncio.run(settle(begin(tmp_path, some_groups(12))))
    assert [(o.finished, o.counts.get("pending", 0)) for o in outlooks] == [
        (True, 0),
        (False, 2),
        (False, 4),
    ]


def test_a_full_disk_stops_the_run_and_a_roomy_one_resumes_it(tmp_path, monkeypatch):
    job = begin(tmp_path)
    real, left = os.write, [3000]

    def write(handle, content):
        if len(content) > left[0]:
            if left[0] > 10:
                done = real(handle, content[: left[0] // 2])
                left[0] = 0
                return done
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= len(content)
        return real(handle, content)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(StorageError, match="the disk is full"):
        go(job)
    monkeypatch.undo()
    assert all(log.read_bytes().endswith(b"\n") for log in (tmp_path / "journal").iterdir())
    outlooks, _ = go(begin(tmp_path))
    assert [line for o in outlooks for line in o.damage] == []
    assert len(trials(tmp_path)) == 10


def test_replies_to_look_at_are_spread_over_the_run(tmp_path):
    job = begin(tmp_path)
    go(job)
    rows = some_trials(summarize(job.store, NOVA), 6)
    assert len({row["question"] for row in rows}) == 6
    assert some_trials(summarize(job.store, NOVA), 0) == []


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(UsageError, match="not a run"):
        summarize(open_store(tmp_path), NOVA)
    assert read_manifest(open_store(tmp_path)) is None


@pytest.mark.parametrize("place", ["settings", "sampling", "part", "noise"])
def test_a_run_of_a_newer_version_says_so_and_stays_as_it_is(tmp_path, place):
    job = begin(tmp_path)
    content = unseal(job.store.read("manifest.json"))
    settings = content["settings"]
    settings["noise"] = {"tone": 1} if place == "noise" else None
    tables = {"settings": settings, "sampling": settings["sampling"], "part": content["parts"][0]}
    tables.get(place, {})["tone"] = 1
    newer = seal({**content, "versions": {"novarag": "99.0", "python": "3.99"}})
    job.store.write("manifest.json", newer)
    with pytest.raises(StorageError, match=r"newer novarag, 99\.0: unknown setting 'tone'"):
        begin(tmp_path)
    assert job.store.read("manifest.json") == newer


@pytest.mark.parametrize(
    "change",
    [{"settings": None}, {"settings": 7}, {"parts": 7}, {"parts": [7]}, {"source": True}, {"repeated": -1}, {"run": "x"}, {"source": None} , {"settings": {"sampling": []}}],
)  # fmt: skip
def test_a_sealed_manifest_that_makes_no_sense_is_damaged(tmp_path, change):
    job = begin(tmp_path)
    content = {**unseal(job.store.read("manifest.json")), **change}
    if change == {"source": None}:
        del content["source"]
    job.store.write("manifest.json", seal(content))
    with pytest.raises(StorageError, match="damaged"):
        read_manifest(job.store)


def test_a_place_with_a_key_in_it_is_refused_without_repeating_it():
    with pytest.raises(UsageError) as caught:
        open_store("s3://id:secret@bucket/run")
    assert "secret" not in str(caught.value)


def test_a_kill_while_asking_again_leaves_no_false_marker(tmp_path):
    go(begin(tmp_path), Model(failing=["number 2 "]))
    stopped = CallError(Outcome.DENIED, "x")
    with pytest.raises(CallError):
        go(replace(begin(tmp_path), revive=True), Model(failing=["number 2 "], error=stopped))
    outlooks, model = go(begin(tmp_path))
    assert [line for o in outlooks for line in o.damage] == []
    assert len(model.prompts) == 1


def test_a_place_that_cannot_be_opened():
    with pytest.raises(UsageError, match="cannot be opened"):
        open_store("nonsense://x")


def test_the_ray_driver_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setattr("novarag.runs.ray_cluster.ray", None)
    with pytest.raises(UsageError, match=r"\.\[ray\]"):
        go(begin(tmp_path), driver=Driver.RAY)


@asynccontextmanager
async def broken():
    raise OSError("no")
    yield


def test_a_model_that_does_not_open(tmp_path):
    with pytest.raises(OSError, match="no"):
        asyncio.run(drive(begin(tmp_path), broken, board=ProgressBoard(), stop=asyncio.Event()))


def test_after_a_stop_nobody_whose_turn_comes_late_is_sent(tmp_path):
    job = begin(tmp_path, some_groups(30), shard_size=100)

    class Turnstile(Model):
        """Lets one in at a time, as a gate would."""

        def __init__(self):
            super().__init__(delay=0.02)
            self.turn = asyncio.Semaphore(1)

        async def complete(self, prompt, sampling, *, key=None, tell=None):
            async with self.turn:
                return await super().complete(prompt, sampling, key=key, tell=tell)

    async def run():
        stop, model = asyncio.Event(), Turnstile()
        running = asyncio.create_task(
            drive(replace(job, concurrency=20), lambda: model, board=ProgressBoard(), stop=stop)
        )
        await until(lambda: len(model.prompts) >= 3)
        sent = len(model.prompts)
        stop.set()
        await running
        return len(model.prompts) - sent

    assert asyncio.run(run()) <= 1


def test_a_server_that_ignores_n_is_left_before_it_bills_everything(tmp_path):
    few = CallError(Outcome.INCOMPLETE, "`per_request=1`")
    model = Model(failing=["number"], error=few)
    with pytest.raises(CallError, match="per_request"):
        go(begin(tmp_path, samples=16), model)
    assert len(model.prompts) <= 3
