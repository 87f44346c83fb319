"""What a new calibration gains: paired, over whole questions, and honest where it gains nothing."""

from dataclasses import replace

import numpy as np
import pytest

from novarag.calibration.brier_gain import paired_gain
from tests.support.calibrations import graded_rows

OLD = "the old"


def test_a_gain_is_the_paired_difference_of_brier_scores():
    rows = graded_rows(200)
    made = paired_gain(rows, rows.confidence, 0.8 * rows.confidence, beside=OLD)
    right = rows.correct.astype(float)
    one, two = (rows.confidence - right) ** 2, (0.8 * rows.confidence - right) ** 2
    assert made.before == pytest.approx(one.mean())
    assert made.after == pytest.approx(two.mean())
    error = (one - two).std(ddof=1) / np.sqrt(200)
    assert made.gain == pytest.approx((one - two).mean())
    assert made.high - made.gain == pytest.approx(1.972 * error, rel=1e-3)
    assert made.word == "better"
    assert "It is better than the old: Brier score" in made.sentence()
    back = paired_gain(rows, 0.8 * rows.confidence, rows.confidence, beside=OLD)
    assert (back.word, back.low) == ("worse", pytest.approx(-made.high))


def test_no_gain_is_called_none():
    rows = graded_rows(100)
    same = paired_gain(rows, rows.confidence, rows.confidence, beside=OLD)
    assert (same.gain, same.word) == (0.0, "not better")
    hit = [
        paired_gain(
            (rows := graded_rows(100, seed=seed)),
            0.8 * rows.confidence,
            0.8 * rows.confidence + np.where(np.arange(100) % 2, 0.03, -0.03),
            beside=OLD,
        ).word
        for seed in range(200)
    ]
    assert hit.count("better") <= 12  # 2.5 % are to be expected at most


def test_answers_of_one_question_stay_together():
    alone = graded_rows(60)
    twice = replace(
        alone,
        confidence=np.repeat(alone.confidence, 4),
        correct=np.repeat(alone.correct, 4),
        question=np.repeat(alone.question, 4),
        state=np.repeat(alone.state, 4),
    )
    made = [paired_gain(r, r.confidence, 0.8 * r.confidence, beside=OLD) for r in (alone, twice)]
    assert made[0].low == pytest.approx(made[1].low)
    assert (made[1].rows, made[1].questions) == (240, 60)
