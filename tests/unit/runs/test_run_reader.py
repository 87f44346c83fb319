"""`Run`: what it says of a run, and that it believes no table that is not what was written."""

import asyncio
import io
from dataclasses import asdict, replace

import polars as pl
import pytest

from novarag import CallError, Outcome, StorageError, UsageError
from novarag.calls import Attempt, Cost, Reply, Usage
from novarag.checksums import checksum, file_checksum
from novarag.records import Completion, Passage, PassageGroup, Question
from novarag.rows import TRIALS, to_row
from novarag.runs import (
    Job,
    ProgressBoard,
    Settings,
    drive,
    open_run,
    open_store,
    plan,
    settle,
    summarize,
)
from novarag.runs.finished import DamagedMarker, exchange_trials, shard_name, table_name
from novarag.runs.manifest import groups_name
from novarag.sealed_json import parse_files, seal, seal_files, unseal, unseal_files
from novarag.strategies import NOVA
from novarag.taxonomy import PassageKind
from novarag.trials import make_trial

GROUPS = [
    PassageGroup(
        id=f"g{i}",
        question=Question(id=f"q{i}", text=f"When was light {i} lit?", answers=("1871",)),
        passages=(
            Passage(text=f"Light {i} was lit in 1871.", kind=PassageKind.GOLD),
            Passage(text=f"Bread {i} rises.", kind=PassageKind.IRRELEVANT),
        ),
    )
    for i in range(10)
]
TEXT = "Passage Classifications: HR, I\nGroup Judgment: Consistent\nAnswer: 1871\nConfidence: {}%"


class Model:
    """Answers right at even lights, wrong at odd ones, nothing readable at the last."""

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def complete(self, prompt, sampling, *, key, tell):
        attempt = Attempt(id=key, endpoint="here")
        tell(attempt)
        number = next(i for i in range(10) if f"light {i} lit" in prompt)
        if number == 7:
            tell(replace(attempt, outcome=Outcome.REFUSED, detail="no"))
            raise CallError(Outcome.REFUSED, "no")
        text = "dunno" if number == 9 else TEXT.format(10 * number)
        came = Completion(text=text.replace("1871", "1872") if number % 2 else text, model="m")
        return Reply(
            completions=(came,) * sampling.n, usage=Usage(prompt=5, completion=2), attempt=key
        )


@pytest.fixture
def place(tmp_path):
    store = open_store(tmp_path / "run")
    settings = Settings(
        strategy="nova", template_hash=NOVA.template.hash, model="m", samples=2, shard_size=4
    )
    job = Job(store=store, manifest=plan(store, lambda: GROUPS, settings), strategy=NOVA)
    asyncio.run(drive(job, Model, board=ProgressBoard(), stop=asyncio.Event()))
    return tmp_path / "run"


def test_what_a_run_says_of_itself(place):
    run = open_run(str(place))
    assert (run.place, run.name) == (str(place), "run")
    assert run.settings.model == "m"
    assert (run.finished, run.missing, run.is_finished) == ((0, 1, 2), 0, True)
    assert run.dead == 1
    assert run.dead_table["question"].to_list() == ["q7"]
    assert (run.counts["trials"], run.counts["unread"]) == (18, 2)
    assert run.counts_of(2)["trials"] == 4
    assert run.cost == Cost(calls=9, prompt_tokens=45, completion_tokens=18)
    assert list(run.groups()) == GROUPS
    assert list(run.groups(1)) == GROUPS[4:8]
    assert run.groups_table(2)["group"].to_list() == ["g8", "g9"]


def test_a_run_shows_itself_in_three_lines(place):
    shown = repr(open_run(place)).splitlines()
    assert shown[0] == f"Run({str(place)!r}: m, nova"
    assert shown[1] == "  10 groups of 10 questions in 3 shards"
    assert shown[2] == ("  18 trials, 2 unread, 10 right; 0 shards missing, 1 requests given up)")


def test_a_run_that_is_damaged_or_cut_off_shows_itself_too(place):
    (place / shard_name(1)).unlink()
    assert "1 shards missing" in repr(open_run(place))
    (place / shard_name(0)).write_bytes(b"{}")
    assert "not readable: " in repr(open_run(place))


def test_trials_come_as_a_table_or_as_records(place):
    run = open_run(place)
    table = run.trials_table()
    assert list(table.columns) == list(TRIALS)
    assert table.height == 18
    chosen = run.trials_table(["sample", "group"])
    assert chosen.equals(table.select("sample", "group"))
    trials = list(run.trials())
    assert [to_row(t)[:18] for t in trials] == table.select(list(TRIALS)[:18]).rows()
    first = trials[0]
    assert first == make_trial(GROUPS[0], NOVA, 0, first.completion)
    assert [t.group.id for t in run.trials(2)] == ["g8", "g8", "g9", "g9"]
    assert [t.sample for t in run.trials(groups=["g3", "g8"])] == [0, 1, 0, 1]
    hidden = list(run.trials(graded=False))
    assert hidden == [replace(t, grade=None) for t in trials]
    assert {t.grade for t in hidden} == {None}


