"""`novarag probe` at the command line."""

import json

import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.errors import UsageError
from tests.support.probed import against, modest, rows, serving, write_lines

FALLBACK = "simulated:tuned-without-parametric-fallback"


def call(*words):
    return CliRunner().invoke(app, ["probe", *map(str, words)])


@pytest.fixture
def groups(tmp_path):
    return write_lines(tmp_path / "groups.jsonl", rows(60))


def test_the_first_command(tmp_path, groups):
    done = call(groups, "--model", FALLBACK, "--out", tmp_path / "p")
    assert done.exit_code == 0, done.output
    assert "420 calls answered (420 asked now), 0 failed" in done.output
    assert "breaks: Less sure where no passage supports the answer" in done.output
    assert sorted(p.name for p in (tmp_path / "p").iterdir()) == [
        "probe.html", "probe.json", "replies",
    ]  # fmt: skip


def test_a_broken_relation_fails_a_build_that_asks_for_it(tmp_path, groups):
    words = [groups, "--model", FALLBACK, "--profile", "quick", "--out", tmp_path / "p"]
    report = tmp_path / "junit.xml"
    done = call(*words, "--fail-on", "breaks", "--junit", report, "--page", tmp_path / "x.html")
    assert done.exit_code == 3
    assert "<failure" in report.read_text("utf-8")
    assert (tmp_path / "x.html").is_file()
    honest = [groups, "--model", "simulated:tuned", "--profile", "quick", "--out", tmp_path / "q"]
    assert call(*honest, "--fail-on", "breaks").exit_code == 0


def test_a_dry_run_says_the_calls_of_each_profile(tmp_path, groups):
    done = call(groups, "-m", FALLBACK, "--out", tmp_path / "p", "--dry-run", "--price", "1:2")
    assert done.exit_code == 0
    counts = [
        line.split()[:3]
        for line in done.output.splitlines()
        if line[:4] in {"quic", "stan", "full"}
    ]
    assert counts == [["quick", "3", "180"], ["standard", "8", "480"], ["full", "20", "1,200"]]
    assert "contradiction: for 60 questions" in done.output
    assert not (tmp_path / "p").exists()


def test_a_budget_is_said_in_flags(tmp_path, groups):
    done = call(groups, "-m", FALLBACK, "--out", tmp_path / "p", "--refuse-above", 100)
    assert isinstance(done.exception, UsageError)
    assert "--questions 12, or --profile quick for 33" in str(done.exception)


def test_contradictions_from_a_file(tmp_path, groups):
    pool = write_lines(tmp_path / "pool.jsonl", against(60))
    done = call(groups, "-m", FALLBACK, "--contradictions", pool, "--out", tmp_path / "p")
    assert "480 calls answered" in done.output
    told = json.loads((tmp_path / "p" / "probe.json").read_text("utf-8"))
    assert "falls:contradiction" in {one["name"] for one in told["relations"]}


@pytest.mark.enable_socket
def test_an_application_by_its_address(tmp_path, groups):
    with serving(modest) as (url, asked):
        done = call(groups, "--app", url, "--profile", "quick", "--out", tmp_path / "p")
    assert done.exit_code == 0, done.output
    assert len(asked) == 180


def test_an_application_by_its_function(tmp_path, groups):
    out = tmp_path / "p"
    done = call(groups, "--app", "tests.support.probed:modest", "--profile", "quick", "--out", out)
    assert done.exit_code == 0, done.output
    for words in (["--app", "math:pi"], [], ["--app", "http://x/", "-m", FALLBACK]):
        assert isinstance(call(groups, *words, "--out", out).exception, UsageError)
