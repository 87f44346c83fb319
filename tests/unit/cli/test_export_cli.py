"""`novarag train export` as its users meet it."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.errors import UnknownNameError, UsageError
from novarag.strategies import Strategy, Template
from tests.support.filtered_folder import contents, make_group, make_row, make_rows, write_filtered

run = CliRunner().invoke


@pytest.fixture
def filtered(tmp_path):
    return write_filtered(tmp_path / "filtered", make_rows())


def export(filtered, out, *more):
    return run(app, ["train", "export", str(filtered), "--out", str(out), *more])


def test_export_says_what_it_wrote_and_what_it_did_not_check(filtered, tmp_path):
    result = export(filtered, tmp_path / "out", "--dev", "0.5")
    assert result.exit_code == 0, result.output
    assert "lengths were not checked" in result.stderr
    card = json.loads((tmp_path / "out" / "card.json").read_bytes())
    for row in card["examples"]:
        assert f" {row['examples']} examples of {row['questions']} questions" in result.stdout
    assert f"wrote {tmp_path / 'out'}: canonical, llama-factory, openai" in result.stdout


def test_one_format_and_two_runs_give_the_same_bytes(filtered, tmp_path):
    for name in ("one", "two"):
        told = ("--format", "openai", "--label-only", "--dev", "0")
        assert export(filtered, tmp_path / name, *told).exit_code == 0
    one, two = contents(tmp_path / "one"), contents(tmp_path / "two")
    assert set(one) == {"README.md", "card.json", "openai/train.jsonl", "rejected.jsonl"}
    assert one == two
    assert not one["README.md"].startswith(b"---")


def test_rejected_are_counted_on_the_screen(tmp_path):
    rows = make_rows(1)
    rows[0]["answer"] = "<think>"
    result = export(write_filtered(tmp_path / "f", rows), tmp_path / "out", "--label-only")
    assert "rejected                     1: the answer cannot be read back" in result.stdout


def test_a_dev_share_too_small_is_said(tmp_path):
    filtered = write_filtered(tmp_path / "f", make_rows(1))
    result = export(filtered, tmp_path / "out", "--dev", "0.000001")
    assert "no question fell to the dev split" in result.stderr


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (["--format", "csv"], UnknownNameError, "canonical"),
        (["--max-length", "100"], UsageError, "needs --tokenizer"),
        (["--source", "third"], UsageError, "small/model"),
        (["--dev", "2"], UsageError, "below 1"),
        (["--strategy", "no.such:THING"], UsageError, "cannot be imported"),
    ],
)
def test_impossible_wishes_are_refused(filtered, tmp_path, words, error, said):
    result = export(filtered, tmp_path / "out", *words)
    assert isinstance(result.exception, error)
    assert said in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_a_strategy_of_ones_own_is_imported_only_when_named(tmp_path, monkeypatch):
    (tmp_path / "own_strategy.py").write_text(
        "from novarag.strategies import Strategy, Template\n"
        "MINE = Strategy(name='mine', template=Template('Question: {question}\\n'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    mine = Strategy(name="mine", template=Template("Question: {question}\n"))
    group = make_group("q0", "consistent")
    row = make_row(group) | {"strategy": "mine", "prompt_hash": mine.render(group).hash}
    filtered = write_filtered(tmp_path / "f", [row])
    assert "--strategy" in str(export(filtered, tmp_path / "out").exception)
    named = export(filtered, tmp_path / "out", "--strategy", "own_strategy:MINE")
    assert named.exit_code == 0, named.output


KILLED = """
import os, sys
from pathlib import Path
import novarag.sft.exporting as e
real, left = e.write_file, [int(sys.argv[3])]
def write(*given):
    left[0] -= 1
    if left[0] < 0:
        os._exit(9)
    return real(*given)
e.write_file = write
from novarag.cli import app
app(["train", "export", sys.argv[1], "--out", sys.argv[2], "--dev", "0.5"])
"""


@pytest.mark.parametrize("files", [0, 1, 5, 9])
def test_a_kill_leaves_no_half_export(filtered, tmp_path, files):
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED, str(filtered), str(out)]
    done = subprocess.run([*command, str(files)], capture_output=True, text=True)
    assert done.returncode == 9, done.stderr
    assert not out.exists()
    assert export(filtered, out, "--dev", "0.5").exit_code == 0
    whole = contents(out)
    subprocess.run([*command, str(files)], check=False, capture_output=True)
    assert contents(out) == whole
    assert export(filtered, out, "--dev", "0.5").exit_code == 0
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
