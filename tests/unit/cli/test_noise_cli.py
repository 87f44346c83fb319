"""Noise, groups and audits, as their users meet them."""

import json
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.datasets import load_groups
from tests.support.chaos.serving import bill, chaos, kill_after

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
run = CliRunner().invoke


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    rows = (
        {
            "id": f"q{i}",
            "question": f"Who built lighthouse{i} of Cape{i}?",
            "answers": [f"Builder{i}"],
            "passages": [
                {
                    "text": f"Lighthouse{i} was built by Builder{i}, who came from far away to do it.",
                    "kind": "gold",
                    "provenance": "original",
                }
            ],
        }
        for i in range(40)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def server():
    with chaos() as url:
        yield url


def noise(questions, server, out, *more):
    return run(
        app, ["train", "noise", str(questions), "-m", f"{server}=chaos", "--out", str(out), *more]
    )


def test_noise_is_written_checked_and_counted(questions, server, tmp_path):
    out = tmp_path / "noise"
    first = noise(questions, server, out, "--shard-size", "15")
    assert first.exit_code == 0, first.output
    assert "160 of 160 requests answered" in first.output
    assert "counterfactual     200 passages:" in first.output
    assert "its claim is not in its text" in first.output
    table = pl.read_parquet(out / "passages" / "*.parquet")
    assert len(table) == 800
    assert set(table.filter(pl.col("kept"))["reason"]) == {None}
    assert table.filter(~pl.col("kept"))["reason"].null_count() == 0
    assert set(table["facet"].drop_nulls()) == {"entity", "relation", "theme"}
    most = table.filter(pl.col("kept")).group_by("question", "noise").len()["len"].max()
    assert most == 3
    before = bill(server, "count")["total"]
    again = noise(questions, server, out, "--shard-size", "15")
    assert again.exit_code == 0
    assert again.stdout.splitlines()[2:] == first.stdout.splitlines()[2:]
    assert f"next: novarag train group {out}" in again.stdout
    assert bill(server, "count")["total"] == before
    shown = run(app, ["run", "show", str(out), "--replies", "2"])
    assert "strategy   noise" in shown.output
    assert ": passages" in shown.output
    assert run(app, ["run", "recover", str(out)]).exit_code == 0


def test_a_dry_run_shows_the_prompts_of_one_question(questions, server, tmp_path):
    result = noise(
        questions,
        server,
        tmp_path / "no",
        "--dry-run",
        "--kind",
        "irrelevant",
        "--kind",
        "consistent",
    )
    assert result.exit_code == 0
    assert "--- 2 prompts for the first question" in result.output
    assert result.output.count("Question: Who built lighthouse0") == 2
    assert not (tmp_path / "no").exists()


def test_questions_without_answers_are_refused(server, tmp_path):
    path = tmp_path / "q.jsonl"
    for row, said in (
        ({"passages": []}, "noise is written around a known answer"),
        ({"answers": "x", "passages": []}, "there is no gold passage"),
        ({"answers": "x", "passages": ["a", "b"]}, "none is marked as gold"),
    ):
        path.write_text(json.dumps({"question": "Who?", **row}) + "\n", "utf-8")
        result = noise(path, server, tmp_path / "no")
        assert said in str(result.exception)
        assert not (tmp_path / "no").exists()


def test_noise_groups_and_audit(questions, server, tmp_path):
    out, groups = tmp_path / "noise", tmp_path / "deep" / "groups.jsonl"
    assert noise(questions, server, out).exit_code == 0
    built = run(app, ["train", "group", str(out), "--out", str(groups), "--no-audit"])
    assert built.exit_code == 0, built.output
    assert (
        "120 groups of 40 questions: 40 consistent, 40 counterfactual, 40 irrelevant"
        in built.output
    )
    read = load_groups(groups)
    assert [len(g.passages) for g in read] == [3] * 120
    assert all(g.order is not None for g in read)
    first = groups.read_bytes()
    run(app, ["train", "group", str(out), "--out", str(groups), "--no-audit"])
    assert groups.read_bytes() == first
    one = run(app, ["train", "group", str(out), "--out", str(groups), "--one-each", "--no-audit"])
    assert (
        "40 groups of 40 questions: 13 consistent, 14 counterfactual, 13 irrelevant" in one.output
    )


@pytest.mark.parametrize("mix", ["gold-only", "gold+relevant", "irrelevant-only"])
def test_named_mixes_from_a_file(mix, tmp_path):
    pool, out = tmp_path / "pool.jsonl", tmp_path / "groups.jsonl"
    kinds = ["gold", "relevant", "relevant", "irrelevant"]
    rows = [
        {
            "id": str(i),
            "question": "Q?",
            "answers": ["a1b2"],
            "passages": [
                {"text": f"a1b2 {k} {j}" if k == "gold" else f"{k} {j}", "kind": k}
                for j, k in enumerate(kinds)
            ],
        }
        for i in range(2)
    ]
    pool.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    result = run(app, ["train", "group", str(pool), "--out", str(out), "--mix", mix])
    if mix == "irrelevant-only":
        assert "2 questions: 1 irrelevant passages, 3 are needed" in str(result.exception)
    else:
        assert "2 groups of 2 questions: 2 consistent" in result.output
        assert load_groups(out)[0].id == f"0/{mix}-k3"


def test_what_cannot_be_is_refused(tmp_path):
    pool = tmp_path / "pool.jsonl"
    pool.write_text('{"question": "Q?", "passages": []}\n', "utf-8")
    for more, said in (
        (["--out", "x.csv"], "must end in .jsonl"),
        (["--out", "x.jsonl", "--mix", "gold-only", "--one-each"], "belongs to"),
        (["--out", "x.jsonl", "--mix", "gold-first"], "gold-first"),
    ):
        assert said in str(run(app, ["train", "group", str(pool), *more]).exception)


def test_an_audit_fails_with_the_cue_and_examples(tmp_path):
    path = tmp_path / "groups.jsonl"
    rows = []
    for i in range(30):
        rows += [
            {
                "group": f"{i}a",
                "id": str(i),
                "question": "Q?",
                "passages": [
                    {"text": f"Old  text  {i} .", "kind": "gold"},
                    {"text": f"new {i}", "kind": "counterfactual"},
                ],
            },
            {
                "group": f"{i}b",
                "id": str(i),
                "question": "Q?",
                "passages": [
                    {"text": f"one {i}", "kind": "relevant"},
                    {"text": f"two {i}", "kind": "relevant"},
                ],
            },
        ]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    result = run(app, ["train", "audit", str(path)])
    assert result.exit_code == 1
    assert "shortcut: typography tells the counterfactual group by" in result.output
    assert "such as" in result.output
    told = json.loads(run(app, ["train", "audit", str(path), "--json"]).output)
    assert told["margin"] == 0.05
    assert {f["cue"] for f in told["findings"]} >= {"position", "words"}


def test_noise_survives_kills(questions, tmp_path):
    with chaos(latency=0.05) as server:
        calm = tmp_path / "calm"
        assert noise(questions, server, calm).exit_code == 0
        out = tmp_path / "killed"
        command = [
            sys.executable,
            "-m",
            "novarag",
            "train",
            "noise",
            str(questions),
            "-m",
            f"{server}=chaos",
            "--out",
            str(out),
            "--concurrency",
            "4",
        ]
        for _ in range(3):
            kill_after(command, server, 5)
        assert noise(questions, server, out).exit_code == 0
        for name in ("passages", "pool"):
            assert (out / name / "00000.parquet").read_bytes() == (
                calm / name / "00000.parquet"
            ).read_bytes()
