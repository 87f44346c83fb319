"""Smooth ECE against an independent integral of its definition."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import brentq

from novarag.metrics import METRICS

BOUND = 0.003
"""How far ours may be from the integral: its width is found by halving, to a thousandth."""


def by_definition(confidence, correct, points=2001):
    """Find the width that equals its own error, with images of every confidence written out."""
    level, at = np.unique(confidence, return_inverse=True)
    gap = np.bincount(at, confidence - correct) / len(confidence)
    place = np.linspace(0, 1, points)

    def error(width):
        kernel = np.zeros((points, level.size))
        for turn in range(-int(4 * width) - 2, int(4 * width) + 3):
            for image in (2 * turn + level, 2 * turn - level):
                kernel += np.exp(-((place[:, None] - image) ** 2) / (2 * width**2))
        return trapezoid(np.abs(kernel @ gap) / (np.sqrt(2 * np.pi) * width), place)

    if error(0.001) <= 0.001:
        return error(0.001)
    return brentq(lambda width: error(width) - width, 0.001, 1, xtol=1e-6)


def drawn(seed):
    """Draw answers whose confidences lie inside, at both ends, on few levels or on one."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([12, 40, 120]))
    confidence = [
        rng.random(n).round(2),
        rng.choice([0.5, 0.7, 0.9, 0.95, 1.0], n),
        np.full(n, round(rng.random(), 2)),
        rng.choice([0.0, 1.0], n),
        rng.beta(5, 1, n).round(2),
    ][seed % 5]
    chance = [confidence, 1 - confidence, np.full(n, rng.random()), confidence**3][seed % 4]
    return confidence, rng.random(n) < chance


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_integral_of_its_definition(seed):
    confidence, correct = drawn(seed)
    ours = METRICS["smooth_ece"](confidence, correct)
    assert ours == pytest.approx(by_definition(confidence, correct), abs=BOUND)


def test_an_answer_at_an_end_counts_as_much_as_one_inside():
    """Three answers are wrong at 100 %, one is wrong at 50 %: the mean gap is that of all four.

    A wave that holds its ends once had them weigh half, and said 0.80.
    """
    confidence, correct = np.array([1.0, 1.0, 1.0, 0.5]), np.zeros(4, dtype=bool)
    assert METRICS["smooth_ece"](confidence, correct) == pytest.approx(0.875, abs=1e-6)


def test_nothing_is_lost_over_the_ends():
    """Where all gaps have one sign, smoothing moves them about and takes none away."""
    for level in (0.0, 0.02, 0.5, 0.97, 1.0):
        confidence = np.full(20, level)
        correct = np.arange(20) < 5
        gap = abs(level - 0.25)
        assert METRICS["smooth_ece"](confidence, correct) == pytest.approx(gap, abs=1e-6)


def test_opposite_errors_at_the_ends_meet_under_a_wide_kernel():
    """Sure and wrong at one end, and at the other: a kernel cut off at one half kept them apart."""
    confidence, correct = np.array([0.0, 1.0] * 20), np.array([True, False] * 20)
    assert METRICS["smooth_ece"](confidence, correct) == pytest.approx(0.456, abs=BOUND)
