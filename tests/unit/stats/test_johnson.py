"""Johnson's t: p-values and bounds agree, skew is corrected, rare losses are not forgotten."""

import numpy as np
import pytest

from novarag.stats.corrections import holm
from novarag.stats.johnson import mean_above_zero, mean_bounds


def test_without_skew_it_is_students_t():
    scores = np.tile([-0.1, 0.3], 30)
    # mean .1, sd .2017: t = 3.84 with 59 degrees of freedom
    assert mean_above_zero(scores, least=-0.2) == pytest.approx(0.000151, rel=0.02)


def test_bounds_are_means_that_the_test_just_rejects():
    scores = np.random.default_rng(0).gamma(2.0, 0.2, 80) - 0.2
    low, high = mean_bounds(scores, level=0.05)
    assert low < scores.mean() < high
    assert mean_above_zero(scores - low) == pytest.approx(0.05, rel=1e-6)
    assert mean_above_zero(high - scores, least=-1e-6) == pytest.approx(0.05, rel=1e-6)


def test_skew_moves_both_bounds_the_same_way():
    scores = np.random.default_rng(1).gamma(0.5, 0.4, 60)
    low, high = mean_bounds(scores)
    assert high - scores.mean() > scores.mean() - low


@pytest.mark.parametrize(("value", "p"), [(0.1, (1 / 1.1) ** 50), (-0.1, 1.0), (0.0, 1.0)])
def test_equal_scores_may_hide_a_loss(value, p):
    assert mean_above_zero(np.full(50, value)) == pytest.approx(p)


def test_rare_losses_keep_their_level():
    rng = np.random.default_rng(2)
    rate = 0.04
    drawn = rng.random((4000, 50)) < rate
    scores = np.where(drawn, rate - 1, rate) + rng.normal(0, 0.02, drawn.shape)
    assert (mean_above_zero(scores) <= 0.05).mean() <= 0.05


def test_a_smaller_least_score_needs_more_questions():
    scores = np.full(60, 0.05)
    assert mean_above_zero(scores, least=-1.0) > mean_above_zero(scores, least=-0.5)


def test_holm_goes_along_the_last_axis():
    p = np.array([[0.01, 0.04, 0.03], [0.5, 0.001, 0.2]])
    assert holm(p).tolist() == [holm(row).tolist() for row in p]
