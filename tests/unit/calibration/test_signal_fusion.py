"""Several signals fused: better than the best of them, unit-free, and never raised by a gap."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.calibration.calibration_file import from_json, score_name, to_json
from novarag.calibration.fit_calibration import FitStamp, cross_fit, fit
from novarag.calibration.fuse_signals import fit_fusion
from novarag.calibration.fused_rows import calibrate_rows, fuse_rows, signals_of
from novarag.calibration.graded_answers import SignalTable
from novarag.calibration.signal_fusion import STATED_SIGNAL
from novarag.errors import DataError, UsageError
from tests.support.scored_answers import NAMES, draw_scored

STAMP = FitStamp(date="2026-11-19", version="0.1.0", seed=1)
MADE = fit(draw_scored(400, missing=0.05), stamp=STAMP)
FRESH = draw_scored(1000, seed=1, missing=0.05)


def brier(chance, rows):
    return float(np.mean((chance - rows.correct) ** 2))


def test_fused_scores_beat_each_alone_and_the_constant():
    share = FRESH.correct.mean()
    together = brier(calibrate_rows(MADE, FRESH).probability, FRESH)
    assert together < share * (1 - share) - 0.03
    fitted = draw_scored(400, missing=0.05)
    for name in NAMES:
        others = [at for at in range(3) if NAMES[at] != name]
        rows, fresh = (
            replace(one, scores=one.scores.without(others[1]).without(others[0]))
            for one in (fitted, FRESH)
        )
        assert rows.scores.names == (name,)
        assert together < brier(calibrate_rows(fit(rows, stamp=STAMP), fresh).probability, fresh)


def test_directions_are_found_and_said():
    found = {signal.name: signal for signal in MADE.fusion.signals}
    assert not found["judge"].lower
    assert found["distance"].lower
    assert found["distance"].found
    rows = draw_scored(400)
    said = rows.scores._replace(lower=(True, True, None))
    fused = fit_fusion(said, rows.correct.astype(float))
    assert [signal.contrary for signal in fused.signals] == [True, False, False]


def test_the_unit_of_a_score_does_not_matter():
    rows = draw_scored(300)
    right = rows.correct.astype(float)
    other = rows.scores._replace(values=np.cbrt(rows.scores.values) * 7 - 3)
    one, two = (fit_fusion(table, right).many(table.values) for table in (rows.scores, other))
    assert np.abs(one - two).max() < 0.02  # scales are straight between knots


def test_what_tells_nothing_is_left_alone():
    rng = np.random.default_rng(3)
    table = SignalTable(("a", "b"), rng.normal(size=(200, 2)), (None, None))
    right = (rng.random(200) < 0.7).astype(float)
    assert np.abs(fit_fusion(table, right).many(table.values) - right.mean()).max() < 0.06


def test_a_column_of_one_value_and_an_empty_one_are_taken():
    rows = draw_scored(200)
    values = rows.scores.values.copy()
    values[:, 1], values[:, 2] = 7.0, np.nan
    fused = fit_fusion(rows.scores._replace(values=values), rows.correct.astype(float))
    again = values.copy()
    again[:, 1] = -1e9
    assert fused.many(again) == pytest.approx(fused.many(values))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=3, max_size=3), st.integers(0, 2))
def test_a_missing_signal_never_raises_the_score(values, lost):
    given_all = dict(zip(NAMES, values, strict=True))
    without = {name: value for name, value in given_all.items() if name != NAMES[lost]}
    before, after = (MADE.fusion.one(one) for one in (given_all, without))
    assert after <= before + 1e-12
    assert MADE.one(after).probability <= MADE.one(before).probability + 1e-12


def test_one_answer_gets_the_score_of_its_row():
    table = calibrate_rows(MADE, FRESH)
    for row, values in enumerate(FRESH.scores.values.tolist()):
        score = MADE.fusion.one(dict(zip(NAMES, values, strict=True)))
        assert MADE.one(score).probability == pytest.approx(table.probability[row], abs=1e-9)


def test_what_each_signal_adds():
    gains = {gain.name: gain for gain in MADE.fusion.gains}
    assert gains["judge"].word == gains["distance"].word == "adds"
    assert gains["noise"].word == "adds nothing shown"
    assert gains["judge"].low < gains["judge"].gain < gains["judge"].high


def test_a_file_brings_the_same_calibration_back():
    again = from_json(to_json(MADE), source="a file")
    assert again == MADE
    assert score_name(again) == score_name(MADE)
    content = to_json(MADE)
    for break_it in (
        lambda fusion: fusion["signals"].pop(),
        lambda fusion: fusion["models"][0].pop("missing"),
        lambda fusion: fusion["signals"][0].update(better="green"),
        lambda fusion: fusion["signals"][0]["scores"].pop(),
    ):
        broken = to_json(MADE)
        break_it(broken["fusion"])
        assert broken != content
        with pytest.raises(DataError, match="calibration"):
            from_json(broken, source="a file")


def test_rows_that_lack_a_score_are_refused_by_its_name():
    rows = replace(FRESH, scores=FRESH.scores.without(1))
    with pytest.raises(UsageError, match="'distance'"):
        fuse_rows(MADE, rows)
    turned = SignalTable(NAMES[::-1], FRESH.scores.values[:, ::-1], (None,) * 3)
    same = fuse_rows(MADE, replace(FRESH, scores=turned))
    assert np.array_equal(same.confidence, fuse_rows(MADE, FRESH).confidence)


def test_a_stated_confidence_is_one_more_signal():
    rows, fresh = draw_scored(400, stated=True), draw_scored(1000, seed=1, stated=True)
    made = fit(rows, stamp=STAMP)
    assert made.fusion.takes_stated
    assert made.fitted.beside == "the stated confidence"
    alone = fit(replace(rows, scores=None), stamp=STAMP)
    both = brier(calibrate_rows(made, fresh).probability, fresh)
    assert both < brier(alone.apply(fresh.confidence).probability, fresh) - 0.005
    with pytest.raises(UsageError, match=STATED_SIGNAL):
        fuse_rows(made, replace(fresh, states_confidence=False))


def test_states_part_fused_scores_and_a_higher_score_never_means_less():
    rows = draw_scored(600)
    state = np.arange(len(rows)) % 2
    correct = np.where(state == 1, rows.correct, rows.correct & (np.arange(len(rows)) % 3 == 0))
    rows = replace(rows, state=state, states=("conflicting", "consistent"), correct=correct)
    made = fit(rows, stamp=STAMP)
    score = np.linspace(0.01, 0.99, 99)
    for name in rows.states:
        assert (np.diff(made.apply(score, [name] * 99).probability) >= -1e-12).all()
    after = cross_fit(rows)
    assert after[state == 1].mean() > after[state == 0].mean() + 0.2


def test_intervals_hold_the_true_chance():
    """Rows in bands of the probability are right as often as the interval says, nine times in ten."""
    made = calibrate_rows(MADE, draw_scored(20_000, seed=7))
    correct = draw_scored(20_000, seed=7).correct
    band = np.searchsorted(
        np.quantile(made.probability, np.linspace(0, 1, 11)[1:-1]), made.probability
    )
    held = [
        made.low[band == at].mean() - 0.02
        <= correct[band == at].mean()
        <= made.high[band == at].mean() + 0.02
        for at in range(10)
    ]
    assert sum(held) >= 8


def test_a_fit_of_rows_without_a_confidence_is_set_beside_a_constant():
    assert MADE.fitted.beside == "one confidence for all answers"
    share = draw_scored(400, missing=0.05).correct.mean()
    assert MADE.fitted.stated.brier == pytest.approx(share * (1 - share))
    assert MADE.fitted.calibrated.brier < MADE.fitted.stated.brier


def test_rows_without_scores_have_nothing_to_fuse():
    rows = replace(draw_scored(40), scores=None)
    with pytest.raises(ValueError, match="nothing to fuse"):
        signals_of(rows)


def test_a_calibration_of_stated_confidences_refuses_rows_that_state_none():
    made = fit(replace(draw_scored(200, stated=True), scores=None), stamp=STAMP)
    with pytest.raises(UsageError, match="fitted on stated confidences; these rows have none"):
        fuse_rows(made, draw_scored(40))
