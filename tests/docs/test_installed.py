"""The wheel as a user has it: alone in an environment, in an empty folder (`NOVARAG_COMMAND`)."""

import os
import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from tests.support.verbs import verbs
from validation.ten_minutes import follow, problems, shorten

ROOT = Path(__file__).parents[2]


def novarag(folder, *words):
    command = Path(os.environ["NOVARAG_COMMAND"]) / "novarag"
    told = {"PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "80"}
    done = subprocess.run(
        [command, *map(str, words)], cwd=folder, env=told, capture_output=True, text=True
    )
    assert done.returncode == 0, f"novarag {' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_what_is_installed_is_the_source():
    """At a desk this holds of itself; in CI the wheel is held against the source archive."""
    source, installed = ROOT / "src" / "novarag", files("novarag")
    named = [p.relative_to(source) for p in source.rglob("*") if p.is_file()]
    named = [name for name in named if "__pycache__" not in name.parts]
    assert {name.suffix for name in named} >= {".py", ".toml", ".json", ".txt", ".j2", ".css", ".js", ".pyi", ".typed"}  # fmt: skip
    for name in named:
        assert installed.joinpath(*name.parts).read_bytes() == (source / name).read_bytes(), name


@pytest.mark.install
@pytest.mark.parametrize("verb", list(verbs()), ids=" ".join)
def test_every_verb_has_help(verb, tmp_path):
    assert "Usage" in novarag(tmp_path, *verb, "--help")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.install
def test_every_public_name_is_there_without_an_extra():
    python = Path(os.environ["NOVARAG_COMMAND"]) / "python"
    code = "from novarag import *; print(measure.__module__, AuditExport.__module__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["novarag.flows.measure", "novarag.gateway.audit.retention"], (
        done.stderr
    )


@pytest.mark.install
def test_examples_are_written_and_can_be_used(tmp_path):
    for name in ("answers.csv", "pool.jsonl", "pipeline.toml", "gateway.toml"):
        assert f"wrote {name}" in novarag(tmp_path, "example", name)
    novarag(tmp_path, "measure", "answers.csv", "--by", "system", "--out", "report")
    assert (tmp_path / "report" / "report.html").stat().st_size > 10_000
    novarag(tmp_path, "train", "group", "pool.jsonl", "--no-audit", "--out", "groups.jsonl")
    assert (tmp_path / "groups.jsonl").stat().st_size > 10_000


@pytest.mark.install
def test_a_table_of_the_paper_is_made_on_simulated_respondents(tmp_path, data):
    models = ["--model", "simulated:base", "--tuned", "simulated:tuned"]
    where = ["--extent", "smoke", "--data", data, "--out", "out"]
    assert "1 table" in novarag(tmp_path, "paper", "reproduce", "reliability", *models, *where)
    assert "NOVA" in (tmp_path / "out" / "page.md").read_text("utf-8")


@pytest.mark.install
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_what_is_printed_leads_from_a_raw_table_to_a_live_answer(tmp_path):
    """The first ten minutes; the page of them has the same commands and says the same."""
    steps = follow(tmp_path, Path(os.environ["NOVARAG_COMMAND"]).resolve())
    assert problems(steps, tmp_path) == []
    page = (ROOT / "docs" / "evidence" / "ten-minutes.md").read_text("utf-8")
    kept = re.findall(r"^```text\n\$ (.*?)\n```$", page, re.MULTILINE | re.DOTALL)
    now = [shorten(step) for step in steps]
    masked = [[re.sub(r"[\d.,]+", "0", text) for text in told] for told in (kept, now)]
    assert masked[0] == masked[1]
