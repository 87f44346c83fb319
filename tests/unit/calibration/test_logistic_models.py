"""Modes, evidence and level effects against plain optimisation and integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import norm

from novarag.calibration.level_effects import level_effects
from novarag.calibration.logistic_models import CellCounts, fit_models, log_odds

RNG = np.random.default_rng(8)
X = log_odds(RNG.choice([0.6, 0.8, 0.9, 0.95], 120))
STATE = RNG.integers(0, 2, 120).astype(np.intp)
Y = (RNG.random(120) < expit(X + 1.2 * STATE)).astype(float)
CELLS = CellCounts(x=X, state=STATE, states=2, count=np.ones(120), right=Y)


def posterior(b, spread_a, spread_b):
    """Return the log posterior of (a, b, a0, a1, b0, b1), written out."""
    a, slope, own_a, own_b = b[0], b[1], b[2:4], b[4:6]
    eta = a + own_a[STATE] + (slope + own_b[STATE]) * X
    prior = norm.logpdf(a, 0, 1.5) + norm.logpdf(slope, 0.5, 0.5)
    prior += norm.logpdf(own_a, 0, spread_a).sum() + norm.logpdf(own_b, 0, spread_b).sum()
    return (Y * eta - np.logaddexp(0, eta)).sum() + prior


@pytest.mark.parametrize(
    ("number", "spreads"), [(0, (0.05, 0.05)), (3, (0.4, 0.3)), (7, (1.6, 0.3))]
)
def test_each_model_is_at_the_mode_that_an_optimiser_finds(number, spreads):
    best = minimize(lambda b: -posterior(b, *spreads), np.zeros(6), method="BFGS")
    fits = fit_models(CELLS)
    for state in range(2):
        line = best.x[0] + best.x[2 + state], best.x[1] + best.x[4 + state]
        assert fits.lines[number, state, :2] == pytest.approx(line, abs=2e-3)
    assert fits.lines[number, 2, :2] == pytest.approx(best.x[:2], abs=2e-3)


def test_evidence_is_that_of_the_integral():
    """By importance sampling around the mode; the constant (2 pi)^(p/2) is common to all models."""
    fits, rng = fit_models(CELLS), np.random.default_rng(0)
    found = []
    for number, spreads in ((0, (0.05, 0.05)), (7, (1.6, 0.3))):
        best = minimize(lambda b, s=spreads: -posterior(b, *s), np.zeros(6), method="BFGS")
        root = np.linalg.cholesky(best.hess_inv + 1e-9 * np.eye(6)) * 1.2
        z = rng.normal(size=(3_000, 6))
        drawn = best.x + z @ root.T
        density = norm.logpdf(z).sum(axis=1) - np.log(np.diag(root)).sum()
        logs = np.array([posterior(b, *spreads) for b in drawn]) - density
        found.append(logsumexp(logs) - np.log(len(logs)) - fits.evidence[number])
    assert found[0] == pytest.approx(found[1], abs=0.15)


def test_models_with_a_signal_join_those_without():
    z = RNG.normal(size=120)
    fits = fit_models(CellCounts(x=X, state=STATE, states=2, count=np.ones(120), right=Y, z=z))
    plain = fit_models(CELLS)
    assert fits.evidence.size == 2 * plain.evidence.size
    assert np.array_equal(fits.lines[:8], plain.lines)
    assert (fits.lines[8:, :, 2] != 0).all()


def test_level_effects_are_those_of_the_integral():
    eta, right = np.array([0.3, 0.3, -0.2]), np.array([9.0, 1.0, 2.0])
    count, level = np.array([10.0, 2.0, 4.0]), np.array([0, 0, 1])
    found = level_effects(eta, right, count, level)

    def like(u, at):
        rows = level == at
        p = expit(eta[rows] + u)
        return np.prod(p ** right[rows] * (1 - p) ** (count[rows] - right[rows]))

    weights, means = [], []
    for size, prior in ((0.2, 0.4), (0.4, 0.4), (0.8, 0.2)):
        moments = [
            [
                quad(lambda u, at=at, k=k, s=size: u**k * like(u, at) * norm.pdf(u, 0, s), -6, 6)[0]
                for k in (0, 1)
            ]
            for at in (0, 1)
        ]
        weights.append(prior * moments[0][0] * moments[1][0])
        means.append([m[1] / m[0] for m in moments])
    some = sum(weights) / (sum(weights) + like(0.0, 0) * like(0.0, 1))
    weights = np.array(weights) / sum(weights)
    assert found.shift == pytest.approx(some * weights @ np.array(means), abs=1e-4)
    assert found.unseen == pytest.approx(weights @ np.square([0.2, 0.4, 0.8]), abs=1e-4)
