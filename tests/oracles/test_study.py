"""Agreement and rank tests of the study against independent packages, on many made-up ratings."""

import warnings
from itertools import combinations

import numpy as np
import pytest

from novarag.stats.agreement import alpha, coincidences, kappa
from novarag.stats.corrections import bonferroni
from novarag.stats.ranks import dunn
from tests.support.oracles import need

pytestmark = pytest.mark.oracle

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    krippendorff = need("krippendorff")
    posthocs = need("scikit_posthocs")
    sklearn = need("sklearn.metrics")


def ratings(seed, *, missing=0.2):
    """Units down, raters across, on a scale of three to seven points, some ratings missing."""
    rng = np.random.default_rng(seed)
    points, raters = int(rng.integers(3, 8)), int(rng.integers(2, 6))
    truth = rng.integers(1, points + 1, size=(int(rng.integers(8, 60)), 1))
    own = rng.integers(1, points + 1, size=(truth.shape[0], raters))
    scores = np.where(rng.random(own.shape) < rng.random(), truth, own).astype(float)
    scores[rng.random(own.shape) < missing] = np.nan
    return scores, points


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_alpha_is_the_package_krippendorffs(level):
    for seed in range(200):
        scores, points = ratings(seed)
        ours = alpha(coincidences(scores, points).sum(axis=0), level)
        theirs = krippendorff.alpha(
            reliability_data=scores.T,
            level_of_measurement=level,
            value_domain=list(range(1, points + 1)),
        )
        assert float(ours) == pytest.approx(theirs, abs=1e-9), seed


def test_alpha_is_krippendorffs_own_example():
    """The worked example of his "Computing Krippendorff's Alpha-Reliability" (2011)."""
    nan = np.nan
    scores = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
            [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
        ]
    ).T
    met = coincidences(scores, 5).sum(axis=0)
    assert met.sum() == 40
    assert round(float(alpha(met, "ordinal")), 3) == 0.815
    assert round(float(alpha(met, "interval")), 3) == 0.849


@pytest.mark.parametrize(("quadratic", "weights"), [(False, None), (True, "quadratic")])
def test_kappa_is_scikit_learns(quadratic, weights):
    for seed in range(200):
        scores, points = ratings(seed)
        one, other = scores[:, 0], scores[:, 1]
        both = ~np.isnan(one) & ~np.isnan(other)
        theirs = sklearn.cohen_kappa_score(
            one[both], other[both], labels=list(range(1, points + 1)), weights=weights
        )
        assert kappa(one, other, points=points, quadratic=quadratic) == pytest.approx(
            theirs, abs=1e-9
        ), seed


def test_dunn_is_scikit_posthocs():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        samples = [
            rng.integers(1, 6, size=int(rng.integers(5, 80))).astype(float) + (rng.random() < 0.3)
            for _ in range(int(rng.integers(2, 7)))
        ]
        pairs = list(combinations(range(len(samples)), 2))
        for adjust, ours in ((None, dunn(samples)), ("bonferroni", bonferroni(dunn(samples)))):
            theirs = posthocs.posthoc_dunn(samples, p_adjust=adjust).to_numpy()
            assert ours == pytest.approx([theirs[i, j] for i, j in pairs], abs=1e-9), seed
