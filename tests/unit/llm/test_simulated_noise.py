"""Noise of a simulated model: sound but for its slips, and every slip is found by the checks."""

import asyncio
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag import UsageError
from novarag.calls import Sampling
from novarag.examples import simulated_questions
from novarag.llm.simulated import SimulatedLLM, SimulatedRespondent, SimulatedWorld, open_simulated
from novarag.noise import NOISES, NoisePlan, PassageFault, is_placeholder
from novarag.records import AnswerForm, Passage, PassageGroup, Question
from novarag.taxonomy import PassageKind, RelevantFacet

PLAN = NoisePlan(noises=tuple(NOISES))
WARM = Sampling(temperature=1.0)


def written(groups, slips, plan=PLAN, seed=0):
    """Have noise written for groups, and read it as a run does."""
    respondent = SimulatedRespondent(name="writer", slips=slips)
    llm = SimulatedLLM(respondent, SimulatedWorld.of(groups), seed=seed)
    drafts = []
    for group in plan.requests(groups):
        reply = asyncio.run(llm.complete(plan.render(group).text, WARM))
        drafts += plan.drafts(group, [reply.completions[0].text])
    return drafts


def question_of(answer, form=AnswerForm.OPEN, text="Who built the tower of Holm?"):
    return PassageGroup(
        question=Question(id="q", text=text, answers=(answer,), form=form),
        passages=(Passage(text=f"The tower is old: {answer}.", kind=PassageKind.GOLD),),
    )


ORDINARY = [
    *simulated_questions()[:12],
    question_of("Ada Lovelace"),
    question_of("45 ha of orchards", text="What was sold?"),
    question_of("yes", AnswerForm.YES_NO, "Was it so?"),
    question_of("No.", AnswerForm.YES_NO, "Is it still so?\r\nReally?\n"),
]


@pytest.mark.parametrize("group", ORDINARY, ids=lambda g: g.question.answers[0])
def test_without_slips_every_passage_is_sound(group):
    drafts = written([group], 0.0)
    assert len(drafts) == 5 * len(NOISES)
    assert [(d.noise, d.reason, d.passage.text) for d in drafts if d.reason and not d.spare] == []


answers = st.text(max_size=20).filter(str.strip) | st.sampled_from(["1871", "7", "US", "four"])


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30), answers, st.sampled_from(AnswerForm), st.text(max_size=60))
def test_a_slip_is_always_found(text, answer, form, gold):
    question = Question(id="q", text=text, answers=(answer,), form=form)
    group = PassageGroup(question=question, passages=(Passage(text=gold, kind=PassageKind.GOLD),))
    drafts = written([group], 1.0)
    assert len(drafts) == 5 * len(NOISES)
    assert [d for d in drafts if d.reason is None or d.spare] == []


WRONG = {
    "counterfactual": PassageFault.CLAIM_IS_GOLD,
    "consistent": PassageFault.LACKS_GOLD,
    "irrelevant": PassageFault.LEAKS_GOLD,
} | {f"relevant-{facet}": PassageFault.LEAKS_GOLD for facet in RelevantFacet}


@pytest.mark.parametrize("slips", [0.1, 0.4])
def test_slips_are_as_many_as_it_says(slips):
    drafts = written(simulated_questions(), slips)
    found = sum(d.reason is not None and not d.spare for d in drafts)
    spread = math.sqrt(len(drafts) * slips * (1 - slips))
    assert abs(found - slips * len(drafts)) < 4 * spread


@pytest.mark.parametrize(("noise", "wrong"), WRONG.items())
def test_slips_are_of_three_sorts(noise, wrong):
    drafts = written(simulated_questions()[:12], 0.5, NoisePlan(noises=(noise,)))
    assert {(d.reason, is_placeholder(d.passage.text)) for d in drafts} >= {
        (wrong, False), (PassageFault.PLACEHOLDER, True), (PassageFault.REPEATED, False)
    }  # fmt: skip


def test_the_same_seed_writes_the_same_in_any_order():
    one, two = written(ORDINARY, 0.1), written(ORDINARY[::-1], 0.1)
    assert sorted(one, key=repr) == sorted(two, key=repr)
    assert one != written(ORDINARY, 0.1, seed=1)


def test_shipped_respondents_slip_in_a_tenth():
    assert open_simulated("base", []).respondent.slips == 0.1


@pytest.mark.parametrize("slips", [-0.1, 1.1])
def test_impossible_shares_of_slips_are_refused(slips):
    with pytest.raises(UsageError, match="chances of a respondent"):
        SimulatedRespondent(name="x", slips=slips)
