"""Edges that laws find by luck, and that must be seen every time."""

import pytest

from novarag import EvidenceState, Passage, PassageGroup, PassageKind, Question, UsageError
from novarag.calls import Price
from novarag.errors import UnknownNameError
from novarag.grouping import Mix, evidence_state
from novarag.imports import import_object
from novarag.metrics.tally import tally
from novarag.noise.groups import build_groups
from novarag.sft.train.rows import ExportedDataset
from novarag.strategies import STRATEGIES


def test_a_price_is_for_a_million_tokens():
    assert Price(3.0, 15.0).of(2e6, 1e5) == pytest.approx(7.5)


@pytest.mark.parametrize("name", ["json", "json:", ":dumps"])
def test_an_object_is_named_with_its_module(name):
    with pytest.raises(UsageError, match="write package"):
        import_object(name)


def test_a_pool_that_is_too_small_is_counted():
    passage = Passage(text="It is Rome.", kind=PassageKind.GOLD)
    pool = PassageGroup(question=Question(id="q", text="Where?"), passages=(passage,))
    with pytest.raises(UsageError, match="'q' has 1 gold passages, 2 are needed"):
        Mix(gold=2).draw(pool.question, pool.passages, seed=0)
    made = build_groups([pool], "gold+counterfactual", k=3, seed=0)
    assert not made.groups
    assert sum(made.short.values()) == 1


def test_rows_without_a_card_were_filtered_by_nobody():
    assert not ExportedDataset(splits={}, files=(), card=None).is_filtered
    assert ExportedDataset(splits={}, files=(), card={"funnel": {}}).is_filtered


def test_texts_are_no_passages():
    with pytest.raises(TypeError, match=r"such as Passage\(text=...\), not str"):
        PassageGroup(question=Question(id="q", text="Where?"), passages=("Rome.",))


def test_a_strategy_without_a_form_holds_no_reply():
    with pytest.raises(UnknownNameError):
        STRATEGIES["nova-paper"].pattern(3)


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
