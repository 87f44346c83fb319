"""Edges that laws find by luck, and that must be seen every time."""

import pytest

from novarag import EvidenceState, Passage, PassageGroup, PassageKind, Question, UsageError
from novarag.grouping import Mix, evidence_state
from novarag.metrics.tally import tally
from novarag.strategies import STRATEGIES


def test_a_mix_holds_no_negative_number():
    with pytest.raises(UsageError, match="negative"):
        Mix(gold=1, irrelevant=-1)


def test_one_passage_that_misleads_contradicts_nothing():
    passage = Passage(text="It is Rome.", kind=PassageKind.COUNTERFACTUAL, claim="Rome")
    group = PassageGroup(question=Question(id="q", text="Where?"), passages=(passage,))
    assert evidence_state(group) is EvidenceState.CONSISTENT


@pytest.mark.parametrize(
    ("confidence", "correct", "said"),
    [
        ([], [], "equal, non-empty"),
        ([0.5], [True, False], "equal, non-empty"),
        ([1.5], [True], r"\[0, 1\]"),
        ([0.5], [0.5], "true/false"),
    ],
)
def test_columns_that_cannot_be_measured_are_refused(confidence, correct, said):
    with pytest.raises(ValueError, match=said):
        tally(confidence, correct)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('Answer: "Paris\nConfidence: 90%', "Paris"),
        ("Answer: *_\nConfidence: 90%", None),
        ('Answer: "*"\nConfidence: 90%', None),
        ("so **Answer**\nParis\nConfidence: 90%", None),
    ],
)
def test_dressing_of_an_answer(reply, answer):
    reading = STRATEGIES["vanilla"].read(reply)
    assert (reading.answer, reading.confidence) == (answer, 0.9)
