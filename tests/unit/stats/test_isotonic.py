"""Pooling adjacent violators: scipy's bits, by its core alone or by the whole of it."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from novarag.stats import isotonic


@pytest.fixture(params=["core", "no core", "another scipy", "another answer"])
def fit(request, monkeypatch):
    isotonic._fitter.cache_clear()
    if request.param == "no core":
        monkeypatch.setattr(isotonic.PathFinder, "find_spec", lambda *_: None)
    if request.param == "another scipy":
        monkeypatch.setattr(isotonic, "_core", lambda: lambda *_: None)
    if request.param == "another answer":
        monkeypatch.setattr(isotonic, "_core", lambda: lambda values, *_: (values,))
    yield isotonic.rising_fit
    kept = isotonic._fitter()
    assert (kept is isotonic._whole) == (request.param != "core")
    isotonic._fitter.cache_clear()


@pytest.mark.parametrize("n", [1, 2, 7, 3000])
def test_it_is_scipys_to_the_bit(fit, n):
    rng = np.random.default_rng(n)
    values, weights = rng.random(n), rng.integers(1, 9, n).astype(float)
    before = values.copy()
    assert (fit(values, weights) == isotonic_regression(values, weights=weights).x).all()
    assert (values == before).all()


def test_weights_are_over_zero():
    with pytest.raises(ValueError, match="over 0"):
        isotonic.rising_fit(np.array([0.1, 0.2]), np.array([1.0, 0.0]))
