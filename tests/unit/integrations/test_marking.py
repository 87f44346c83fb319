"""What the plug-ins share: reading, grading and measuring with our own functions."""

import math

import pytest

from novarag import STRATEGIES, Flaw, UnknownNameError, UsageError, measure
from novarag.integrations.core import find_reader
from novarag.integrations.marking import (
    HEADLINE,
    beside,
    mark_reply,
    measured,
    values_of,
)
from novarag.taxonomy import Grade

ROWS = tuple((f"q{i // 2}", i % 11 / 10, i % 3 != 0) for i in range(90))


def test_readers_are_found_by_name():
    assert find_reader("nova") is STRATEGIES["nova"]
    guess = find_reader("guess-probability")
    assert guess.read("Guess: Paris\nProbability: 0.9").confidence == 0.9
    assert find_reader("novarag.strategies:VANILLA") is STRATEGIES["vanilla"]
    with pytest.raises(UnknownNameError, match="answer-tags"):
        find_reader("nonsense")
    for name in ("no.such:THING", "novarag.strategies:NOTHING", "novarag:..:x"):
        with pytest.raises(UsageError, match="cannot be imported"):
            find_reader(name)
    with pytest.raises(UsageError, match="not a Strategy but a dict"):
        find_reader("novarag.strategies:STRATEGIES")


def test_a_reply_is_read_and_graded():
    cot = STRATEGIES["cot"]
    right = mark_reply("Answer: Paris\nConfidence: 80%", ["Paris", "Paname"], cot)
    assert (right.grade, right.response.confidence) == (Grade.RIGHT, 0.8)
    assert mark_reply("Answer: Lyon\nConfidence: 80%", ["Paris"], cot).grade is Grade.WRONG
    assert mark_reply("Answer: I do not know\nConfidence: 5%", ["no"], cot).grade is Grade.ABSTAINED
    assert mark_reply("Answer: No, it is not.\nConfidence: 5%", ["no"], cot).grade is Grade.RIGHT
    assert mark_reply("Answer: Paris\nConfidence: 80%", ["", " "], cot).grade is None
    unread = mark_reply("Answer: Paris", ["Paris"], cot)
    assert (unread.response, unread.grade, unread.flaw) == (None, None, Flaw.NO_CONFIDENCE)
    cut = mark_reply("Answer: Paris\nConfidence: 8", ["Paris"], cot, truncated=True)
    assert cut.flaw is Flaw.TRUNCATED


def test_values_are_those_of_measure():
    import polars as pl

    panel = measured(ROWS, 200, 3)
    frame = pl.DataFrame(ROWS, schema=["question", "confidence", "correct"], orient="row")
    same = measure(frame, replicates=200, seed=3).overall
    values = values_of(panel, HEADLINE)
    assert len(values) == 3 * len(HEADLINE)
    for name in HEADLINE:
        figure = same.figures[name]
        ends = (values[name], values[f"{name}_low"], values[f"{name}_high"])
        assert ends == (figure.value, figure.low, figure.high)
    assert math.isnan(values_of(panel, ["levels"])["levels_low"])  # it has no interval
    assert beside(panel) == {
        "ece_noise_floor": same.floor.line,
        "ece_of_a_constant": same.baselines["constant"]["ece"].value,
        "brier_of_a_constant": same.baselines["constant"]["brier"].value,
        "rows": 90.0,
        "questions": 45.0,
    }


def test_too_few_rows_have_no_figures():
    panel = measured(ROWS[:20], 200, 0)
    assert panel.refusal
    known = {**values_of(panel, HEADLINE), **beside(panel)}
    assert known.pop("rows") == 20
    assert known.pop("questions") == 10
    assert all(map(math.isnan, known.values()))
