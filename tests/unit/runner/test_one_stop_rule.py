"""One stop rule: a stop in the last shard leaves every story unfinished, and nothing paid is lost.

Whoever answers is watched where a shard is run, so that the stop is set by the very reply that
leaves nothing to ask, or by an earlier one of the same shard.
"""

import asyncio
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import pytest

from novarag import (
    Access,
    Stop,
    ask,
    attack,
    build_training_set,
    estimate,
    make_noise,
    probe,
    run_experiment,
)
from novarag.calibration.graded_answers import AnswerSource
from novarag.errors import UnfinishedError
from novarag.flows.events import StepResult
from novarag.runs.shard import run_shard
from novarag.strategies import VANILLA
from tests.support.chaos.serving import chaos
from tests.support.live_parts import calibration
from tests.support.probed import against, boaster, rows
from tests.unit.flows.test_attack import SUITE, groups
from tests.unit.flows.test_build import write_pipeline, write_questions
from tests.unit.flows.test_experiment import write_experiment, write_world

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])

ONE_BY_ONE = Access(concurrency=1)


@dataclass
class Watch:
    """Counts the requests of every run, and sets a stop while the last shard of one is asked."""

    place: str = ""
    left: int = 0
    stop: Stop = field(default_factory=Stop)
    asked: dict[str, int] = field(default_factory=dict)

    async def run_shard(self, job, shard, llm, **more):
        armed = (
            fnmatchcase(job.store.place, f"*{self.place}") and shard == len(job.manifest.parts) - 1
        )
        requests = job.manifest.requests // job.manifest.groups * job.manifest.parts[-1].groups
        watched = Watched(llm, self, job.store.place, requests - self.left if armed else 0)
        return await run_shard(job, shard, watched, **more)


class Watched:
    def __init__(self, llm, watch, place, until):
        self.llm, self.watch, self.place, self.until, self.count = llm, watch, place, until, 0

    async def complete(self, prompt, sampling, *, key=None, tell=None):
        reply = await self.llm.complete(prompt, sampling, key=key, tell=tell)
        await asyncio.sleep(0.002)  # a simulated respondent would not let the stop through
        self.count += 1
        self.watch.asked[self.place] = self.watch.asked.get(self.place, 0) + 1
        if self.count == self.until:
            self.watch.stop.set()
        return reply


@pytest.fixture
def server():
    with chaos() as url:
        yield url


@dataclass(frozen=True)
class Story:
    """A verb that asks: which of its runs is stopped, and what must not be there afterwards."""

    call: object
    place: str
    later: tuple[str, ...]
    returns: bool = False


def ask_it(folder, server, **more):
    given = calibration(AnswerSource(model="chaos", prompt=VANILLA.template.hash))
    file = write_questions(folder / "questions.jsonl")
    return ask(file, "vanilla", f"{server}=chaos", out=folder / "run", calibration=given,
               shard_size=20, access=ONE_BY_ONE, **more)  # fmt: skip


def noise_it(folder, server, **more):
    file = write_questions(folder / "questions.jsonl", 8)
    return make_noise(file, f"{server}=chaos", folder / "noise", shard_size=5, access=ONE_BY_ONE,
                      **more)  # fmt: skip


def build_it(folder, server, **more):
    write_questions(folder / "questions.jsonl", 10)
    path = write_pipeline(folder, server, "out")
    path.write_text(path.read_text("utf-8").replace("concurrency = 8", "concurrency = 1"), "utf-8")
    return build_training_set(path, **more)


def experiment_it(folder, server, **more):
    write_world(folder, 30)
    path = write_experiment(folder, server, "out")
    path.write_text(path.read_text("utf-8").replace("concurrency = 8", "concurrency = 1"), "utf-8")
    return run_experiment(path, **more)


def estimate_it(folder, server, **more):
    return estimate(groups(), "vanilla", "simulated:base", methods=["verbal", "p-true"],
                    out=folder / "out", shard_size=3, access=ONE_BY_ONE, **more)  # fmt: skip


def probe_it(folder, server, **more):
    return probe(rows(10), "simulated:tuned", profile="quick", contradictions=against(10),
                 out=folder / "out", shard_size=6, access=ONE_BY_ONE, **more)  # fmt: skip


