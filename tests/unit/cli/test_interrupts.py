"""Ctrl-C while the last request of a stage is in flight: every verb that asks ends as one.

It is a real signal to a real command. The server holds that one reply back until the command has
said that it heard, so nothing here waits for a second to pass.
"""

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from novarag.calibration.graded_answers import AnswerSource
from novarag.cli import app
from novarag.datasets.groups import group_line
from novarag.flows.calibrate import save_calibration
from novarag.strategies import VANILLA
from tests.support.chaos.serving import bill, chaos
from tests.support.live_parts import calibration
from tests.support.probed import against, rows, write_lines
from tests.support.processes import heeding_interrupts
from tests.support.waiting import wait_until
from tests.unit.flows.test_attack import groups
from tests.unit.flows.test_build import write_pipeline, write_questions
from tests.unit.flows.test_experiment import write_experiment, write_world

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@dataclass(frozen=True)
class Story:
    """A command, the last request of one of its stages, and all requests of a whole run.

    `later` is what a run makes after that stage, and must not be there when it was stopped.
    """

    words: object
    last: int
    requests: int
    later: tuple[str, ...]


def ask_words(folder, model):
    made = calibration(AnswerSource(model="chaos", prompt=VANILLA.template.hash))
    save_calibration(made, folder / "calibration.json")
    file = write_questions(folder / "questions.jsonl", 6)
    return [
        *("ask", file, "-s", "vanilla", "--out", folder / "out", *model, "--shard-size", 4),
        *("--calibration", folder / "calibration.json"),
    ]


def noise_words(folder, model):
    file = write_questions(folder / "questions.jsonl", 3)
    return ["train", "noise", file, "--out", folder / "out", *model, "--shard-size", 2]


def build_words(folder, model):
    write_questions(folder / "questions.jsonl", 3)
    return ["train", "build", one_by_one(write_pipeline(folder, server_of(model), "out"))]


def experiment_words(folder, model):
    write_world(folder, 6)
    return ["run", "experiment", one_by_one(write_experiment(folder, server_of(model), "out"))]


def estimate_words(folder, model):
    return [
        *("run", "estimate", write_groups(folder), "-s", "vanilla", "--out", folder / "out"),
        *(*model, "--shard-size", 4, "--method", "verbal", "--method", "p-true"),
        *("--replicates", 100),
    ]


def probe_words(folder, model):
    file = write_lines(folder / "rows.jsonl", rows(4))
    given = write_lines(folder / "against.jsonl", against(4))
    named = ("--profile", "quick", "--contradictions", given, "--shard-size", 3)
    return ["probe", file, "--out", folder / "out", *model, *named]


def writer_words(folder, model):
    """Probe an application that answers from its passages, so the server is the writer's alone."""
    file = write_lines(folder / "rows.jsonl", rows(4))
    asked = ("--app", "tests.support.probed:boaster", "--writer", model[1])
    named = ("--profile", "standard", "--shard-size", 3)
    return ["probe", file, "--out", folder / "out", *asked, *named]


def attack_words(folder, model):
    named = ("--classes", "authority", "--places", "first", "--defences", "plain")
    return ["attack", write_groups(folder), "-s", "vanilla", "--out", folder / "out", *model,
            *named, "--max-calls", 30, "--shard-size", 4]  # fmt: skip


def write_groups(folder):
    path = folder / "groups.jsonl"
    path.write_bytes(b"".join(map(group_line, groups())))
    return path


def server_of(model):
    return model[1].removesuffix("=chaos")


def one_by_one(path):
    path.write_text(path.read_text("utf-8").replace("concurrency = 8", "concurrency = 1"), "utf-8")
    return path


STORIES = {
    "ask": Story(ask_words, 6, 6, ("calibrated.parquet",)),
    "noise": Story(noise_words, 12, 12, ("pool", "passages")),
    "build, its noise": Story(build_words, 12, 21, ("noise/pool", "groups.jsonl", "run")),
    "build, its samples": Story(build_words, 21, 21, ("filtered", "export")),
    "experiment": Story(experiment_words, 12, 12, ("report",)),
    "estimate": Story(estimate_words, 12, 12, ("estimates.parquet", "report")),
    "probe": Story(probe_words, 12, 12, ("probe.json", "probe.html")),
    "probe, its writer": Story(writer_words, 4, 4, ("replies/*/contradiction-*", "probe.json")),
    "attack": Story(attack_words, 30, 30, ("attack.json", "attack.html")),
}


@pytest.fixture(scope="module")
def server():
    with chaos() as url:
        yield url


@pytest.mark.parametrize("name", STORIES)
def test_ctrl_c_at_the_last_request(tmp_path, server, name):
    story, made = STORIES[name], tmp_path / "out"
    words = [str(word) for word in story.words(tmp_path, ["--model", f"{server}=chaos"])]
    words += [] if "toml" in words[-1] else ["--concurrency", "1"]
    before = count(server)
    code, said = interrupted(words, server, story.last)
    assert code == 130, said
    assert count(server) == before + story.last, "nothing is asked after the stop"
    assert [later for later in story.later if list(made.glob(later))] == [], "begun after the stop"
    resumed = CliRunner().invoke(app, words)
    assert resumed.exit_code == 0, resumed.output
    assert count(server) == before + story.requests, "what came is not paid again"
    assert [later for later in story.later if not list(made.glob(later))] == []


def interrupted(words, server, last):
    """Run a command, press Ctrl-C while a request of that number waits; return code and output."""
    held = bill(server, f"hold/{last}")["held"]
    command = heeding_interrupts("-m", "novarag", *words)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as process:
        try:
            wait_until(lambda: process.poll() is not None or count(server) == held)
            process.send_signal(signal.SIGINT)
            said = ""
            for line in process.stdout:
                said += line
                if "finishing what is in flight" in line:
                    bill(server, "release")
        finally:
            process.kill()
            bill(server, "release")
    return process.returncode, said


def count(server):
    return bill(server, "count")["total"]
