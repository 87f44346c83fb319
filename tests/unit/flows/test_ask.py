import re

import pytest

from novarag import (
    Flaw,
    Grade,
    Response,
    ScriptedLLM,
    ServiceError,
    ask,
    funnel,
    tabulate,
)
from novarag.calls import Reply
from novarag.errors import UsageError
from novarag.examples import EXAMPLE_GROUP
from novarag.filters import STAGES
from novarag.records import Completion, PassageGroup, Question, Trial
from novarag.strategies import COT, NOVA
from novarag.trials import make_trial
from novarag.uncertainty import METHODS, ensemble

REPLY = (
    "Step 4: the passages conflict.\nPassage Classifications: HR, HR, I\n"
    "Group Judgment: Conflicting\nAnswer: {}\nConfidence: {}%"
)


def test_one_question_through_the_house():
    llm = ScriptedLLM({"Brent Rock": [REPLY.format(1871, 40), REPLY.format(1884, 20), "dunno"]})
    right, wrong, flawed = ask([EXAMPLE_GROUP], NOVA, llm, samples=3)
    assert (right.grade, right.response.confidence) == (Grade.RIGHT, 0.4)
    assert (wrong.grade, wrong.response.answer) == (Grade.WRONG, "1884")
    assert (flawed.response, flawed.flaw, flawed.grade) == (None, Flaw.NO_CONFIDENCE, None)
    assert right.response.judgment.group == "conflicting"
    assert [t.sample for t in (right, wrong, flawed)] == [0, 1, 2]


def test_a_confidence_that_was_cut_off_is_no_confidence():
    def flaw(text):
        return make_trial(
            EXAMPLE_GROUP, COT, 0, Completion(text=text, model="m", truncated=True)
        ).flaw

    assert flaw("Answer: 1871\nConfidence: 9") is Flaw.TRUNCATED
    assert flaw("Answer: 1871\nConfidence: 90%\nI think") is Flaw.TRUNCATED
    assert flaw("Answer: 1871\nConfidence: 90%\n") is None


def test_a_script_without_the_cue_is_a_failed_call_not_an_answer():
    with pytest.raises(ServiceError) as caught:
        ask([EXAMPLE_GROUP], COT, ScriptedLLM({"nothing": "x"}))
    assert not caught.value.retryable


def test_a_model_that_ignores_n_is_caught():
    class Stingy:
        async def complete(self, prompt, sampling, *, key=None, tell=None):
            return Reply(completions=())

    with pytest.raises(ServiceError, match="asked for 2 samples, got 0"):
        ask([EXAMPLE_GROUP], COT, Stingy(), samples=2)


def test_funnel_counts_and_gives_reasons():
    said = [REPLY.format(1871, 40), REPLY.format(1871, 90), "dunno", "Answer: 1871\nConfidence: 9%"]
    llm = ScriptedLLM({"Brent Rock": said})
    table = tabulate(ask([EXAMPLE_GROUP], NOVA, llm, samples=4))
    result = funnel(table)
    kept = [result.tally.kept(stage) for stage in ("total", *STAGES)]
    assert kept == [4, 2, 2, 2, 1, 1, 1]
    assert result.kept["sample"].to_list() == [1]
    reasons = dict(result.dropped.select("sample", "reason").iter_rows())
    assert reasons == {
        2: "no confidence found",
        3: "no passage classes",
        0: "another response is better aligned",
    }
    assert result.dropped["stage"].to_list() == ["format", "format", "alignment"]


def stated(answer, confidence):
    return Trial(
        group=PassageGroup(question=Question(id="q", text="?"), passages=()), strategy="vanilla",
        sample=0, completion=Completion(text="", model="m"),
        response=Response(answer=answer, confidence=confidence),
    )  # fmt: skip


def test_ensemble_takes_the_majority_and_its_mean():
    said = [("Paris", 0.5), ("paris!", 0.7), ("Lyon", 1)]
    r = METHODS["ensemble"].of([stated(a, c) for a, c in said])
    assert (r.answer, r.confidence) == ("Paris", pytest.approx(0.6))


def test_ensemble_ties_go_to_the_first_sample():
    said = [("Lyon", 0.1), ("Paris", 0.9)]
    assert ensemble([stated(a, c) for a, c in said]).answer == "Lyon"


@pytest.mark.parametrize("strategy", ["nova", "multi-step", "cot", "top-k"])
def test_a_frame_goes_out_and_comes_back(strategy):
    (framed,) = ask([EXAMPLE_GROUP], strategy, "simulated:base", frame=True)
    (plain,) = ask([EXAMPLE_GROUP], strategy, "simulated:base")
    assert framed.response == plain.response
    assert framed.completion.text != plain.completion.text


def test_a_follow_up_takes_no_frame():
    from novarag.strategies.follow_up import P_TRUE

    with pytest.raises(UsageError, match="takes no `frame`"):
        ask([EXAMPLE_GROUP], P_TRUE, "simulated:base", frame=True)


def test_a_preview_shows_the_frame():
    from novarag import preview_ask

    prompt = preview_ask([EXAMPLE_GROUP], "cot", "simulated:base", frame=True).prompt
    assert re.search(r"^Answer\[[0-9a-f]{6}\]: ", prompt, re.MULTILINE)