def writer_it(folder, server, **more):
    return probe(rows(10), app=boaster, writer=f"{server}=chaos", profile="standard",
                 out=folder / "out", shard_size=6, access=ONE_BY_ONE, **more)  # fmt: skip


def attack_it(folder, server, **more):
    return attack(groups(), "simulated:base", strategy="vanilla", suite=SUITE, out=folder / "out",
                  defences=["plain", "framed"], shard_size=4, access=ONE_BY_ONE, **more)  # fmt: skip


STORIES = {
    "ask": Story(ask_it, "/run", ("run/calibrated.parquet",), returns=True),
    "noise": Story(noise_it, "/noise", ("noise/pool", "noise/passages"), returns=True),
    "build, its noise": Story(
        build_it, "/noise", ("out/noise/pool", "out/noise/passages", "out/groups.jsonl", "out/run")
    ),
    "build, its samples": Story(build_it, "/run", ("out/filtered", "out/export")),
    "experiment, one of two": Story(
        experiment_it, "/vanilla", ("out/runs/cot", "out/report")
    ),
    "experiment, the last": Story(experiment_it, "/cot", ("out/report",)),
    "estimate, one of two": Story(
        estimate_it, "/greedy", ("out/draws/p-true", "out/estimates.parquet", "out/report")
    ),
    "estimate, the last": Story(estimate_it, "/p-true", ("out/estimates.parquet", "out/report")),
    "probe, its variants": Story(probe_it, "/n1", ("out/probe.json", "out/probe.html")),
    "probe, its writer": Story(
        writer_it, "/written-*", ("out/replies/*/contradiction-*", "out/probe.json")
    ),
    "attack, unattacked": Story(
        attack_it, "plain/unattacked", ("out/runs/plain/attacked", "out/runs/framed")
    ),
    "attack, the last": Story(
        attack_it, "framed/attacked", ("out/attack.json", "out/attack.html")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STORIES)
def test_a_stop_in_the_last_shard(tmp_path, server, monkeypatch, name):
    story, whole = STORIES[name], tmp_path / "whole"
    calm = Watch(place="no such run")
    monkeypatch.setattr("novarag.runs.driver.run_shard", calm.run_shard)
    whole.mkdir()
    story.call(whole, server)
    for later in story.later:
        assert list(whole.glob(later)), f"{later} is made by a call that nobody stops"
    expected = {_inner(place, whole): count for place, count in calm.asked.items()}
    for left in (0, 2):  # all were answered; some were not sent
        stopped = tmp_path / f"stopped-{left}"
        stopped.mkdir()
        watch = Watch(place=story.place, left=left)
        monkeypatch.setattr("novarag.runs.driver.run_shard", watch.run_shard)
        stop_it(story, stopped, server, watch)
        if left:
            assert sum(watch.asked.values()) < sum(expected.values())
        watch.place = "no such run"
        story.call(stopped, server)
        paid = {_inner(place, stopped): count for place, count in watch.asked.items()}
        assert paid == expected, "what was answered is not paid again"
        for later in story.later:
            assert list(stopped.glob(later))


def stop_it(story, folder, server, watch):
    """Call a story, which is stopped, and see what it returned or raised, and what it began."""
    if story.returns:
        assert story.call(folder, server, stop=watch.stop) is not None
    else:
        with pytest.raises(UnfinishedError) as caught:
            story.call(folder, server, stop=watch.stop)
        assert caught.value.stopped
        assert fnmatchcase(caught.value.place, f"*{story.place}")
    assert watch.stop.is_set()
    for later in story.later:
        assert not list(folder.glob(later)), f"{later} was begun after the stop"


def _inner(place, folder):
    return place.removeprefix(str(folder))


@pytest.mark.parametrize(
    ("call", "step", "later"),
    [(build_it, "groups", "out/run"), (experiment_it, "index", "out/retrieved.json")],
)
def test_a_stop_between_two_steps_begins_none_of_them(tmp_path, server, call, step, later):
    stop = Stop()

    def hear(event):
        if isinstance(event, StepResult) and event.name == step:
            stop.set()

    with pytest.raises(UnfinishedError, match="out was stopped"):
        call(tmp_path, server, stop=stop, on_event=hear)
    assert not (tmp_path / later).exists()
    call(tmp_path, server)
    assert (tmp_path / later).exists()
