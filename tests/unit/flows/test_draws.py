"""Runs that serve methods: what is read back, what is followed up, what it took."""

import asyncio
from dataclasses import replace

import pytest

from novarag import Flaw, PassageGroup, Question, UsageError
from novarag.calls import Attempt, CallError, Outcome, Reply, Sampling, Usage
from novarag.config.asking import ReplySettings
from novarag.errors import UnfinishedError
from novarag.flows.draws import Draws, cost_of, draw_name, follow_ups, iter_estimates
from novarag.records import Completion
from novarag.runner.access import reach
from novarag.runner.runner import Runner
from novarag.runner.sources import source_of
from novarag.runner.stop import Stop
from novarag.runs import Job, ProgressBoard, Settings, drive, open_run, open_store, plan
from novarag.strategies import VANILLA
from novarag.strategies.follow_up import P_TRUE, propose, proposed
from novarag.uncertainty import METHODS, Method, Need

GROUPS = [
    PassageGroup(question=Question(id=f"q{i}", text=f"What is {i}?", answers=(str(i),)),
                 passages=(), id=f"g{i}")
    for i in range(4)
]  # fmt: skip


class Saying:
    """Says what it is told of each question, or fails."""

    def __init__(self, said):
        self.said = said

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass

    async def complete(self, prompt, sampling=None, *, key=None, tell=None):
        text = next(reply for cue, reply in self.said.items() if cue in prompt)
        tell(Attempt(id=f"a-{key}", endpoint="here"))
        if text is None:
            lost = Attempt(id=f"a-{key}", endpoint="here", outcome=Outcome.SERVER_ERROR)
            tell(lost)
            raise CallError(Outcome.SERVER_ERROR, "no")
        done = Completion(
            text=text, model="m", tokens=(text,), logprobs=(-0.5,), alternatives=(("True", -0.1),)
        )
        found = (done,) * sampling.n
        return Reply(
            completions=found, attempt=f"a-{key}", usage=Usage(prompt=7, completion=sampling.n)
        )


def asked(folder, asking, groups, said, sampling=None, samples=1):
    settings = Settings(
        strategy=asking.name, template_hash=asking.template.hash, model="m",
        samples=samples, sampling=sampling or Sampling(logprobs=True, alternatives=2),
    )  # fmt: skip
    store = open_store(folder)
    manifest = plan(store, lambda: iter(groups), settings)
    job = Job(store=store, manifest=manifest, strategy=asking)

    async def run():
        await drive(job, lambda: Saying(said), board=ProgressBoard(), stop=asyncio.Event())

    asyncio.run(run())
    return open_run(folder)


SAID = {
    "What is 0?": "Answer: 0\nConfidence: 80%",
    "What is 1?": "no idea",
    "What is 2?": None,
    "What is 3?": "Answer: 5\nConfidence: 30%",
}


def test_what_is_read_back_is_what_came_but_never_whether_it_is_right(tmp_path):
    draw = asked(tmp_path / "greedy", VANILLA, GROUPS, SAID)
    trials = draw.trials_by_group()
    assert sorted(trials) == ["g0", "g1", "g3"]
    [first], [unread] = trials["g0"], trials["g1"]
    assert (first.response.answer, first.response.confidence) == ("0", 0.8)
    assert first.grade is None
    assert first.completion.alternatives == (("True", -0.1),)
    assert first.completion.logprobs == (-0.5,)
    assert unread.response is None
    assert isinstance(unread.flaw, Flaw)
    assert draw.cost.calls == 3  # the failed one was not charged for
    assert (draw.cost.prompt_tokens, draw.cost.completion_tokens) == (21, 3)


def test_answers_are_followed_up_each_by_its_own_question(tmp_path):
    greedy = asked(tmp_path / "greedy", VANILLA, GROUPS, SAID)
    found = follow_ups(greedy)
    assert [proposed(g.question.text) for g in found] == [("What is 0?", "0"), ("What is 3?", "5")]
    assert [g.id for g in found] == ["g0", "g3"]
    two = [replace(found[0], id="other"), propose(replace(GROUPS[0], id="more"), "1")]
    assert asked(tmp_path / "p", P_TRUE, [*found, *two], {"What": "True"}).manifest.questions == 2


def test_a_failed_request_leaves_no_estimate_and_an_unread_reply_leaves_its_flaw(tmp_path):
    greedy = asked(tmp_path / "greedy", VANILLA, GROUPS, SAID)
    told = {"What is 0?": "True", "What is 3?": None}
    followed = asked(tmp_path / "p-true", P_TRUE, follow_ups(greedy), told)
    asks = METHODS["p-true"].needs
    draws = dict(zip(asks, (greedy, followed), strict=True))
    (table,) = iter_estimates(draws, [METHODS["p-true"]], "vanilla")
    rows = {row["group"]: row for row in table.iter_rows(named=True)}
    assert sorted(rows) == ["g0", "g1"]  # g2 and the follow-up of g3 failed
    assert rows["g0"]["confidence"] == 1.0
    assert rows["g0"]["correct"] is True
    assert rows["g1"]["flaw"] == "no confidence found"
    assert cost_of(METHODS["p-true"], draws).calls == 4
    assert cost_of(METHODS["verbal"], draws).calls == 3


def test_draws_of_other_groups_are_refused(tmp_path):
    said = {"What": "Answer: 0\nConfidence: 80%"}
    one = asked(tmp_path / "one", VANILLA, GROUPS, said)
    few = asked(tmp_path / "few", VANILLA, GROUPS[:2], said, samples=3)
    both = Method(
        name="x", title="X", of=lambda a, b: a[0].response, means="",
        needs=(Need(), Need(samples=3, temperature=0.7)),
    )  # fmt: skip
    with pytest.raises(UsageError, match="same groups"):
        list(iter_estimates(dict(zip(both.needs, (one, few), strict=True)), [both], "vanilla"))


def test_a_run_that_has_not_ended_is_no_draw(tmp_path):
    settings = Settings(strategy="vanilla", template_hash=VANILLA.template.hash, model="m")
    plan(open_store(tmp_path / "begun"), lambda: iter(GROUPS), settings)
    draws = {Need(): open_run(tmp_path / "begun")}
    with pytest.raises(UsageError, match="not finished"):
        list(iter_estimates(draws, [METHODS["verbal"]], "vanilla"))


def test_draws_that_were_stopped_are_unfinished_and_go_on(tmp_path):
    model, stop = reach("simulated:base"), Stop()

    def draws(**more):
        runner = Runner(model=model, folder=tmp_path, **more)
        return Draws(
            source=source_of(GROUPS), strategy="vanilla", runner=runner, replies=ReplySettings()
        )

    stop.set()
    with pytest.raises(UnfinishedError, match="greedy") as caught:
        asyncio.run(draws(stop=stop).draw([Need()]))
    assert caught.value.stopped
    drawn = asyncio.run(draws().draw([Need()]))
    assert drawn[Need()].is_finished


def test_draws_are_named_by_what_was_asked():
    assert draw_name(Need(logprobs=True)) == "greedy-logprobs"
    assert draw_name(Need(strategy="top-k")) == "top-k"
    assert draw_name(Need(follow_up="p-true", logprobs=True, alternatives=20)) == "p-true"
