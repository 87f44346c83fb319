"""Shares of clustered cases, held against plain binomials, an enumeration and simulation."""

from itertools import product
from math import prod

import numpy as np
import pytest

from novarag.stats.binomial import clopper_pearson
from novarag.stats.clustered import clustered_share, correlation, difference, sum_cdf
from novarag.stats.figure import Figure


def test_one_case_a_cluster_is_the_exact_interval():
    hits = np.array([1.0] * 7 + [0.0] * 23)
    found = clustered_share(hits, np.ones(30))
    low, high = clopper_pearson(np.array([7.0]), np.array([30.0]))
    assert found.value == pytest.approx(7 / 30)
    assert found.low == pytest.approx(low[0], abs=0.01)
    assert found.high == pytest.approx(high[0], abs=0.01)
    assert found.n == 30


def test_cases_that_agree_within_a_cluster_count_as_one():
    hits = np.array([1.0] * 7 + [0.0] * 23)
    many = clustered_share(10 * hits, 10 * np.ones(30))
    one = clustered_share(hits, np.ones(30))
    assert many.high - many.low == pytest.approx(one.high - one.low, abs=0.02)


def test_nothing_or_everything_counts_each_cluster_once():
    none = clustered_share(np.zeros(20), 5 * np.ones(20))
    every = clustered_share(5 * np.ones(20), 5 * np.ones(20))
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert every.low == pytest.approx(0.025 ** (1 / 20))
    assert (none.low, every.high) == (0.0, 1.0)


def test_clusters_that_are_all_alike_are_worth_their_cases():
    even = clustered_share(5 * np.ones(10), 10 * np.ones(10))
    low, _ = clopper_pearson(np.array([50.0]), np.array([100.0]))
    assert even.low == pytest.approx(low[0])


def test_there_is_nothing_to_say_of_no_cases():
    found = clustered_share(np.zeros(0), np.zeros(0))
    assert np.isnan(found.value)
    assert found.low is None
    assert np.isnan(difference(found, found).value)
    alone = clustered_share(np.array([1.0]), np.array([2.0]))
    assert alone.low < 0.001 < 0.999 < alone.high


def test_the_interval_covers_the_share_of_clustered_cases():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(500):
        rates = rng.beta(1.5, 3.5, 40)
        hits = rng.binomial(12, rates)
        found = clustered_share(hits.astype(float), 12 * np.ones(40))
        covered += found.low <= 0.3 <= found.high
    assert covered >= 465


def test_a_difference_is_newcombes_of_two_shares():
    one, other = Figure(0.6, 0.5, 0.7, 100), Figure(0.2, 0.1, 0.3, 100)
    apart = difference(one, other)
    assert apart.value == pytest.approx(0.4)
    assert (apart.low, apart.high) == pytest.approx((0.4 - 0.02**0.5, 0.4 + 0.02**0.5))
    tied = difference(one, other, 0.5)
    assert tied.high - tied.low < apart.high - apart.low
    assert difference(one, other, -0.5) == apart


def test_what_does_not_vary_has_no_correlation():
    assert correlation(np.ones(5), np.arange(5.0)) == 0.0
    assert correlation(np.arange(5.0), np.arange(5.0)) == pytest.approx(1.0)
    assert correlation(np.ones(1), np.ones(1)) == 0.0


def test_the_sum_of_unequal_coins_is_that_of_an_enumeration():
    chances = np.array([0.1, 0.5, 0.9, 1.0, 0.0])
    for most in range(6):
        exact = sum(
            prod(p if up else 1 - p for p, up in zip(chances, coins, strict=True))
            for coins in product((True, False), repeat=5)
            if sum(coins) <= most
        )
        assert sum_cdf(chances, most) == pytest.approx(exact)
