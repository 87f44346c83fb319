"""`compare`: tables, runs and probes of both sides, given or as a commit of git has them."""

import asyncio
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

import novarag
from novarag.answers.opening.columns import Columns
from novarag.errors import DataError, UsageError
from novarag.flows.committed import checkout
from novarag.flows.events import FileWritten, TableRead
from novarag.stats.budgets import BudgetStanding
from tests.support.changes import answers, commit, git, repository, write_table
from tests.support.probed import boaster, modest, rows

QUICK = {"replicates": 100}


def compare(*given, **more):
    return novarag.compare(*given, **{**QUICK, **more})


def test_frames_files_and_rows_are_the_same_answers(tmp_path):
    new, old = answers(boast=0.8), answers()
    found = compare(new, old)
    assert found.broken == ("brier",)
    assert found.fails
    files = [write_table(tmp_path / name, t) for name, t in (("new.csv", new), ("old.csv", old))]
    told = []
    again = compare([files[0]], str(files[1]), out=tmp_path / "out", on_event=told.append)
    assert again.budgets == found.budgets
    assert (again.new, again.old) == (("new.csv",), ("old.csv",))
    assert compare(new.to_dicts(), old.to_dicts()).budgets == found.budgets
    assert [type(event) for event in told] == [TableRead] * 2 + [FileWritten] * 3
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["comment.md", "compare.json", "junit.xml"]
    assert json.loads((tmp_path / "out/compare.json").read_text())["broken"] == ["brier"]


def test_in_a_running_loop_and_from_a_thread():
    async def notebook():
        return compare(answers(100), answers(100))

    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(asyncio.run, notebook()).result()
    assert found.broken == ()


def test_columns_by_and_strict_reach_what_they_name():
    new = answers(boast=0.8).rename({"question": "id"})
    old = answers().rename({"question": "id"})
    found = compare(new, old, columns=Columns(question="id"), by="state", budgets={"ece": 0.05})
    assert {one.group for one in found.budgets} == {None, "conflicting", "consistent"}
    small = compare(answers(60, boast=0.2), answers(60), strict=True)
    assert small.fails
    assert not small.broken
    assert not compare(answers(60, boast=0.2), answers(60)).fails


def test_raw_replies_are_read(tmp_path):
    replies = answers(100).select(
        "question", "correct", reply=pl.format("Answer: x\nConfidence: {}", "confidence")
    )
    place = tmp_path / "replies.jsonl"
    replies.write_ndjson(place)
    how = {"columns": Columns(reply="reply", scale="unit"), "reader": "vanilla"}
    assert (
        compare(place, place, **how).budgets[0].old
        == compare(answers(100), answers(100)).budgets[0].old
    )


def test_answers_that_name_no_question_cannot_be_paired(tmp_path):
    bare = answers().drop("question")
    files = [write_table(tmp_path / name, bare) for name in ("a.csv", "b.csv")]
    for given in (files, (bare.to_dicts(), bare.to_dicts())):
        with pytest.raises(UsageError, match="answers are paired by their question"):
            compare(*given)
    numbered = answers().with_columns(question=pl.int_range(300))
    assert not compare(numbered, numbered).fails


def test_what_is_missing_is_said():
    with pytest.raises(UsageError, match="as `old`, or the commit that has them as `commit`"):
        compare(answers())
    with pytest.raises(UsageError, match="as `old`, or the commit that has them as `commit`"):
        compare(answers(), answers(), commit="main")
    with pytest.raises(UsageError, match="`commit` is for files and folders"):
        compare(answers(), commit="main")
    with pytest.raises(UsageError, match="graded answers of both sides, or of none"):
        compare(answers(), [])
    with pytest.raises(UsageError, match="nothing to compare"):
        compare([], [])
    with pytest.raises(UsageError, match="by how much it may get worse"):
        compare(answers(), answers(), budgets={"brier": -1})


@pytest.fixture(scope="module")
def probes(tmp_path_factory):
    """Probes of one application that minds its passages, and of one that always is 95 % sure."""
    home = tmp_path_factory.mktemp("probes")
    for name, app in (("modest", modest), ("boaster", boaster)):
        novarag.probe(rows(60), app=answer_by(app), profile="quick", out=home / name)
    return home


def answer_by(rule):
    return lambda question, passages: rule(question, passages)


def test_a_relation_that_a_change_breaks(probes):
    found = compare(probes / "boaster", probes / "modest")
    assert found.fails
    assert "falls:lost-support" in found.broken
    assert (found.budgets, found.paired) == ((), None)
    back = compare(probes / "modest" / "probe.json", str(probes / "boaster"))
    assert back.broken == ()
    assert not compare(probes / "boaster", probes / "boaster").broken  # it was so before


def test_one_probe_of_each_side(probes):
    with pytest.raises(UsageError, match="a probe of both sides, or of none"):
        compare(probes / "boaster", answers())
    with pytest.raises(UsageError, match="one probe of each side"):
        compare([probes / "boaster", probes / "modest"], probes / "modest")


def test_tables_and_probes_in_one_list(probes, tmp_path):
    old, new = (
        write_table(tmp_path / f"{boast}.csv", answers(boast=boast)) for boast in (0.0, 0.8)
    )
    found = compare([new, probes / "boaster"], [old, probes / "modest"])
    assert {"brier", "falls:lost-support"} <= set(found.broken)
    assert found.new == ("0.8.csv", "boaster")
    with new.open("rb") as file:
        assert compare([file, probes / "boaster"], [old, probes / "modest"]).new[0] == "a table"


