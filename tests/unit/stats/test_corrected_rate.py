"""A rate corrected by few labels: never worse than the labels, and worth a good judge's marks."""

import numpy as np
import pytest

from novarag.stats.corrected_rate import correct_rate

DRAWS = 700


def simulated(rng, *, clusters=300, size=8, wrong=0.2, right_judge=0.9, spread=0.0):
    """Return marks, labels and clusters of a judge that is right so often in both classes."""
    shift = rng.normal(0, spread, clusters) if spread else np.zeros(clusters)
    chance = np.clip(wrong + shift, 0.01, 0.99)
    cluster = np.repeat(np.arange(clusters), size)
    label = (rng.random(cluster.size) < chance[cluster]).astype(float)
    judged = np.where(rng.random(cluster.size) < right_judge, label, 1 - label)
    return judged, label, cluster


def draws(times, labelled, **settings):
    rng = np.random.default_rng(37)
    for _ in range(times):
        judged, label, cluster = simulated(rng, **settings)
        yield correct_rate(judged, np.where(cluster < labelled, label, np.nan), cluster)


@pytest.mark.parametrize("labelled", [20, 40])
@pytest.mark.parametrize("spread", [0.0, 0.08])
def test_the_interval_covers_and_a_good_judge_saves_labels(labelled, spread):
    found = list(draws(DRAWS, labelled, spread=spread))
    covered = np.mean([one.low <= 0.2 <= one.high for one in found])
    assert 0.914 <= covered <= 0.986  # 93 to 97 %, and two standard errors of the simulation
    width = np.mean([one.high - one.low for one in found])
    alone = np.mean([one.alone_high - one.alone_low for one in found])
    assert 1 - (width / alone) ** 2 >= 0.4


@pytest.mark.parametrize("labelled", [10, 20, 40])
def test_a_judge_that_knows_nothing_costs_next_to_nothing(labelled):
    found = list(draws(DRAWS, labelled, right_judge=0.5))
    width = np.mean([one.high - one.low for one in found])
    alone = np.mean([one.alone_high - one.alone_low for one in found])
    assert width <= 1.03 * alone
    assert np.mean([one.weight == 0 for one in found]) > 0.6


def test_a_judge_that_is_always_right_leaves_only_the_draw_of_all_rows():
    judged, label, cluster = simulated(np.random.default_rng(1), right_judge=1.0)
    found = correct_rate(judged, np.where(cluster < 40, label, np.nan), cluster)
    assert found.weight == pytest.approx(1)
    assert found.rate == pytest.approx(label.mean())
    assert found.saved > 0.85


def test_a_judge_that_says_the_same_of_all_is_left_out():
    _, label, cluster = simulated(np.random.default_rng(2))
    found = correct_rate(np.ones(label.size), np.where(cluster < 30, label, np.nan), cluster)
    assert (found.weight, found.saved) == (0.0, 0.0)
    assert (found.rate, found.low) == (found.labels_alone, found.alone_low)


def test_a_judge_that_marks_the_wrong_way_round_is_turned():
    judged, label, cluster = simulated(np.random.default_rng(3))
    some = np.where(cluster < 40, label, np.nan)
    straight, turned = (correct_rate(marks, some, cluster) for marks in (judged, 1 - judged))
    assert turned.weight == pytest.approx(-straight.weight)
    assert turned.rate == pytest.approx(straight.rate)


def test_a_source_twice_as_often_in_the_table_is_no_second_source():
    judged, label, cluster = simulated(np.random.default_rng(4))
    some = np.where(cluster < 30, label, np.nan)
    once = correct_rate(judged, some, cluster)
    twice = correct_rate(*(np.tile(column, 2) for column in (judged, some, cluster)))
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))


def test_labels_of_one_source_are_too_few():
    with pytest.raises(ValueError, match="two clusters"):
        correct_rate(np.ones(4), np.array([1, 0, np.nan, np.nan]), np.array([0, 0, 1, 2]))


def test_a_weight_that_is_given_is_taken():
    judged, label, cluster = simulated(np.random.default_rng(5), clusters=60)
    label = np.where(cluster < 20, label, np.nan)
    alone = correct_rate(judged, label, cluster, weight=0.0)
    assert (alone.rate, alone.low, alone.high) == (
        alone.labels_alone, alone.alone_low, alone.alone_high,
    )  # fmt: skip
    assert correct_rate(judged, label, cluster, weight=0.7).weight == 0.7
