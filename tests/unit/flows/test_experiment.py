"""From a corpus to a report by one command: settings, kills, nothing paid twice."""

import json
import shutil
import subprocess
import sys
from importlib.resources import files

import polars as pl
import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.config import load_experiment
from novarag.config.experiment import EXPERIMENTS
from novarag.errors import DataError
from tests.support.chaos.serving import bill, chaos, kill_after

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
run = CliRunner().invoke


def write_world(folder, count=60):
    corpus = "".join(
        json.dumps(
            {"id": f"d{i}", "title": f"Cape{i}", "text": f"Lighthouse{i} was built by Builder{i}."}
        )
        + "\n"
        for i in range(count)
    )
    (folder / "corpus.jsonl").write_text(corpus, "utf-8")
    rows = "".join(
        json.dumps(
            {"id": f"q{i}", "question": f"Who built lighthouse{i}?", "answers": [f"Builder{i}"]}
        )
        + "\n"
        for i in range(count)
    )
    (folder / "questions.jsonl").write_text(rows, "utf-8")


def write_experiment(folder, server, out, *, corpus=True, more=""):
    path = folder / f"{out}.toml"
    path.write_text(
        f'out = "{folder / out}"\n[model]\nendpoints = ["{server}=chaos"]\nconcurrency = 8\n'
        f'[questions]\nfile = "{folder / "questions.jsonl"}"\n'
        + (f'[corpus]\nfiles = ["{folder / "corpus.jsonl"}"]\n' if corpus else "")
        + f'[ask]\nstrategies = ["vanilla", "cot"]\nshard_size = 20\n[measure]\nreplicates = 100\n{more}',
        "utf-8",
    )
    return path


def groups_of(folder):
    return [json.loads(line) for line in (folder / "groups.jsonl").read_text().splitlines()]


def test_from_a_corpus_to_a_report_and_nothing_twice(tmp_path, monkeypatch):
    write_world(tmp_path)
    with chaos() as server:
        told = write_experiment(tmp_path, server, "out")
        done = run(app, ["run", "experiment", str(told)])
        assert done.exit_code == 0, done.output
        paid = bill(server, "count")["served"]
        assert paid == 120
        before = {
            f: f.stat().st_mtime_ns
            for f in (tmp_path / "out").rglob("*")
            if "report" not in str(f) and f.is_file()
        }
        again = run(app, ["run", "experiment", str(told)])
        assert again.exit_code == 0, again.output
        assert "index is not needed" in again.output
        assert bill(server, "count")["served"] == paid
        after = {f: f.stat().st_mtime_ns for f in before}
        assert {f.name for f in before if before[f] != after[f]} <= {"owner"}
    out = tmp_path / "out"
    assert sorted(f.name for f in (out / "runs").iterdir()) == ["cot", "vanilla"]
    report = json.loads((out / "report" / "report.json").read_text())
    assert report["heading"]["notes"] == [
        "Passages: the best 5 by bm25, shuffled.",
        "An accepted answer stands in the passages of 60 of 60 questions (100.0 %).",
    ]
    groups = groups_of(out)
    assert len(groups) == 60
    assert all(len(g["passages"]) == len(g["order"]) for g in groups)
    found = [json.loads(line) for line in (out / "retrieved.jsonl").read_text().splitlines()]
    assert all(f["passages"][0]["source"] == f"d{i}" for i, f in enumerate(found))
    for shown, ranked in zip(groups, found, strict=True):
        assert shown["passages"] == [ranked["passages"][place] for place in shown["order"]]


def test_three_kills_change_nothing(tmp_path):
    write_world(tmp_path)
    with chaos(latency=0.05) as server:
        calm = run(app, ["run", "experiment", str(write_experiment(tmp_path, server, "calm"))])
        assert calm.exit_code == 0, calm.output
        paid = bill(server, "count")["served"]
        told = write_experiment(tmp_path, server, "killed")
        command = [sys.executable, "-m", "novarag", "run", "experiment", str(told)]
        for more in (5, 10, 10):
            kill_after(command, server, more)
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        again = bill(server, "count")["served"] - paid
    assert (tmp_path / "killed" / "groups.jsonl").read_bytes() == (
        tmp_path / "calm" / "groups.jsonl"
    ).read_bytes()
    assert paid <= again <= paid + 3 * 8  # what was in flight at a kill is asked again


