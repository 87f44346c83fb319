"""A runner asks what is missing, keeps what came, and leaves no folder where nobody answers."""

import asyncio
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from novarag import PassageGroup, Question, ScriptedLLM, ServiceError
from novarag.calls import Sampling
from novarag.errors import UnfinishedError, UsageError
from novarag.noise import NoisePlan
from novarag.runner.access import reach
from novarag.runner.asking import SamplingPlan, noise_mode, strategy_mode
from novarag.runner.events import Note, RunBegun, RunEnded
from novarag.runner.runner import Runner
from novarag.runner.stop import Stop
from novarag.strategies.follow_up import P_TRUE

GROUPS = [
    PassageGroup(question=Question(id=f"q{i}", text=f"What is {i}?", answers=(str(i),)), passages=())
    for i in range(3)
]  # fmt: skip
ONE = SamplingPlan()


class Counting:
    """Answers everything, or nothing, and counts how often it is asked and looked at."""

    model = "m"

    def __init__(self, reply="Answer: 1\nConfidence: 70%"):
        self.inner = ScriptedLLM({"": reply} if reply else {"nothing asks this": "x"})
        self.asked = self.checked = 0

    async def complete(self, *given, **more):
        self.asked += 1
        return await self.inner.complete(*given, **more)


class Checked(Counting):
    def __init__(self, problem=None):
        super().__init__()
        self.problem = problem

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def check(self):
        self.checked += 1
        if self.problem:
            raise self.problem


def run(runner, groups=GROUPS, mode=None, **more):
    mode = mode or strategy_mode("vanilla")
    return asyncio.run(runner.ask(groups, mode, **{"samples": ONE, **more}))


def test_what_was_asked_is_found_in_a_folder_and_in_memory(tmp_path):
    for folder in (tmp_path, str(tmp_path / "as-text"), None):
        llm = Counting()
        runner = Runner(model=reach(llm), folder=folder)
        first, again = run(runner, place="here"), run(runner, place="here")
        assert (len(first), len(again), llm.asked) == (3, 3, 3)
        run(runner, place="there")
        assert llm.asked == 6
        if folder is not None:
            assert first.place == str(Path(folder) / "here")


def test_a_server_that_is_not_as_it_should_be_leaves_no_folder(tmp_path):
    for place in ("", "inner"):
        for frame in (False, True):
            llm = Checked(UsageError("serves others"))
            runner = Runner(model=reach(llm), folder=tmp_path / "out")
            with pytest.raises(UsageError, match="serves others"):
                run(runner, place=place, mode=strategy_mode("vanilla", frame=frame))
            assert llm.asked == 0
    assert list(tmp_path.iterdir()) == []


def test_a_server_is_looked_at_unless_nothing_is_left_to_ask(tmp_path):
    llm = Checked()
    runner = Runner(model=reach(llm), folder=tmp_path / "out")
    run(runner)
    run(runner)
    assert (llm.checked, llm.asked) == (1, 3)


def test_a_model_of_the_callers_is_not_opened_to_be_looked_at():
    opened = []

    class OnceOnly(Counting):
        async def __aenter__(self):
            opened.append(self)
            return self

        async def __aexit__(self, *_):
            pass

    run(Runner(model=reach(OnceOnly())))
    assert len(opened) == 1
    run(Runner(model=reach(partial(nullcontext, Counting()))))


def test_after_a_stop_a_run_is_unfinished_also_where_nothing_is_left(tmp_path):
    llm, stop = Counting(), Stop()
    run(Runner(model=reach(llm), folder=tmp_path))
    stop.set()
    runner = Runner(model=reach(llm), folder=tmp_path, stop=stop)
    with pytest.raises(UnfinishedError) as caught:
        run(runner)
    assert caught.value.stopped
    done = asyncio.run(runner.attempt(GROUPS, strategy_mode("vanilla"), samples=ONE))
    assert (done.run.is_finished, done.summary.finished, llm.asked) == (True, False, 3)
    with pytest.raises(UnfinishedError, match="out"):
        stop.fork().raise_if_set("out")
    Stop().raise_if_set("out")


@pytest.mark.parametrize("folder", [True, False])
def test_where_nothing_was_answered_the_cause_is_said(tmp_path, folder):
    runner = Runner(model=reach(Counting(None)), folder=tmp_path / "out" if folder else None)
    with pytest.raises(ServiceError, match="every one of 3 requests failed") as caught:
        run(runner)
    assert ("summarise(" in str(caught.value)) == folder
    done = asyncio.run(runner.attempt(GROUPS, strategy_mode("vanilla"), samples=ONE))
    assert done.settled_run().dead == 3


def test_what_is_told_of_a_run():
    told = []
    run(Runner(model=reach(Counting()), on_event=told.append))
    kinds = [type(event) for event in told if type(event) in {RunBegun, RunEnded, Note}]
    assert kinds == [RunBegun, RunEnded]
    assert told[-1].summary.answered == 3


def test_what_a_mode_asks_decides_which_run_it_is():
    noising = NoisePlan(noises=("irrelevant",))
    made = noise_mode(noising).settings(ONE, model="m")
    assert (made.noise, made.strategy, made.template_hash) == (
        noising,
        "noise",
        noising.fingerprint,
    )
    plan = SamplingPlan(sampling=Sampling(n=4, temperature=1.0), per_request=2, revision="r")
    asked = strategy_mode("cot").settings(plan, model="m")
    assert (asked.samples, asked.sampling.n, asked.per_request) == (4, 1, 2)
    with pytest.raises(UsageError, match="takes no `frame`"):
        strategy_mode(P_TRUE, frame=True)
