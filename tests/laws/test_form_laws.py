"""What a server was held to is read: every reply of a form, by the strategy that asked for it."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from novarag import STRATEGIES, UsageError

FORMED = [name for name, strategy in STRATEGIES.items() if strategy.form]
SLOW = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def test_every_strategy_of_ours_has_a_form():
    assert set(FORMED) == {name for name in STRATEGIES if not name.endswith("-paper")}


@pytest.mark.parametrize("name", FORMED)
def test_a_reply_of_the_form_is_read(name):
    pattern = STRATEGIES[name].pattern(3, step_length=12)

    @SLOW
    @given(st.from_regex(pattern, fullmatch=True))
    def law(reply):
        reading = STRATEGIES[name].read(reply, k=3)
        assert reading.flaw is None
        assert (len(reading.judgment.passages) if reading.judgment else 0) == 3 * (name == "nova")

    law()


GUESSES = "".join(f"Guess {i}: town {i} ({50 - i}%)\n" for i in range(1, 5))
STEPS = "Step 1: a\nStep 2: b\n"
BEFORE = {
    "vanilla": "", "label-only": "", "cot": "So.\n", "noise-aware": "So.\n", "closed-book": "",
    "multi-step": f"{STEPS}Final Output:\nStep 1 Confidence: 50%\nStep 2 Confidence: 50%\n",
    "nova": f"{STEPS}Passage Classifications: Passage 1: Relevant\nGroup Judgment: Insufficient\n",
    "top-k": GUESSES,
}  # fmt: skip


@pytest.mark.parametrize("answer", ["[your answer: yes or no]", " ", "", "*", "--", '""', "\u00a0"])
@pytest.mark.parametrize("name", FORMED)
def test_a_reply_without_an_answer_has_not_the_form(name, answer):
    after = "" if name == "multi-step" else "\nConfidence: 40%"
    pattern = STRATEGIES[name].pattern(1, step_length=12)
    assert not re.fullmatch(pattern, f"{BEFORE[name]}Answer: {answer}{after}")
    assert re.fullmatch(pattern, f"{BEFORE[name]}Answer: -40 °C{after}")


def test_steps_and_their_confidences_are_as_many():
    pattern = STRATEGIES["multi-step"].pattern(3)
    said = "Step 1: a\nStep 2: b\nFinal Output:\nStep 1 Confidence: 50%\n{}Answer: x"
    whole = said.format("Step 2 Confidence: 50%\n")
    assert re.fullmatch(pattern, whole)
    assert not re.fullmatch(pattern, said.format(""))
    assert STRATEGIES["multi-step"].read(whole).confidence == 0.25


def test_the_last_lines_of_top_k_count():
    reply = f"{GUESSES}Answer: town 1\nConfidence: 49%"
    assert re.fullmatch(STRATEGIES["top-k"].pattern(3), reply)
    reading = STRATEGIES["top-k"].read(reply)
    assert (reading.answer, reading.confidence) == ("town 1", 0.49)


def test_a_strategy_without_a_form_is_refused_with_those_that_have_one():
    with pytest.raises(UsageError, match="closed-book"):
        STRATEGIES["nova-paper"].pattern(3)
