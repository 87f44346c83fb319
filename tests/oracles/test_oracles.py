"""Our arithmetic against strangers', on a million real answers of 84 models."""

import importlib.metadata
import importlib.util
import time
import warnings
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from novarag.metrics import METRICS, tally
from novarag.stats.corrections import holm
from tests.support.oracles import missing, need

pytestmark = pytest.mark.oracle

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    relplot = need("relplot")
    sklearn = need("sklearn.metrics")
    diagnostics = need("model_diagnostics.scoring")
    torch = need("torch")
    calibration_error = need("torchmetrics.functional.classification")
    multitest = need("statsmodels.stats.multitest")


def risk_rates():
    """The risk-coverage arithmetic of torch-uncertainty, without the rest of that package."""
    name = "torch-uncertainty"
    try:
        parts = importlib.metadata.files(name) or []
    except importlib.metadata.PackageNotFoundError:
        missing(name)
    [path] = [p.locate() for p in parts if str(p).endswith("classification/risk_coverage.py")]
    spec = importlib.util.spec_from_file_location("risk_coverage_oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module._aurc_rejection_rate_compute


@pytest.fixture(scope="module")
def models(data):
    frame = pl.read_parquet(data / "responses" / "mmlu_pro_confidences_80models.parquet")
    tables = {}
    for (name,), part in frame.group_by("model"):
        for column in ("verbal_numeric", "logit_perplexity"):
            known = part.drop_nulls([column, "correct"])
            c = known[column].to_numpy().astype(np.float64)
            if column == "verbal_numeric":
                c = np.round(c, 6)
            inside = (c >= 0) & (c <= 1)
            tables[name, column] = (c[inside], known["correct"].to_numpy()[inside])
    assert len({name for name, _ in tables}) == 84
    assert frame.height == 1_010_688
    return tables


def each(models, column=None):
    for (name, kind), (c, y) in models.items():
        if (column is None or kind == column) and 0 < y.sum() < y.size:
            yield f"{name} {kind}", c, y


def test_auroc_brier_and_auprc_are_scikit_learns(models):
    for name, c, y in each(models):
        assert METRICS["auroc"](c, y) == pytest.approx(sklearn.roc_auc_score(y, c), abs=1e-9), name
        assert METRICS["brier"](c, y) == pytest.approx(sklearn.brier_score_loss(y, c), abs=1e-9), (
            name
        )
        auprc = sklearn.average_precision_score(~y, -c)
        assert METRICS["error_auprc"](c, y) == pytest.approx(auprc, abs=1e-9), name


def test_ece_is_an_independent_loop_on_exact_percents(models):
    checked = 0
    for name, c, y in each(models, "verbal_numeric"):
        percent = np.rint(c * 100)
        exact = np.abs(percent / 100 - c) < 1e-6
        count, gap = [0] * 10, [Fraction(0)] * 10
        for p, right in zip(percent[exact].astype(int).tolist(), y[exact].tolist(), strict=True):
            count[min(p // 10, 9)] += 1
            gap[min(p // 10, 9)] += Fraction(p, 100) - right
        expected = sum(abs(g) for g in gap) / sum(count)
        assert METRICS["ece"](c[exact], y[exact]) == pytest.approx(float(expected), abs=1e-9), name
        checked += int(exact.sum())
    assert checked > 900_000


def test_ece_is_torchmetrics_where_no_value_sits_on_an_edge(models):
    for name, c, y in each(models, "logit_perplexity"):
        inner = np.abs(c * 10 - np.rint(c * 10)) > 1e-4
        theirs = calibration_error.binary_calibration_error(
            torch.tensor(c[inner]), torch.tensor(y[inner].astype(int)), n_bins=10, norm="l1"
        )
        assert METRICS["ece"](c[inner], y[inner]) == pytest.approx(float(theirs), abs=1e-9), name


def test_smooth_ece_is_relplots_where_its_kernel_is_whole(models):
    """Theirs cuts its kernel half a unit off, and halves what stands next to 0 or 100 %."""
    checked = 0
    for name, c, y in each(models):
        inner = (c > 0.01) & (c < 0.99)
        if inner.sum() < 100:
            continue
        theirs = relplot.smECE(c[inner], y[inner].astype(float))
        if theirs < 0.25:
            ours = METRICS["smooth_ece"](c[inner], y[inner])
            assert ours == pytest.approx(theirs, abs=1e-3), name
            checked += 1
    assert checked >= 40


def test_smooth_ece_is_a_sum_over_the_images_of_the_kernel(models):
    """The definition, term by term, with a width found by a root finder."""
    for name, c, y in list(each(models, "verbal_numeric"))[::2]:
        level, at = np.unique(np.round(c, 3), return_inverse=True)
        gap = np.bincount(at, weights=level[at] - y) / c.size
        x = (np.arange(1000) + 0.5) / 1000
        images = np.concatenate([sign * level + 2 * k for k in range(-3, 4) for sign in (-1, 1)])
        gaps = np.tile(gap, 14)

        def error(width, x=x, images=images, gaps=gaps):
            return np.abs(norm.pdf(x[:, None], images, width) @ gaps).mean()

        width = brentq(lambda w, error=error: error(w) - w, 2e-3, 1, xtol=1e-4)
        ours = METRICS["smooth_ece"](level[at], y)
        assert ours == pytest.approx(error(width), abs=1e-3), name


def test_brier_parts_are_model_diagnostics(models):
    for name, c, y in list(each(models))[::4]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = diagnostics.decompose(
                y_obs=y.astype(float), y_pred=c, scoring_function=diagnostics.SquaredError()
            ).to_dicts()[0]
        for part in ("miscalibration", "discrimination", "uncertainty"):
            assert METRICS[part](c, y) == pytest.approx(theirs[part], abs=1e-9), (name, part)


def test_aurc_is_torch_uncertaintys(models):
    """Ties have an expected value here, so the oracle gets the mean error of each tie."""
    rates = risk_rates()
    for name, c, y in each(models):
        _, at = np.unique(c, return_inverse=True)
        error = (np.bincount(at, ~y) / np.bincount(at))[at]
        risk = rates(torch.tensor(c), torch.tensor(error)).numpy()
        share = np.arange(1, c.size + 1) / c.size
        assert METRICS["aurc"](c, y) == pytest.approx(float(risk.mean()), abs=1e-9), name
        assert METRICS["augrc"](c, y) == pytest.approx(float((risk * share).mean()), abs=1e-9), name
        best = rates(torch.tensor(y.astype(float)), torch.tensor((~y).astype(float))).numpy()
        excess = float(risk.mean() - best.mean())
        assert METRICS["excess_aurc"](c, y) == pytest.approx(excess, abs=1e-9), name


def test_holm_is_statsmodels():
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 60):
        p = rng.random(size) ** 3
        assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1], abs=1e-12)


def test_a_million_rows_take_three_seconds(models):
    c = np.concatenate([c for _, c, _ in each(models)])[:1_000_000]
    y = np.concatenate([y for _, _, y in each(models)])[:1_000_000]
    start = time.process_time()
    t = tally(c, y)
    for metric in METRICS.values():
        metric.of(t)
    spent = time.process_time() - start
    print(f"all metrics on {c.size:,} rows, {t.level.size:,} levels: {spent:.2f} CPU-s")
    assert c.size == 1_000_000
    assert spent <= 3


@pytest.mark.parametrize(("rows", "columns"), [(500, 6), (90, 300)])
def test_the_auditors_classifier_is_scikit_learns(rows, columns):
    from sklearn.linear_model import LogisticRegression

    from novarag.stats.logistic import fit

    rng = np.random.default_rng(3)
    table = rng.normal(size=(rows, columns))
    truth = (table @ rng.normal(size=(columns, 3)) + rng.normal(size=(rows, 3))).argmax(axis=1)
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    for penalty in (0.5, 1.0, 20.0):
        theirs = LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=2000).fit(scaled, truth)
        ours = fit(table, truth, 3, penalty=penalty)
        assert np.allclose(ours.chances(table), theirs.predict_proba(scaled), atol=1e-3)
