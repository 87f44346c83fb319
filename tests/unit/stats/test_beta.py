"""Quantiles of the beta distribution, against scipy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc, betaincinv

from novarag.stats.beta import beta_cdf, beta_quantile

COUNTS = st.integers(1, 5000)


@given(a=COUNTS, b=COUNTS, x=st.floats(0, 1))
def test_the_distribution_is_scipys(a, b, x):
    assert beta_cdf(x, a, b) == pytest.approx(float(betainc(a, b, x)), rel=1e-9, abs=1e-13)


@given(a=COUNTS, b=COUNTS, level=st.floats(1e-5, 1 - 1e-5))
def test_quantiles_are_scipys(a, b, level):
    assert beta_quantile(level, a, b) == pytest.approx(float(betaincinv(a, b, level)), abs=1e-11)


@pytest.mark.parametrize("level", [1e-4, 0.5, 1 - 1e-4])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 10**6), (10**6, 1), (300_000, 700_000)])
def test_many_rows(a, b, level):
    assert beta_quantile(level, a, b) == pytest.approx(float(betaincinv(a, b, level)), abs=1e-11)


def test_a_fraction_that_does_not_settle_ends_all_the_same(monkeypatch):
    exact = beta_cdf(0.3, 40, 80)
    monkeypatch.setattr("novarag.stats.beta._MOST", 12)
    assert beta_cdf(0.3, 40, 80) == pytest.approx(exact, rel=1e-3)
    monkeypatch.setattr("novarag.stats.beta._MOST", 2)
    assert beta_cdf(0.3, 40, 80) != exact