def test_other_settings_are_refused_once_questions_are_asked(tmp_path):
    write_world(tmp_path)
    with chaos() as server:
        told = write_experiment(tmp_path, server, "out")
        assert run(app, ["run", "experiment", str(told)]).exit_code == 0
        told.write_text(told.read_text() + "[retrieve]\nk = 3\n")
        done = run(app, ["run", "experiment", str(told)])
        assert done.exit_code != 0
        assert "was begun with other questions, corpus or search" in str(done.exception)
        kept = groups_of(tmp_path / "out")
        assert max(len(group["passages"]) for group in kept) == 5


def test_other_settings_are_refused_whatever_strategies_are_named_now(tmp_path):
    write_world(tmp_path, count=12)
    with chaos() as server:
        told = write_experiment(tmp_path, server, "out")
        assert run(app, ["run", "experiment", str(told)]).exit_code == 0
        before = (tmp_path / "out" / "groups.jsonl").read_bytes()
        for change in ('strategies = ["nova"]', 'strategies = ["nova"]\nseed = 5'):
            text = told.read_text().replace('strategies = ["vanilla", "cot"]', change)
            told.write_text("seed = 9\n" + text + "[retrieve]\nk = 3\n", "utf-8")
            done = run(app, ["run", "experiment", str(told)])
            assert "begun with other" in str(done.exception)
            told = write_experiment(tmp_path, server, "out")
    assert (tmp_path / "out" / "groups.jsonl").read_bytes() == before


