"""Picked rows: one a question, every stratum there, weights that add up and keep figures right."""

import numpy as np
import pytest

from novarag.calibration.pick_rows import (
    LEAST_ROWS,
    ROWS_A_STRATUM,
    PickStratum,
    allocate,
    one_a_question,
    pick_rows,
    stratify,
    weigh,
)
from novarag.defaults import PICK
from novarag.errors import UsageError

LEVELS = np.array([0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
COMMON = np.array([0.02, 0.03, 0.05, 0.1, 0.3, 0.3, 0.2])


def made_log(rows=3000, seed=1):
    """Confidences on a few levels, three states of unlike sizes, and who is right."""
    rng = np.random.default_rng(seed)
    confidence = rng.choice(LEVELS, rows, p=COMMON)
    state = rng.choice([-1, 0, 1], rows, p=[0.03, 0.27, 0.7])
    right = rng.random(rows) < 0.15 + 0.5 * confidence + 0.1 * state
    return confidence, state, right


def test_weighted_figures_are_those_of_the_log():
    confidence, state, right = made_log(rows=800)
    question, brier = np.arange(right.size), (confidence - right) ** 2
    found = []
    for seed in range(200):
        picks = pick_rows(confidence, state, question, n=60, seed=seed)
        weight = picks.weight / picks.weight.sum()
        figures = right[picks.rows], brier[picks.rows]
        found.append([weight @ figures[0], weight @ figures[1], figures[0].mean()])
    error = np.std(found, axis=0) / np.sqrt(len(found))
    bias = np.abs(np.mean(found, axis=0) - (right.mean(), brier.mean(), right.mean())) / error
    assert (bias[:2] < 3).all()
    assert bias[2] > 3, "rates are unequal, so weights must matter"


def test_every_stratum_is_there_and_its_weights_add_up():
    confidence, state, _ = made_log()
    picks = pick_rows(confidence, state, np.arange(state.size), n=100, seed=3)
    assert picks.rows.size == np.unique(picks.rows).size == 100
    assert picks.weight.sum() == pytest.approx(state.size)
    assert len(picks.strata) <= 100 // ROWS_A_STRATUM
    counted = 0
    for number, stratum in enumerate(picks.strata):
        own = picks.rows[picks.stratum == number]
        inside = (state == stratum.state) & (confidence >= stratum.least)
        inside &= confidence <= stratum.most
        assert own.size == stratum.picked >= LEAST_ROWS
        assert inside[own].all()
        assert inside.sum() == stratum.questions
        assert np.allclose(picks.weight[picks.stratum == number], stratum.questions / own.size)
        counted += stratum.questions
    assert counted == state.size
    assert {s.state for s in picks.strata} == {-1, 0, 1}


def test_each_row_of_a_stratum_has_the_same_chance():
    confidence, state, _ = made_log(rows=120)
    drawn = np.zeros(120)
    for seed in range(200):
        picks = pick_rows(confidence, state, np.arange(120), n=30, seed=seed)
        drawn[picks.rows] += 1
    number = stratify(confidence, state, 30)
    for stratum, picked in enumerate(allocate(np.bincount(number), _states(number, state), 30)):
        own = drawn[number == stratum]
        rate = picked / own.size
        spread = np.sqrt(200 * rate * (1 - rate)) + 1e-9
        assert np.abs(own - 200 * rate).max() < 4.5 * spread


def _states(number, state):
    return state[np.unique(number, return_index=True)[1]]


def test_the_seed_decides_and_the_order_is_shuffled():
    confidence, state, _ = made_log()
    first, again, other = (
        pick_rows(confidence, state, np.arange(state.size), n=50, seed=s) for s in (4, 4, 5)
    )
    assert first.rows.tolist() == again.rows.tolist() != other.rows.tolist()
    assert np.count_nonzero(np.diff(first.stratum)) > 25, "strata are not graded one by one"


def test_unread_replies_are_not_picked_and_keep_their_share():
    confidence, state, _ = made_log(rows=1000)
    confidence[::10] = np.nan
    picks = pick_rows(confidence, state, np.arange(1000), n=45)
    assert not np.isnan(confidence[picks.rows]).any()
    assert np.isnan(confidence[picks.unread]).all()
    assert picks.unread.size == 5
    assert picks.unread_weight == 20
    assert picks.weight.sum() + picks.unread.size * picks.unread_weight == pytest.approx(1000)
    with pytest.raises(UsageError, match="no reply of the log could be read"):
        pick_rows(np.full(3, np.nan), np.zeros(3, dtype=int), np.arange(3), n=2)


def test_a_question_is_picked_once_whatever_its_rows():
    confidence, state, _ = made_log(rows=900)
    question = np.arange(900) // 3
    confidence[::3] = np.nan  # of each question one row of three was not read
    picks = pick_rows(confidence, state, question, n=80)
    asked = question[np.concatenate([picks.rows, picks.unread])]
    assert np.unique(asked).size == asked.size
    assert picks.weight.sum() + picks.unread.size * picks.unread_weight == pytest.approx(300)
    chosen = np.zeros(3)
    for seed in range(900):
        chosen[one_a_question(np.zeros(3, dtype=int), np.random.default_rng(seed))] += 1
    assert np.abs(chosen - 300).max() < 60


def test_more_than_there_is_takes_all():
    confidence, state, _ = made_log(rows=70)
    picks = pick_rows(confidence, state, np.arange(70), n=100)
    assert sorted(picks.rows) == list(range(70))
    assert (picks.weight == 1).all()


def test_bands_are_cut_where_confidences_differ_and_hold_enough():
    confidence = np.repeat([0.1, 0.9, 0.92], [500, 250, 250])
    one_state = np.zeros(1000, dtype=int)
    assert stratify(confidence, one_state, 2 * ROWS_A_STRATUM).tolist() == [0] * 500 + [1] * 500
    rare = np.repeat([0.1, 0.9], [9, 991])
    assert stratify(rare, one_state, 100).max() == 0, "nine rows are less than one part in 100"
    assert stratify(rare, one_state, 120).max() == 1
    assert stratify(np.full(50, 0.9), one_state[:50], 50).max() == 0


def test_a_rare_state_stands_by_itself():
    state = np.array([7] + [2] * 999)
    number = stratify(np.full(1000, 0.9), state, 20)
    assert number.tolist() == [1] + [0] * 999
    picks = pick_rows(np.full(1000, 0.9), state, np.arange(1000), n=20)
    assert 0 in picks.rows
    assert {(s.state, s.questions, s.picked) for s in picks.strata} == {(7, 1, 1), (2, 999, 19)}
    with pytest.raises(UsageError, match="`n` is 3, and 2 evidence states need 2 rows each"):
        pick_rows(np.full(1000, 0.9), state, np.arange(1000), n=3)


@pytest.mark.parametrize("spread", [0.0, PICK.spread, 0.6, 1.0])
def test_no_rate_is_far_under_the_common_one(spread):
    sizes, state = np.array([4000, 3000, 1500, 900, 300, 200, 90, 10]), np.array([0] * 5 + [1] * 3)
    counts = allocate(sizes, state, 400, spread)
    assert counts.sum() == 400
    rate = counts / sizes / (400 / sizes.sum())
    assert rate.min() > (1 - spread) * 0.94
    assert counts.min() >= LEAST_ROWS
    assert np.ptp(rate[:5]) < 0.12, "bands of a state have one rate"
    if spread == 0:
        assert np.abs(rate[:6] - 1).max() < 0.06
    if spread == 1:
        assert counts[:5].sum() == 200


def test_rounding_never_takes_more_than_there_is():
    rng = np.random.default_rng(0)
    for _ in range(200):
        sizes = rng.integers(1, 40, rng.integers(1, 9))
        state = rng.integers(0, 3, sizes.size)
        n = int(rng.integers(2 * sizes.size, 2 * sizes.size + sizes.sum()))
        counts = allocate(sizes, state, n, float(rng.random()))
        assert counts.sum() == min(n, sizes.sum())
        assert (counts <= sizes).all()
        assert (counts >= np.minimum(sizes, LEAST_ROWS)).all()


def stratum(state, least, most, questions):
    return PickStratum(state=state, least=least, most=most, questions=questions, picked=2)


def test_rows_without_a_grade_hand_on_what_they_stand_for():
    strata = (
        stratum(0, 0.1, 0.2, 10),
        stratum(0, 0.3, 0.6, 20),
        stratum(0, 0.7, 0.9, 40),
        stratum(1, 0.3, 0.6, 80),
    )
    number = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    every = np.ones(8, dtype=bool)
    assert weigh(strata, number, every).tolist() == [5, 5, 10, 10, 20, 20, 40, 40]
    graded = np.array([True, False, False, False, True, True, True, True])
    assert weigh(strata, number, graded).tolist() == [30, 0, 0, 0, 20, 20, 40, 40]
    assert weigh(strata, number, number == 2).sum() == 150
    assert weigh(strata, number, number != 3).sum() == 150
    with pytest.raises(UsageError, match="no answer was graded"):
        weigh(strata, number, ~every)
