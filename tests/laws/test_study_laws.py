"""Laws of agreement and of rank tests, on any ratings."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from novarag.stats.agreement import alpha, coincidences, kappa
from novarag.stats.corrections import bonferroni
from novarag.stats.ranks import dunn, friedman, kruskal_wallis, wilcoxon

POINTS = 5
SCORE = st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0])
GAPPY = st.one_of(SCORE, SCORE, SCORE, st.just(float("nan")))
LEVELS = st.sampled_from(["ordinal", "interval"])


def tables(rows=(2, 12), columns=(2, 5), of=GAPPY):
    shape = st.tuples(st.integers(*rows), st.integers(*columns))
    return shape.flatmap(lambda size: arrays(np.float64, size, elements=of))


def alpha_of(scores, level):
    return float(alpha(coincidences(scores, POINTS).sum(axis=0), level))


@given(tables(columns=(1, 1), of=SCORE), st.integers(2, 5), LEVELS)
def test_raters_of_one_mind_agree_perfectly(scores, raters, level):
    assume(np.unique(scores).size > 1)
    same = np.repeat(scores, raters, axis=1)
    assert alpha_of(same, level) == pytest.approx(1)
    assert kappa(same[:, 0], same[:, 1], points=POINTS) == pytest.approx(1)


@given(tables(), LEVELS, st.randoms())
def test_alpha_knows_no_order_of_raters_or_units_and_is_at_most_one(scores, level, luck):
    found = alpha_of(scores, level)
    rows, columns = list(range(scores.shape[0])), list(range(scores.shape[1]))
    luck.shuffle(rows)
    luck.shuffle(columns)
    assert alpha_of(scores[rows][:, columns], level) == pytest.approx(found, nan_ok=True)
    assert np.isnan(found) or found <= 1 + 1e-12


@given(tables(), LEVELS)
def test_a_unit_that_one_rater_alone_rated_takes_no_part(scores, level):
    alone = np.full((1, scores.shape[1]), np.nan)
    alone[0, 0] = 3
    more = np.concatenate([scores, alone])
    assert alpha_of(more, level) == pytest.approx(alpha_of(scores, level), nan_ok=True)


@given(tables(), LEVELS)
def test_turning_the_scale_round_changes_nothing(scores, level):
    assert alpha_of(6 - scores, level) == pytest.approx(alpha_of(scores, level), nan_ok=True)


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_raters_who_roll_dice_agree_by_nothing(level):
    rng = np.random.default_rng(0)
    found = [alpha_of(rng.integers(1, 6, (200, 4)).astype(float), level) for _ in range(50)]
    assert abs(float(np.mean(found))) < 0.01


@given(tables(columns=(2, 2)), st.booleans())
def test_kappa_is_symmetric(scores, quadratic):
    one, other = scores.T
    found = kappa(one, other, points=POINTS, quadratic=quadratic)
    back = kappa(other, one, points=POINTS, quadratic=quadratic)
    assert found == pytest.approx(back, nan_ok=True)
    assert np.isnan(found) or found <= 1 + 1e-12


@given(st.lists(st.lists(SCORE, min_size=1, max_size=12), min_size=2, max_size=5))
def test_a_correction_never_makes_a_pair_surer(samples):
    samples = [np.array(s) for s in samples]
    raw = dunn(samples)
    corrected = bonferroni(raw)
    known = ~np.isnan(raw)
    assert (corrected[known] >= raw[known]).all()
    assert (corrected[known] <= 1).all()
    assert known.all() == (np.unique(np.concatenate(samples)).size > 1)


@given(st.lists(SCORE, min_size=2, max_size=12), st.lists(SCORE, min_size=2, max_size=12))
def test_dunn_of_two_samples_is_kruskal_wallis(one, other):
    """With two samples both square the same difference of ranks."""
    samples = [np.array(one), np.array(other)]
    found = kruskal_wallis(samples).p
    assert dunn(samples)[0] == pytest.approx(found, abs=1e-9, nan_ok=True)


@settings(max_examples=40)
@given(tables(rows=(3, 10), columns=(3, 5), of=SCORE), st.floats(-3, 3))
def test_paired_tests_see_only_differences_within_a_question(blocks, shift):
    easy = blocks + shift * np.arange(blocks.shape[0])[:, None]
    one, other = friedman(blocks), friedman(easy)
    assert one.p == pytest.approx(other.p, nan_ok=True)
    assert wilcoxon(blocks) == pytest.approx(wilcoxon(easy))