def test_probes_that_were_asked_otherwise_are_noted(probes, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(probes / "modest", other)
    card = json.loads((other / "probe.json").read_text())
    card["heading"]["seed"] = 7
    card["heading"]["system"] = "simulated:base"
    (other / "probe.json").write_text(json.dumps(card))
    found = compare(other, probes / "modest")
    assert found.notes[0] == "The probes differ in seed, not in the system alone."
    assert "simulated respondent" in found.notes[1]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", '{"relations": 1}', '{"relations": [{"name": [], "verdict": "holds"}]}',
     '{"relations": [{"name": "agreement", "verdict": "fine"}], "heading": {}}'],
)  # fmt: skip
def test_a_file_that_is_no_card_is_refused(tmp_path, content):
    (tmp_path / "probe.json").write_text(content)
    with pytest.raises(DataError, match="it is no card of a probe"):
        compare(tmp_path, tmp_path)


def test_a_card_with_other_relations_is_refused(probes, tmp_path):
    card = json.loads((probes / "modest" / "probe.json").read_text())
    card["relations"][0]["name"] = "from-tomorrow"
    (tmp_path / "probe.json").write_text(json.dumps(card))
    with pytest.raises(DataError, match="relations that are not known: from-tomorrow"):
        compare(tmp_path, tmp_path)


@pytest.fixture
def home(tmp_path, monkeypatch):
    made = repository(tmp_path / "project")
    write_table(made / "data" / "answers.csv", answers())
    commit(made, "main")
    git(made, "switch", "-qc", "change")
    monkeypatch.chdir(made)
    return made


def test_a_file_against_a_commit(home):
    write_table(home / "data" / "answers.csv", answers(boast=0.8))
    found = compare("data/answers.csv", commit="main")
    assert found.broken == ("brier",)
    assert found.old == ("main:answers.csv",)
    commit(home)
    assert compare("data/answers.csv", commit="HEAD").broken == ()
    assert compare("data/answers.csv", commit="HEAD~1").broken == ("brier",)
    assert compare("data", commit="main").broken == ("brier",)  # a folder of tables
    assert git(home, "status", "--porcelain") == ""
    assert git(home, "worktree", "list").count("\n") == 0


def test_a_commit_that_has_no_such_file_leaves_all_open(home):
    write_table(home / "more.csv", answers())
    found = compare("more.csv", commit="main")
    assert {one.held for one in found.budgets} == {BudgetStanding.CANNOT_TELL}
    assert found.budgets[0].why == "there are no answers before the change"
    assert not found.fails
    assert compare("more.csv", commit="main", strict=True).fails
    with pytest.raises(UsageError, match=r"there is no .*never\.csv"):
        compare("never.csv", commit="main")


def test_probes_against_a_commit(home, probes):
    shutil.copytree(probes / "modest", home / "card")
    first = compare("card", commit="main")
    assert first.notes == ("There is no probe before the change.",)
    assert not first.broken
    commit(home)
    shutil.copy(probes / "boaster" / "probe.json", home / "card" / "probe.json")
    assert "falls:lost-support" in compare("card", commit="HEAD").broken


@pytest.mark.parametrize("base", ["nowhere", "--upload-pack=touch x", "", "HEAD:data", "-h"])
def test_what_is_no_commit_is_refused_in_a_line(home, base):
    with pytest.raises(UsageError, match="`commit` cannot be looked at: fatal"):
        compare("data/answers.csv", commit=commit)


def test_outside_of_a_repository_and_without_git(tmp_path, monkeypatch, home):
    lost = write_table(tmp_path / "answers.csv", answers())
    with pytest.raises(UsageError, match="not a git repository"):
        compare(lost, commit="main")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="there is no git here"):
        compare("data/answers.csv", commit="main")


def test_names_of_files_are_taken_as_they_are(home, tmp_path):
    odd = ["a*b.csv", ":(top)x.csv", "-x.csv", "ü \n.csv", 'q"t.csv']
    for name in odd:
        (home / "data" / name).write_text(name, "utf-8")
    (home / "data" / "link").symlink_to("answers.csv")
    commit(home)
    for number, name in enumerate(odd):
        found = checkout(home / "data" / name, "HEAD", tmp_path / str(number))
        assert found.read_text("utf-8") == name
    assert checkout(home / "data" / "link", "HEAD", tmp_path / "link") is None
    assert checkout(home / "data" / "*", "HEAD", tmp_path / "star") is None


def test_inside_a_hook_of_git(home, monkeypatch):
    """git sets where its own files are, seen from the top of the tree."""
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    monkeypatch.chdir(home / "data")
    assert compare("answers.csv", commit="main").broken == ()


def test_files_go_through_the_filters_of_a_checkout(home, tmp_path):
    """As with large files that stand in another store, and of which git has a note alone."""
    git(home, "config", "filter.upper.smudge", "tr a-z A-Z")
    (home / ".gitattributes").write_text("*.txt filter=upper\n")
    (home / "x.txt").write_text("abc")
    commit(home)
    assert checkout(home / "x.txt", "HEAD", tmp_path / "out").read_text() == "ABC"
