"""A run killed in one door goes on through the other, and ends as if nothing had happened."""

import subprocess
import sys

import polars as pl
import pytest

from novarag import open_run
from tests.support.chaos.serving import bill, chaos, kill_after

pytestmark = pytest.mark.enable_socket

GROUPS = 250  # two samples each, one a request: 500 requests
ROW = '{{"id": "q{0}", "question": "Which year is {0}?", "answers": ["{0}"], "passages": ["It is {0}."]}}\n'
PYTHON = (
    "import sys, novarag\n"
    "novarag.ask(sys.argv[1], 'vanilla', sys.argv[2], out=sys.argv[3], per_request=1,\n"
    "            sampling=novarag.Sampling(n=2, temperature=1.0, seed=3), shard_size=100)\n"
)


def from_python(groups, model, out):
    return [sys.executable, "-c", PYTHON, groups, model, out]


def from_the_shell(groups, model, out):
    more = ["-s", "vanilla", "-n", "2", "--per-request", "1", "--seed", "3", "--shard-size", "100"]
    words = ["ask", groups, "--model", model, "--out", out, *more]
    return [sys.executable, "-m", "novarag", *words]


def table(place):
    return open_run(place).trials_table().sort("group", "sample")


@pytest.mark.parametrize(
    ("first", "second"), [(from_python, from_the_shell), (from_the_shell, from_python)]
)
def test_a_run_of_500_requests_goes_on_through_the_other_door(tmp_path, first, second):
    groups = tmp_path / "groups.jsonl"
    groups.write_text("".join(ROW.format(1000 + i) for i in range(GROUPS)), "utf-8")
    with chaos(latency=0.02) as url:
        model, out, whole = f"{url}=chaos", str(tmp_path / "cut"), str(tmp_path / "whole")
        kill_after(first(str(groups), model, out), url, 120)
        paid = bill(url, "count")["total"]
        assert 120 <= paid < 500
        done = subprocess.run(
            second(str(groups), model, out), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        subprocess.run(
            second(str(groups), model, whole), capture_output=True, text=True, check=True
        )
    found, expected = table(out), table(whole)
    assert found.height == 500
    assert found.equals(expected)
    assert isinstance(found, pl.DataFrame)


def test_a_framed_run_that_was_killed_repays_only_what_was_in_flight(tmp_path):
    groups = tmp_path / "groups.jsonl"
    groups.write_text("".join(ROW.format(1000 + i) for i in range(GROUPS)), "utf-8")
    with chaos(latency=0.02) as url:
        command = [*from_the_shell(str(groups), f"{url}=chaos", str(tmp_path / "cut")), "--frame"]
        kill_after([*command, "--concurrency", "16"], url, 120)
        subprocess.run(command, capture_output=True, text=True, check=True)
        paid = bill(url, "count")["total"]
    found = table(tmp_path / "cut")
    assert found.height == 500
    assert 500 <= paid <= 500 + 16
    assert (found["confidence"].is_not_null()).mean() > 0.9, "replies carry the frame asked for"


def test_the_frames_of_a_run_outlive_its_manifest(tmp_path):
    groups, out = tmp_path / "groups.jsonl", tmp_path / "run"
    groups.write_text("".join(ROW.format(1000 + i) for i in range(3)), "utf-8")
    with chaos() as url:
        command = [*from_the_shell(str(groups), f"{url}=chaos", str(out)), "--frame"]
        subprocess.run(command, capture_output=True, check=True)
        manifest = out / "manifest.json"
        manifest.write_bytes(manifest.read_bytes()[:-20])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert bill(url, "count")["total"] == 6
