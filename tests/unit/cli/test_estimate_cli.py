"""`novarag run estimate`: many methods, each reply asked for once."""

import json
import sys

import polars as pl
import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.uncertainty import METHODS, union
from tests.support.chaos.serving import bill, chaos

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])
run = CliRunner().invoke


def write_groups(path, count):
    lines = [
        {
            "id": f"q{i}",
            "question": f"When was lighthouse {i} lit?",
            "answers": [str(1800 + i % 256)],
            "passages": [f"Lighthouse {i} was lit in {1800 + i % 256}.", "It rained.", "It blew."],
        }
        for i in range(count)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def server():
    with chaos() as url:
        yield url


def estimate(groups, server, out, *more):
    told = ["run", "estimate", str(groups), "--model", f"{server}=chaos", "--out", str(out)]
    return run(app, [*told, "--replicates", "100", *more])


def test_all_methods_take_no_more_calls_than_the_union_of_their_needs(tmp_path):
    groups = write_groups(tmp_path / "groups.jsonl", 200)
    with chaos() as url:
        result = estimate(groups, url, tmp_path / "out")
        billed, again = bill(url), estimate(groups, url, tmp_path / "out")
        after = bill(url)
    assert result.exit_code == 0, result.output
    table = pl.read_parquet(tmp_path / "out" / "estimates.parquet")
    assert table["method"].unique().sort().to_list() == sorted(METHODS)
    assert table.height == 200 * len(METHODS)
    needs = union(need for method in METHODS.values() for need in method.needs)
    unread = table.filter(method="verbal")["confidence"].null_count()
    assert 0 < unread < 20
    followed = sum(need.follow_up is not None for need in needs)
    assert billed["total"] == 200 * len(needs) - followed * unread
    assert set(billed["keys"].values()) == {1}
    assert again.exit_code == 0
    assert after["total"] == billed["total"]
    alone = sum(len(union(m.needs)) for m in METHODS.values())
    assert alone > len(needs)


def test_the_report_has_a_row_and_a_cost_for_every_method(server, tmp_path):
    groups = write_groups(tmp_path / "groups.jsonl", 60)
    result = estimate(
        groups, server, tmp_path / "out", "--method", "verbal", "--method", "ensemble"
    )
    assert result.exit_code == 0, result.output
    assert "took 120 calls" in result.output
    told = json.loads((tmp_path / "out/report/report.json").read_text())
    assert {p["name"] for p in told["groups"]} == {"ensemble", "verbal"}
    assert told["heading"]["costs"]["ensemble"]["calls"] == 60
    page = (tmp_path / "out/report/report.html").read_text()
    assert "Cost an answer" in page
    assert "1 call<small>" in page
    markdown = (tmp_path / "out/report/report.md").read_text()
    assert "calls an answer" in markdown


TOY = """
from novarag import Response
from novarag.uncertainty import Method, Need


def sure(samples):
    return Response(answer=samples[0].response.answer if samples[0].response else "?", confidence=1)


SURE = Method(name="sure", title="Sure", needs=(Need(),), of=sure, means="Always.")
"""


def test_a_method_from_outside_stands_in_the_table(server, tmp_path, monkeypatch):
    package = tmp_path / "estimate_toys"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sure.py").write_text(TOY)
    monkeypatch.syspath_prepend(str(tmp_path))
    groups = write_groups(tmp_path / "groups.jsonl", 60)
    named = ["--method", "verbal", "--method", "estimate_toys.sure:SURE"]
    result = estimate(groups, server, tmp_path / "out", *named)
    assert result.exit_code == 0, result.output
    assert "took 60 calls" in result.output  # the toy needs what verbal needs
    assert "| sure |" in (tmp_path / "out/report/report.md").read_text()
    sys.modules.pop("estimate_toys.sure", None)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--method", "verbel"], "verbal"),
        (["--method", "json:dumps"], "not a Method"),
        (["--method", "verbal", "--nli", "json:dumps"], "semantic-entropy"),
        (["--nli", "json:__name__"], "cannot be called"),
        (["--structured", "--strategy", "vanilla"], "groups of one size"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(server, tmp_path, more, said):
    groups = tmp_path / "groups.jsonl"
    lines = [{"question": f"Q{i}?", "answers": ["1"], "passages": ["p"] * (i + 1)} for i in (0, 1)]
    groups.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = bill(server, "count")["total"]
    result = estimate(groups, server, tmp_path / "out", *more)
    assert said in str(result.exception)
    assert bill(server, "count")["total"] == before


def test_requests_that_failed_are_left_out_and_counted(tmp_path):
    groups = write_groups(tmp_path / "groups.jsonl", 60)
    with chaos(faults={"500": 0.2}, seed=3) as url:
        told = ["--method", "verbal", "--attempts", "1"]
        result = estimate(groups, url, tmp_path / "out", *told)
    assert result.exit_code == 1
    table = pl.read_parquet(tmp_path / "out" / "estimates.parquet")
    assert 30 < table.height < 60
    said = f"Left out, as a request failed: verbal {60 - table.height} groups"
    assert said in result.output
    assert said in (tmp_path / "out/report/report.html").read_text()


def test_failed_requests_are_asked_again_and_followed_up(tmp_path):
    groups = write_groups(tmp_path / "groups.jsonl", 60)
    told = ["--method", "verbal", "--method", "p-true", "--attempts", "1"]
    with chaos(faults={"500": 0.2}, seed=3) as url:
        assert estimate(groups, url, tmp_path / "out", *told).exit_code == 1
        for _ in range(12):
            result = estimate(groups, url, tmp_path / "out", *told, "--retry-failed")
            if result.exit_code == 0:
                break
    assert result.exit_code == 0, result.output
    table = pl.read_parquet(tmp_path / "out" / "estimates.parquet")
    assert table.group_by("method").len().sort("method").rows() == [("p-true", 60), ("verbal", 60)]


def test_replies_that_are_there_are_not_asked_for_again(tmp_path):
    groups = write_groups(tmp_path / "groups.jsonl", 60)
    with chaos() as url:
        estimate(groups, url, tmp_path / "out", "--method", "likelihood")
        assert bill(url, "count")["total"] == 60
        assert estimate(groups, url, tmp_path / "out", "--method", "verbal").exit_code == 0
        assert bill(url, "count")["total"] == 60  # the reply with log-probabilities has it
        told = ["--strategy", "multi-step", "--method", "verbal", "--method", "multi-step"]
        assert estimate(groups, url, tmp_path / "steps", *told).exit_code == 0
        assert bill(url, "count")["total"] == 120  # one prompt, whoever names it
