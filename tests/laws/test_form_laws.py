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


LABELLED = [
    "The answer is: [your chance of being correct, from 0% to 100%]", "(your answer)", "Answer: yes",
    "Step 1 Confidence: 40%", "Group Judgment: Conflicting", "Passage Classifications: none",
    "Answer = no", "My confidence is: 30%", "Final answer\uff1a no", "Confidence = 1",
]  # fmt: skip
PLAIN = ["5:30", "at 10:30 or 11:45", "It's O'Neill", "1,5 %", "confidence 40%", "the answer is no"]


def written(name, answer, line):
    """Write a reply of a strategy with an answer and, where it has lines of reasoning, a line."""
    before = BEFORE[name].replace("So.\n", f"{line}\n").replace("Step 2: b", f"Step 2: {line}")
    return f"{before}Answer: {answer}" + ("" if name == "multi-step" else "\nConfidence: 40%")


@pytest.mark.parametrize("name", FORMED)
def test_no_label_has_a_place_in_what_a_model_says_freely(name):
    pattern, stated = STRATEGIES[name].pattern(1), 0.25 if name == "multi-step" else 0.4
    has_line = written(name, "x", "y") != written(name, "x", "z")
    for text in LABELLED:
        assert not re.fullmatch(pattern, written(name, text, "so")), text
        spoken = written(name, "x", f"so {text}")  # a bracket alone is no label
        assert not (has_line and text[0] != "(" and re.fullmatch(pattern, spoken)), text
    for answer in PLAIN:
        reply = written(name, answer, f"so {answer}.")
        assert re.fullmatch(pattern, reply), reply
        reading = STRATEGIES[name].read(reply, k=1)
        assert (reading.answer, reading.confidence, reading.flaw) == (answer, stated, None)