def test_a_run_that_was_only_planned(tmp_path):
    store = open_store(tmp_path / "begun")
    settings = Settings(strategy="nova", template_hash=NOVA.template.hash, model="m", shard_size=4)
    plan(store, lambda: GROUPS, settings)
    run = open_run(store)
    assert (run.finished, run.missing, run.is_finished, run.dead) == ((), 3, False, 0)
    assert list(run.trials()) == []
    assert dict(run.trials_table().schema) == TRIALS
    assert run.trials_table(["flaw"]).columns == ["flaw"]
    assert list(run.groups()) == GROUPS
    with pytest.raises(UsageError, match=r"shard 1 of .* is not finished"):
        run.table(1)


@pytest.mark.parametrize("kind", ["trials", "dead", "attempts"])
def test_a_table_is_believed_only_where_its_marker_vouches_for_it(place, kind):
    path = place / table_name(kind, 1)
    whole = path.read_bytes()
    open_run(place).table(1, kind=kind)
    swapped = (place / table_name(kind, 0)).read_bytes()
    rewritten = io.BytesIO()
    pl.read_parquet(path).write_parquet(rewritten, compression="snappy")
    flipped = whole[:40] + bytes([whole[40] ^ 4]) + whole[41:]
    for content in (flipped, whole[:-1], whole + b"x", swapped, rewritten.getvalue(), b""):
        path.write_bytes(content)
        with pytest.raises(StorageError, match=rf"{kind}/00001.parquet is damaged; run `rec"):
            open_run(place).table(1, kind=kind)
    path.unlink()
    with pytest.raises(StorageError, match="is missing; run `recover"):
        open_run(place).table(1, kind=kind)


def test_a_marker_that_is_damaged_swapped_or_old_is_not_taken_for_an_unfinished_shard(place):
    path = place / shard_name(1)
    whole = path.read_bytes()
    old = unseal(whole)
    old["files"] = {name: known["sha256"] for name, known in old["files"].items()}
    other = unseal(whole) | {"run": "another"}
    swapped = (place / shard_name(0)).read_bytes()
    for content in (whole[:-2], b"", swapped, seal(old), seal(other)):
        path.write_bytes(content)
        with pytest.raises(DamagedMarker, match=r"`recover\("):
            open_run(place).finished  # noqa: B018 - reading it is what is refused
        with pytest.raises(StorageError, match=r"`recover\("):
            summarize(place, NOVA)
    job = Job(store=open_store(place), manifest=open_run(place).manifest, strategy=NOVA)
    assert asyncio.run(settle(job))[1].finished
    assert open_run(place).is_finished


def test_a_groups_file_is_believed_only_as_it_was_planned(place):
    path = place / groups_name(1)
    path.write_bytes((place / groups_name(0)).read_bytes())
    run = open_run(place)
    for read in (
        lambda: list(run.groups()),
        lambda: run.groups_table(1),
        lambda: list(run.trials()),
    ):
        with pytest.raises(StorageError, match=r"groups/00001.parquet is damaged or missing; run"):
            read()


def cut_short(place, *, new_table):
    """Exchange a shard's trials as far as a kill left it; return the old and the new table."""
    store, run = open_store(place), open_run(place)
    name = table_name("trials", 0)
    old, marker = store.read(name), unseal(store.read(shard_name(0)))
    new = run.table(0).with_columns(confidence=pl.lit(0.5), flaw=pl.lit("no answer found"))
    exchange_trials(store, 0, run.manifest.run, new)
    before = {"file": marker["files"][name], "counts": marker["counts"]}
    store.write(shard_name(0), seal(unseal(store.read(shard_name(0))) | {"before": before}))
    if not new_table:
        store.write(name, old)
    return run.counts_of(0)["unread"]


@pytest.mark.parametrize("new_table", [True, False])
def test_an_exchange_that_was_cut_short_is_read_as_the_table_that_is_there(place, new_table):
    unread = cut_short(place, new_table=new_table)
    run = open_run(place)
    assert run.counts_of(0)["unread"] == (8 if new_table else unread)
    assert (run.table(0)["confidence"] == 0.5).all() is new_table
    (place / table_name("trials", 0)).write_bytes(b"neither")
    with pytest.raises(StorageError, match="recover"):
        open_run(place).table(0)


def test_a_table_exchanged_between_two_reads_is_no_damage(place):
    run = open_run(place)
    new = run.table(0).with_columns(confidence=pl.lit(0.5))
    real = run.store.read
    left = [1]

    def read(name):
        content = real(name)
        if name == shard_name(0) and left[0]:
            left[0] -= 1
            exchange_trials(open_store(place), 0, run.manifest.run, new)
        return content

    run.store.read = read
    assert run.table(0).equals(new)


def test_checksums_by_piece_and_whole_are_the_same(tmp_path):
    content = bytes(range(256)) * 9000
    (tmp_path / "f").write_bytes(content)
    known = file_checksum(tmp_path / "f")
    assert known == checksum(content)
    assert known.vouches_for(content)
    assert not known.vouches_for(content[:-1])
    files = {"f": known}
    assert unseal_files(seal_files(files, note="x")) == files
    assert unseal_files(seal_files(files)[1:]) is None
    assert unseal_files(seal({"files": {"f": "an old hash"}})) is None
    assert parse_files({"f": asdict(known)}) == files
    assert parse_files(None) is None
