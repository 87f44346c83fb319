"""Examples say what was kept: two lines read back, reasoning does not count."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.errors import UsageError
from novarag.sft.examples import KeptTrial, TrainingExample, fault_of_two_lines, two_lines, whole
from novarag.sft.export_split import _place, split
from novarag.strategies import LABEL_ONLY, NOVA
from tests.support.filtered_folder import make_group, make_row
from tests.support.grammar import reply

WORD = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)
ANSWER = st.lists(WORD, min_size=1, max_size=5).map(" ".join)
CONFIDENCE = st.one_of(st.floats(0, 1), st.integers(0, 10000).map(lambda n: n / 10000))


def make_example(answer, confidence, question="q"):
    return TrainingExample(
        prompt="?", completion=two_lines(answer, confidence), question=question, group="g",
        kind=None, answer=answer, confidence=confidence, correct=None,
    )  # fmt: skip


@settings(max_examples=400)
@given(ANSWER, CONFIDENCE)
def test_plain_answers_and_any_confidence_round_trip(answer, confidence):
    text = two_lines(answer, confidence)
    reading = LABEL_ONLY.read(text)
    assert reading.answer == answer
    assert reading.confidence == pytest.approx(confidence, abs=0.5001e-4)
    assert fault_of_two_lines(make_example(answer, confidence)) is None
    assert two_lines(answer, reading.confidence) == text


@settings(max_examples=400)
@given(st.integers(0, 2**32))
def test_what_was_read_from_a_reply_round_trips_or_is_rejected(seed):
    response = NOVA.read(reply(random.Random(seed), "plain"), k=3).response
    if response is None:
        return
    example = make_example(response.answer, response.confidence)
    again = LABEL_ONLY.read(example.completion)
    same = again.response is not None and again.answer == " ".join(response.answer.split())
    assert (fault_of_two_lines(example) is None) == same


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.text(max_size=100))
def test_reasoning_does_not_change_what_is_read(seed, reasoning):
    text = reply(random.Random(seed), "plain")
    row = make_row(make_group("q", "consistent"), reply=text, reasoning=reasoning)
    trial = KeptTrial(**{name: row[name] for name in KeptTrial.__dataclass_fields__})
    one, two = (NOVA.read(t, k=2) for t in (text, whole(trial)))
    assert (one.answer, one.confidence, one.flaw) == (two.answer, two.confidence, two.flaw)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=40), st.floats(0, 0.9), st.integers(0, 9))
def test_a_split_parts_questions_and_loses_none(questions, dev, seed):
    examples = [make_example("x", 0.5, question) for question in [*questions, "in train"]]
    try:
        splits = split(examples, dev=dev, seed=seed)
    except UsageError:
        assert all(_place(e.question, seed) < dev for e in examples)
        return
    train, aside = ({e.question for e in splits.get(n, ())} for n in ("train", "dev"))
    assert not train & aside
    assert sum(len(part) for part in splits.values()) == len(examples)
    assert all(part == [e for e in examples if e in part] for part in splits.values())
