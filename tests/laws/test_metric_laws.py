"""Laws every metric obeys, on percents and on arbitrary confidences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.metrics import METRICS, make_bins, tally
from novarag.metrics.calibration import pool_bins
from novarag.metrics.ranking import coverage_at_risk, risk_curve
from novarag.metrics.tally import Tally
from novarag.stats.corrections import holm

percent = st.integers(0, 100).map(lambda n: n / 100)
row = st.tuples(st.one_of(percent, st.floats(0, 1, allow_subnormal=False)), st.booleans())
rows = st.lists(row, min_size=1, max_size=60)
ratio = [m for m in METRICS.values() if m.name != "levels"]


def columns(pairs):
    c, y = zip(*pairs, strict=True)
    return np.array(c), np.array(y)


def value(name, pairs):
    with np.errstate(invalid="ignore", divide="ignore"):
        return METRICS[name](*columns(pairs))


def same(a, b):
    return a == pytest.approx(b, abs=1e-9, nan_ok=True)


@given(rows, st.randoms())
def test_order_of_rows_does_not_matter(pairs, rng):
    shuffled = list(pairs)
    rng.shuffle(shuffled)
    for name in METRICS:
        assert same(value(name, pairs), value(name, shuffled)), name


@given(rows)
def test_figures_lie_where_they_can(pairs):
    for name in METRICS:
        v = value(name, pairs)
        low = -1 if name == "overconfidence" else 0
        assert np.isnan(v) or low - 1e-9 <= v <= (60 if name == "levels" else 1 + 1e-9), name


@given(rows)
def test_every_row_twice_changes_only_what_depends_on_n(pairs):
    for name in METRICS:
        if name in {"aurc", "excess_aurc", "augrc"}:
            continue
        tolerance = 2e-3 if name == "smooth_ece" else 1e-9
        assert value(name, pairs * 2) == pytest.approx(
            value(name, pairs), abs=tolerance, nan_ok=True
        ), name


@given(rows)
def test_ece_never_hides_the_mean_gap_and_finer_bins_never_lower_it(pairs):
    gap = abs(value("overconfidence", pairs))
    assert gap <= value("ece", pairs) + 1e-9
    assert value("ece", pairs) <= value("exact_ece", pairs) + 1e-9


@given(rows)
def test_brier_is_the_sum_of_its_parts(pairs):
    parts = (
        value("miscalibration", pairs)
        - value("discrimination", pairs)
        + value("uncertainty", pairs)
    )
    assert same(value("brier", pairs), parts)
    assert value("miscalibration", pairs) >= -1e-9
    assert value("discrimination", pairs) >= -1e-9


@given(st.lists(st.tuples(percent, st.booleans()), min_size=1, max_size=60))
def test_rank_metrics_see_only_the_order(pairs):
    squeezed = [(0.2 + c / 3, y) for c, y in pairs]
    for name, metric in METRICS.items():
        if metric.ranks:
            assert same(value(name, pairs), value(name, squeezed)), name


@given(rows)
def test_turning_confidence_over_turns_auroc_over(pairs):
    steps = [(round(c * 64) / 64, y) for c, y in pairs]
    assert same(value("auroc", [(1 - c, y) for c, y in steps]), 1 - value("auroc", steps))


@given(st.lists(st.booleans(), min_size=1), percent)
def test_a_constant_has_no_skill(truth, c):
    pairs = [(c, y) for y in truth]
    error = 1 - np.mean(truth)
    assert np.isnan(value("auroc", pairs)) or value("auroc", pairs) == 0.5
    assert same(value("aurc", pairs), error)
    assert same(value("accuracy_at_80", pairs), 1 - error)
    assert same(value("exact_ece", pairs), abs(c - np.mean(truth)))
    assert same(value("discrimination", pairs), 0)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_an_oracle_is_perfect(truth):
    pairs = [(float(y), y) for y in truth]
    assert value("brier", pairs) == value("ece", pairs) == 0
    if 0 < sum(truth) < len(truth):
        assert value("auroc", pairs) == 1


@given(rows)
def test_the_expected_aurc_under_ties_is_the_mean_over_their_orders(pairs):
    c, y = columns([(round(c * 4) / 4, t) for c, t in pairs])
    order = np.argsort(-c, kind="stable")
    share = np.array([np.mean(~y[c == level]) for level in c[order]])
    expected = float(np.mean(np.cumsum(share) / np.arange(1, c.size + 1)))
    assert same(METRICS["aurc"](c, y), expected)


@given(rows)
def test_excess_aurc_is_never_negative_and_augrc_is_half_the_concordance(pairs):
    assert value("excess_aurc", pairs) >= -1e-9
    c, y = columns(pairs)
    order = np.argsort(-c, kind="stable")
    share = np.array([np.mean(~y[c == level]) for level in c[order]])
    assert same(METRICS["augrc"](c, y), float(np.mean(np.cumsum(share)) / c.size))


@given(rows, st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.0]))
def test_coverage_at_risk_is_what_the_curve_shows(pairs, risk):
    t = tally(*columns(pairs))
    _, coverage, rate = risk_curve(t)
    allowed = coverage[rate <= risk * (1 + 1e-12)]
    assert same(
        float(coverage_at_risk(t, risk=risk)), float(allowed.max()) if allowed.size else 0.0
    )
    assert same(coverage[-1], 1.0)
    assert same(rate[-1], 1 - value("accuracy", pairs))


@settings(max_examples=25)
@given(st.lists(rows, min_size=1, max_size=4))
def test_a_batch_of_tallies_equals_each_alone(tables):
    level = np.unique(np.concatenate([columns(t)[0] for t in tables]))
    right, wrong = (
        np.array(
            [[sum(c == lv and y is want for c, y in t) for lv in level] for t in tables], float
        )
        for want in (True, False)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        for name, metric in METRICS.items():
            batch = metric.of(Tally(level, right, wrong))
            assert batch.shape == (len(tables),), name
            for got, table in zip(batch, tables, strict=True):
                assert same(got, value(name, table)), name


@given(rows)
def test_number_and_picture_share_their_bins(pairs):
    bins = make_bins(tally(*columns(pairs)))
    full = bins.count > 0
    gap = np.abs(bins.confidence[full] - bins.accuracy[full]) * bins.count[full]
    assert same(value("ece", pairs), float(gap.sum() / bins.count.sum()))
    assert bins.count.sum() == len(pairs)
    assert (bins.low[full] <= bins.accuracy[full] + 1e-9).all()
    assert (bins.accuracy[full] <= bins.high[full] + 1e-9).all()
    assert np.isnan(bins.low[~full]).all()


@given(rows)
def test_pooling_by_bin_loses_nothing(pairs):
    t = tally(*columns(pairs))
    assert same(float(pool_bins(t.count, t.level).sum()), float(t.total))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_monotone_and_never_below_the_raw_value(values):
    p = np.array(values)
    adjusted = holm(p)
    assert (adjusted >= p - 1e-12).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= -1e-12).all()
    assert adjusted[order[0]] == pytest.approx(min(1, p.min() * p.size))


@pytest.mark.parametrize(
    ("confidence", "correct", "says"),
    [
        ([0.5], [1, 0], "equal, non-empty"),
        ([], [], "equal, non-empty"),
        ([1.5], [1], r"\[0, 1\]"),
        ([float("nan")], [1], r"\[0, 1\]"),
        ([0.5], [2], "true/false or 1/0"),
        ([0.5], [float("nan")], "true/false or 1/0"),
    ],
)
def test_columns_that_make_no_sense_are_refused(confidence, correct, says):
    with pytest.raises(ValueError, match=says):
        METRICS["ece"](confidence, correct)
