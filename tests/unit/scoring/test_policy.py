"""What is done about an answer: the gate first, then the policy for its evidence, and why."""

import itertools
from dataclasses import fields, replace

import pytest

from novarag.flows.answerer import make_group
from novarag.records import Completion
from novarag.scoring import Action, Exchange, PassageMeta, Policy, Scorer, stated_exchange
from novarag.scoring.policy import rule, settle
from novarag.strategies import NOVA
from novarag.taxonomy import EvidenceState
from tests.support.live_parts import gate

GROUP = make_group("When was it lit?", ["It was lit in 1871.", "Bread is baked."])
STATES = [*EvidenceState, None]


def answered(state, percent=90, threshold=None, reply=None):
    said = (
        f"Passage Classifications: highly relevant, irrelevant\nGroup Judgment: {state}\n"
        f"Answer: 1871\nConfidence: {percent}%"
    )
    gated = None if threshold is None else gate(threshold)
    completion = Completion(text=said if reply is None else reply, model="m")
    found = Scorer(NOVA, gate=gated, source="m").score(Exchange(group=GROUP, completion=completion))
    return found if state is not None else replace(found, evidence=None)


@pytest.mark.parametrize(("state", "action"), [*itertools.product(STATES, Action)])
def test_a_policy_decides_by_the_evidence_where_no_gate_does(state, action):
    policy = Policy(**{state or "unjudged": action})
    found = rule(answered(state), policy)
    assert found.action is action
    assert found.decision == {"answer": "answer", "clarify": "clarify"}.get(action, "abstain")
    word = "was not judged" if state is None else f"is {state}"
    assert (
        found.reason
        == f"the evidence {word}, and the policy for that is {action}; there is no gate"
    )


@pytest.mark.parametrize(("state", "action"), [*itertools.product(STATES, Action)])
def test_no_policy_overrules_a_gate(state, action):
    policy = Policy(**{state or "unjudged": action})
    passed = rule(answered(state, threshold=0.5), policy)
    assert (passed.decision, passed.action) == ("answer", Action.ANSWER)
    held = rule(answered(state, percent=20, threshold=0.5), policy)
    assert held.decision == ("clarify" if action is Action.CLARIFY else "abstain")
    assert held.action is (Action.ABSTAIN if action is Action.ANSWER else action)
    assert held.reason.startswith("20.0 % is below the threshold of 50.0 %")
    assert ("no policy overrules the gate" in held.reason) is (action is Action.ANSWER)


@pytest.mark.parametrize("action", list(Action))
def test_what_could_not_be_read_is_never_answered(action):
    found = rule(answered("consistent", reply="no form"), Policy(unread=action))
    assert (found.action, found.decision) != (Action.ANSWER, "answer")
    assert found.decision in {"abstain", "clarify"}
    assert f"the policy for replies that cannot be read is {action}" in found.reason


def test_a_scorer_applies_its_policy_and_can_leave_it_out():
    policy = Policy(conflicting=Action.CLARIFY)
    scorer = Scorer(NOVA, policy=policy)
    said = Exchange(group=GROUP, completion=answered("conflicting").trial.completion)
    assert scorer.score(said).decision == "clarify"
    bare = scorer.without_policy().score(said)
    assert (bare.decision, bare.action) == (None, None)
    assert rule(bare, policy) == scorer.score(said)


def test_every_field_of_a_policy_is_a_state_or_says_what_is_missing():
    assert {f.name for f in fields(Policy)} == {*EvidenceState, "unjudged", "unread"}


def test_passages_that_were_left_out_are_not_shown():
    answer = settle(answered("consistent"), Action.PREFER_SOURCE, "so")
    one = replace(answer, judgments=answer.judgments[:1])
    given = [PassageMeta("a", "wiki", None, "1"), PassageMeta("b", "mail", None, "2")]
    assert one.to_dict(given, (1,))["passages"] == [
        {"judgment": None, "source": "wiki", "id": "1", "shown": False},
        {"judgment": "highly relevant", "source": "mail", "id": "2", "shown": True},
    ]


def test_a_stated_confidence_needs_no_reply():
    said = stated_exchange(GROUP, Completion(text="1871", model="m"), 0.25)
    assert Scorer(NOVA).score(said).to_dict()["confidence"] == 0.25
