"""Every naive trap of the design notes, each a test with its own name."""

import polars as pl
import pytest

from novarag import AnswerForm, Flaw, Grade, Question, Utility, funnel, grade
from novarag.filters import Options
from novarag.metrics import bin_of, tally
from novarag.metrics.calibration import ece
from novarag.strategies import NOVA, VANILLA, Labels, read

YES_NO = Question(id="q", text="?", answers=("no",), form=AnswerForm.YES_NO)


def test_one_percent_is_one_percent():
    assert read("Answer: x\nConfidence: 1%", Labels()).confidence == 0.01


def test_percent_with_a_decimal_point():
    assert read("Answer: x\nConfidence: 95.5%", Labels()).confidence == pytest.approx(0.955)


@pytest.mark.parametrize("percent", range(101))
def test_every_integer_percent_falls_into_its_own_bin(percent):
    import numpy as np

    for value in (percent / 100, float(np.float32(percent) / np.float32(100)), percent * 0.01):
        assert bin_of(np.array([value]))[0] == min(percent // 10, 9)


@pytest.mark.parametrize("percent", [30, 60, 70])
def test_bin_edges_at_30_60_70_percent(percent):
    c = percent / 100
    just_below = c - 0.05
    both = tally([c, just_below], [True, False])
    assert float(ece(both)) == pytest.approx((1 - c + just_below) / 2)


def test_i_do_not_know_is_not_no():
    assert grade("I do not know", YES_NO) is Grade.ABSTAINED


def test_north_korea_is_not_no():
    assert grade("North Korea", YES_NO) is not Grade.RIGHT
    open_question = Question(id="q", text="?", answers=("no",))
    assert grade("North Korea", open_question) is Grade.WRONG


def test_ten_is_not_in_2010():
    assert grade("in 2010", Question(id="q", text="?", answers=("10",))) is Grade.WRONG


def test_an_answer_label_in_the_reasoning_is_not_the_answer():
    reply = (
        "Answer: it might be Lyon, let me check.\nPassage 2 says 'Confidence: 100%'.\n\n"
        "Final Answer: Paris\nConfidence: 70%"
    )
    reading = VANILLA.read(reply)
    assert (reading.answer, reading.confidence) == ("Paris", 0.7)
    draft = "Answer: Lyon\nConfidence: 20%\nWait, no.\n\nFinal Answer: Paris\nConfidence: 70%"
    assert VANILLA.read(draft).flaw is Flaw.DISAGREE


@pytest.mark.parametrize(
    "classes",
    [
        "Passage 1: Highly Relevant; Passage 2: Highly Relevant; Passage 3: Highly Relevant",
        "HR/HR/HR",
        "1. Highly Relevant\n2. Highly Relevant\n3. Highly Relevant",
    ],
)
def test_three_highly_relevant_are_three_not_six(classes):
    reply = f"Passage Classifications: {classes}\nGroup Judgment: Conflicting\nAnswer: x\nConfidence: 5%"
    judgment = NOVA.read(reply, k=3).judgment
    assert judgment.passages == (Utility.HIGHLY_RELEVANT,) * 3


@pytest.mark.parametrize("alignment", ["brier", "soft"])
@pytest.mark.parametrize("seed", range(8))
def test_wrong_at_20_percent_never_beats_right_at_90_percent(alignment, seed):
    """By confidence alone, or by the Brier score of a mean, it would."""
    said = [(0.2, False), (0.9, True)] + ([(1.0, True)] * 3 if alignment == "soft" else [])
    row = {
        "question": "q", "group": "g", "kind": "consistent", "strategy": "nova", "model": "m",
        "evidence": "consistent", "judgments": ["highly relevant"], "passages_judged": 1,
        "passages_right": 1, "group_judged": 1, "group_right": 1, "rule_step": True, "flaw": None,
    }  # fmt: skip
    trials = pl.DataFrame(
        [row | {"sample": i, "confidence": c, "correct": y} for i, (c, y) in enumerate(said)],
        schema_overrides={"flaw": pl.String},
    )
    kept = funnel(trials, options=Options(alignment=alignment, seed=seed)).kept
    assert kept["sample"].to_list() == [1]


def test_a_claim_that_holds_a_gold_alias_is_graded_first():
    q = Question(id="q", text="When?", answers=("1918",))
    assert grade("26 October 1918", q, claims=["26 October 1918"]) is Grade.WRONG
    assert grade("It was on 26 October 1918.", q, claims=["26 October 1918"]) is Grade.WRONG
    assert grade("1918", q, claims=["26 October 1918"]) is Grade.RIGHT
    assert grade("not 26 October 1918 but 1918", q, claims=["26 October 1918"]) is Grade.RIGHT


def test_a_gold_answer_that_holds_a_claim_is_right():
    q = Question(id="q", text="When?", answers=("26 October 1918",))
    assert grade("26 October 1918", q, claims=["1918"]) is Grade.RIGHT


@pytest.mark.parametrize(
    ("reply", "flaw"),
    [
        ("Answer: x\nConfidence: 80-90%", Flaw.RANGE),
        ("Answer: x\nConfidence: 140%", Flaw.OUT_OF_BOUNDS),
        ("Answer: x\nConfidence: NaN", Flaw.WORDS),
        ("Answer: x\nConfidence: high", Flaw.WORDS),
        ("Answer: x\nConfidence: \u0669\u0665%", Flaw.DIGITS),
        ("Answer: x\nConfidence: \uff19\uff15%", Flaw.DIGITS),
    ],
)
def test_what_is_not_plainly_a_number_is_refused(reply, flaw):
    reading = read(reply, Labels())
    assert (reading.confidence, reading.flaw, reading.response) == (None, flaw, None)


def test_zero_confidences_are_read_and_unread_ones_are_not_zero():
    assert read("Answer: x\nConfidence: 0%", Labels()).response.confidence == 0
    assert read("Answer: x", Labels()).response is None
