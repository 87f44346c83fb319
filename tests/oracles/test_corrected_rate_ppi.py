"""The corrected rate beside ppi-python, which knows no clusters: a row each, and a fixed weight."""

import numpy as np
import pytest

from novarag.stats.corrected_rate import correct_rate
from tests.support.oracles import need

ppi = need("ppi_py")

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_rates_and_intervals_are_those_of_ppi(weight):
    rng = np.random.default_rng(5)
    label = (rng.random(20_000) < 0.2).astype(float)
    judged = np.where(rng.random(label.size) < 0.9, label, 1 - label)
    known = np.arange(label.size) < 1000
    # ppi sets labelled rows against the others, we against all: the same weight, by their share
    own = weight * known.size / (~known).sum()
    given = label[known], judged[known], judged[~known]
    rate = ppi.ppi_mean_pointestimate(*given, lam=weight)[0]
    low, high = ppi.ppi_mean_ci(*given, alpha=0.05, lam=weight)
    found = correct_rate(judged, np.where(known, label, np.nan), np.arange(label.size), weight=own)
    assert found.rate == pytest.approx(rate, abs=1e-9)
    assert (found.low, found.high) == pytest.approx((low[0], high[0]), abs=2e-4)
