"""A calibration: fitted where there is something to fit on, applied the same way everywhere."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.calibration.calibration_file import from_json, to_json
from novarag.calibration.fit_calibration import FitStamp, cross_fit, fit, fit_rows
from novarag.calibration.graded_answers import count_answers
from novarag.errors import DataError, UsageError
from tests.support.graded_answers import STATES, draw_graded

STAMP = FitStamp(date="2026-11-16", version="0.1.0")
FITTED = fit(draw_graded(200), stamp=STAMP)
WITH_SIGNAL = fit(draw_graded(200, signal=True), stamp=STAMP)

confidences = st.floats(0, 1)
states = st.sampled_from([*STATES, None, "", "never seen"])
signals = st.one_of(st.none(), st.floats(-50, 50), st.just(float("nan")))


def test_boasts_are_taken_down_most_where_passages_conflict():
    conflicting, consistent = (FITTED.one(0.95, s).probability for s in STATES[:2])
    assert conflicting < consistent < 0.95
    assert FITTED.fitted.calibrated.brier < FITTED.fitted.stated.brier


def test_an_honest_respondent_is_left_alone():
    honest = fit_rows(draw_graded(300, boast=0.0, seed=4))
    made = honest.apply(np.array([0.6, 0.8, 0.9]), [STATES[1]] * 3).probability
    assert np.abs(made - [0.6, 0.8, 0.9]).max() < 0.06


def test_too_few_questions_are_refused():
    with pytest.raises(UsageError, match="29 graded questions are too few"):
        fit(draw_graded(29), stamp=STAMP)


def test_unread_rows_are_counted_and_change_nothing():
    graded = draw_graded(100)
    unread = np.arange(100) % 10 == 0
    marred = replace(graded, confidence=np.where(unread, np.nan, graded.confidence))
    made = fit(marred, stamp=STAMP)
    assert (made.fitted.rows, made.fitted.unread) == (90, 10)
    assert made.states == fit_rows(graded.rows(~unread)).states


@pytest.mark.parametrize("calibration", [FITTED, WITH_SIGNAL], ids=["plain", "signal"])
@given(confidence=confidences, state=states, signal=signals)
@settings(max_examples=150)
def test_one_and_many_are_the_same(calibration, confidence, state, signal):
    one = calibration.one(confidence, state, signal)
    column = np.array([np.nan if signal is None else signal])
    many = calibration.apply(np.array([confidence]), [state], column)
    assert np.allclose([column[0] for column in many], one[:3], rtol=1e-9, atol=1e-12)
    assert 0 < one.low <= one.probability <= one.high < 1
    notes = calibration.notes(np.array([confidence]), [state])
    assert notes == [one.note]


def test_many_rows_keep_their_order_and_their_gaps():
    confidence = np.array([0.9, np.nan, 0.5, 0.9])
    made = FITTED.apply(confidence, ["consistent", "consistent", "conflicting", "conflicting"])
    assert np.isnan(made.probability).tolist() == [False, True, False, False]
    for row in (0, 2, 3):
        state = ["consistent", None, "conflicting", "conflicting"][row]
        assert made.low[row] == pytest.approx(FITTED.one(confidence[row], state).low)


def test_no_state_is_asked_as_one_not_seen_unless_rows_had_none():
    assert FITTED.apply(np.array([0.9])).probability[0] == FITTED.one(0.9).probability
    graded = draw_graded(60)
    bare = fit_rows(replace(graded, state=np.full(60, -1, dtype=np.intp)))
    assert list(bare.states) == [""]
    assert bare.one(0.9).note is None
    assert (
        bare.one(0.9, "consistent").note == "no graded answer had the evidence state 'consistent'"
    )
    assert FITTED.one(0.9).note == "no graded answer was without an evidence state"


def test_a_state_not_seen_has_a_wider_interval():
    for state in STATES:
        seen, unseen = FITTED.one(0.9, state), FITTED.one(0.9, "never seen")
        assert unseen.high - unseen.low > seen.high - seen.low


def test_outside_what_was_graded_it_says_so():
    assert (
        "outside the confidences that were graded (50 % to 100 %)"
        in FITTED.one(0.2, "consistent").note
    )
    assert FITTED.one(0.7, "consistent").note is None
    outside = FITTED.outside(np.array([0.2, 0.7, 0.7]), ["consistent", "consistent", "other"])
    assert outside.tolist() == [True, False, True]


@pytest.mark.parametrize("confidence", [-0.01, 1.01, 95, float("nan")])
def test_what_is_no_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match="from 0 to 1"):
        FITTED.one(confidence)


def test_a_signal_counts_where_it_helps_and_not_where_it_is_noise():
    def gap(calibration):
        return calibration.one(0.9, STATES[1], 2.0).probability - (
            calibration.one(0.9, STATES[1], -2.0).probability
        )

    graded = draw_graded(400, signal=True)
    noise = replace(graded, signal=np.random.default_rng(5).normal(size=400))
    assert gap(fit_rows(graded)) > 0.3
    assert abs(gap(fit_rows(noise))) < 0.1
    turned = fit_rows(replace(graded, signal=-graded.signal))
    assert gap(turned) < -0.3


def test_a_signal_that_is_constant_or_missing_is_left_out():
    graded = draw_graded(60)
    for signal in (np.full(60, 3.0), np.full(60, np.nan)):
        assert fit_rows(replace(graded, signal=signal)).signal is None


def test_a_missing_signal_widens_the_interval():
    with_it, without = WITH_SIGNAL.one(0.9, STATES[1], 0.0), WITH_SIGNAL.one(0.9, STATES[1])
    assert without.high - without.low > with_it.high - with_it.low


def test_rows_that_repeat_their_question_say_no_more_than_one():
    graded = draw_graded(80)
    again = graded.rows(np.repeat(np.arange(80), 5))
    assert count_answers(again)[0].design_effect == pytest.approx(5)
    once, often = fit_rows(graded), fit_rows(again)
    for state in STATES:
        assert often.one(0.9, state)[:3] == pytest.approx(once.one(0.9, state)[:3], abs=1e-6)


def test_rows_of_one_question_that_share_nothing_keep_their_weight():
    graded = draw_graded(600, boast=0.0)
    thirds = replace(graded, question=np.arange(600) // 3)
    assert count_answers(thirds)[0].design_effect < 1.3


def test_held_out_grades_do_not_reach_their_own_calibration():
    graded = draw_graded(60)
    before = cross_fit(graded, seed=3, folds=60)
    turned = graded.correct.copy()
    turned[7] = not turned[7]
    after = cross_fit(replace(graded, correct=turned), seed=3, folds=60)
    assert after[7] == before[7]
    assert (after != before).sum() == 59


def test_cross_fits_depend_on_the_seed_alone():
    graded = draw_graded(90)
    assert np.array_equal(cross_fit(graded, seed=1), cross_fit(graded, seed=1))
    assert not np.array_equal(cross_fit(graded, seed=1), cross_fit(graded, seed=2))


@pytest.mark.parametrize("calibration", [FITTED, WITH_SIGNAL], ids=["plain", "signal"])
def test_json_round_trips_bit_for_bit(calibration):
    text = json.dumps(to_json(calibration))
    assert from_json(json.loads(text), source="c.json") == calibration
    assert len(text) < 20_000


def test_what_is_not_whole_is_refused():
    content = to_json(FITTED)
    for name in content:
        with pytest.raises(DataError, match="calibration"):
            from_json({k: v for k, v in content.items() if k != name}, source="c.json")
    for wrong in (None, [], "text", {**content, "kind": "calibration 0"}, {**content, "seen": 3}):
        with pytest.raises(DataError, match=r"c\.json"):
            from_json(wrong, source="c.json")


def test_one_without_a_word_on_its_rows_is_not_kept():
    with pytest.raises(ValueError, match="fitted on"):
        to_json(fit_rows(draw_graded(40)))