def test_a_changed_corpus_is_not_mixed_with_the_old(tmp_path):
    write_world(tmp_path, count=12)
    with chaos() as server:
        told = write_experiment(tmp_path, server, "out")
        assert run(app, ["run", "experiment", str(told)]).exit_code == 0
        shutil.rmtree(tmp_path / "out" / "runs")
        row = {"id": "new", "text": "Lighthouse0 was built by Somebody Else."}
        (tmp_path / "corpus.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        assert run(app, ["run", "experiment", str(told)]).exit_code == 0
    lines = (tmp_path / "out" / "retrieved.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    assert {p["source"] for row in found for p in row["passages"]} == {"new"}


def test_a_strategy_more_asks_only_that_one(tmp_path):
    write_world(tmp_path)
    with chaos() as server:
        told = write_experiment(tmp_path, server, "out")
        assert run(app, ["run", "experiment", str(told)]).exit_code == 0
        told.write_text(told.read_text().replace('"cot"]', '"cot", "nova"]'))
        done = run(app, ["run", "experiment", str(told)])
        assert done.exit_code == 0, done.output
        assert bill(server, "count")["served"] == 180
    report = json.loads((tmp_path / "out" / "report" / "report.json").read_text())
    assert report["heading"]["sources"] == ["vanilla", "cot", "nova"]


def test_a_retrieval_that_was_cut_short_is_made_anew(tmp_path):
    write_world(tmp_path)
    with chaos() as server:
        told = write_experiment(tmp_path, server, "out")
        assert run(app, ["run", "experiment", str(told)]).exit_code == 0
        file = tmp_path / "out" / "retrieved.jsonl"
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        done = run(app, ["run", "experiment", str(told)])
        assert done.exit_code == 0, done.output
        assert file.read_bytes() == whole
        assert bill(server, "count")["served"] == 120


OWN = """
def find(query, k):
    number = query.split("lighthouse")[1].rstrip("?")
    return [{"text": f"Lighthouse{number} was built by Builder{number}.", "id": number}]
"""


def test_a_search_of_ones_own_needs_no_corpus(tmp_path, monkeypatch):
    write_world(tmp_path)
    (tmp_path / "own_search.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    more = '[retrieve]\nobject = "own_search:find"\nshuffle = false\n'
    with chaos() as server:
        told = write_experiment(tmp_path, server, "out", corpus=False, more=more)
        done = run(app, ["run", "experiment", str(told)])
        assert done.exit_code == 0, done.output
    groups = groups_of(tmp_path / "out")
    assert groups[7]["group"] == "q7/own-k5"
    assert groups[7]["passages"][0]["source"] == "7"
    assert "order" not in groups[7]
    assert not list((tmp_path / "out").glob("index*"))


@pytest.mark.parametrize(
    ("more", "corpus", "said"),
    [
        ('[retrieve]\nmode = "dense"\n', True, "needs an encoder"),
        ('[retrieve]\nmode = "fuzzy"\n', True, "'fuzzy' is not one of"),
        ('[retrieve]\nobject = "a:b"\n', True, "drop it, or"),
        ('[retrieve]\nobject = "a:b"\nhttp = "http://x"\n', False, "keep one"),
        ("", False, "say where to search"),
        ('[index]\nanalyzer = "klingon"\n', True, "'klingon' is not one of"),
        ("[index]\nk1 = 9\n", True, "k1 in 0 to 3"),
        ("[retrieve]\nkk = 3\n", True, "did you mean 'k'"),
        ("[retrieve]\nk = 0\n", True, "must be 1 or more"),
    ],
)
def test_settings_are_checked_before_anything_is_done(tmp_path, more, corpus, said):
    write_world(tmp_path, count=2)
    told = write_experiment(tmp_path, "http://127.0.0.1:9", "out", corpus=corpus, more=more)
    done = run(app, ["run", "experiment", str(told)])
    assert said in str(done.exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('["vanilla", "cot"]', "[]"), "at least one strategy"),
        (('"cot"]', '"caught"]'), "'caught' is not one of"),
        (("replicates = 100", 'by = ["colour"]'), "'colour' is not one of"),
        (
            ("shard_size = 20", 'structured = true\nstrategies = ["cot-paper"]'),
            "'cot-paper' is not one of",
        ),
        (("corpus.jsonl", "corpse.jsonl"), "no such file"),
        (("questions.jsonl", "quests.jsonl"), "no such file"),
    ],
)
def test_names_are_checked_before_anything_is_done(tmp_path, change, said):
    write_world(tmp_path, count=2)
    told = write_experiment(tmp_path, "http://127.0.0.1:9", "out")
    text = told.read_text()
    if "strategies" in change[1]:
        text = text.replace('strategies = ["vanilla", "cot"]\n', "")
    told.write_text(text.replace(*change))
    done = run(app, ["run", "experiment", str(told)])
    assert said in str(done.exception)
    assert not (tmp_path / "out").exists()


def test_a_form_with_a_line_for_each_passage_needs_them_all(tmp_path):
    write_world(tmp_path, count=3)
    with chaos() as server:
        told = write_experiment(tmp_path, server, "out")
        told.write_text(
            told.read_text().replace('["vanilla", "cot"]', '["nova"]\nstructured = true')
        )
        done = run(app, ["run", "experiment", str(told)])
    assert "3 questions have fewer than 5 passages" in str(done.exception)
    assert not (tmp_path / "out" / "runs").exists()


def test_annotated_passages_tell_kinds_of_groups_apart(tmp_path):
    write_world(tmp_path)
    with chaos() as server:
        told = write_experiment(
            tmp_path, server, "out", more='by = ["strategy", "kind"]\n[annotate]\n'
        )
        for _ in range(2):
            done = run(app, ["run", "experiment", str(told)])
            assert done.exit_code == 0, done.output
        assert bill(server, "count")["served"] == 120
    out = tmp_path / "out"
    asked = pl.read_parquet(out / "runs" / "cot" / "trials" / "*.parquet")
    assert asked["kind"].drop_nulls().len() > 0
    assert (out / "annotation" / "report.html").is_file()


@pytest.mark.parametrize("preset", EXPERIMENTS)
def test_every_setting_of_a_preset_stands_beside_its_reason(preset):
    file = files("novarag").joinpath("presets", "experiment", f"{preset}.toml")
    lines = file.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if "=" in line and not line.startswith(("#", "title", "by")):
            beside = line.partition("#")[2] + "".join(lines[number - 3 : number])
            assert " L" in f" {beside}" or "ours" in beside.lower(), line


def test_presets_are_the_papers(tmp_path):
    (tmp_path / "my.toml").write_text(
        '[model]\nendpoints = ["http://x=m"]\n[questions]\nfile = "q"\n'
    )
    sparse = load_experiment("retrieval-bm25", tmp_path / "my.toml")
    dense = load_experiment("retrieval-dense", tmp_path / "my.toml")
    for told in (sparse, dense):
        assert (told.retrieve.k, told.retrieve.shuffle) == (5, True)
        assert told.ask.strategies == ("vanilla-paper", "cot-paper", "multi-step-paper")
        assert (told.ask.temperature, told.ask.max_tokens, told.ask.samples) == (0.0, 2048, 1)
    assert (sparse.retrieve.mode, sparse.index.encoder) == ("bm25", None)
    assert (dense.retrieve.mode, dense.index.encoder) == ("dense", "facebook/contriever")
    with pytest.raises(DataError, match="retrieval-bm25, retrieval-dense"):
        load_experiment("retrieval-bm2")
