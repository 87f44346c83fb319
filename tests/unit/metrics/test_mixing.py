"""Re-weighting: laws, an oracle, refusals."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag import UsageError, measure
from novarag.metrics import reweigh
from novarag.metrics.mixing import MIXED

KINDS = ("consistent", "counterfactual", "irrelevant")


def answers(n=240, *, seed=0, kinds=KINDS):
    rng = np.random.default_rng(seed)
    kind = rng.choice(kinds, n)
    confidence = rng.integers(0, 11, n) / 10
    chance = np.where(kind == "consistent", 0.9, 0.3)
    return pl.DataFrame(
        {
            "question": [f"q{i // 3}" for i in range(n)],
            "kind": kind.tolist(),
            "confidence": confidence,
            "correct": rng.random(n) < chance,
        }
    )


def own_mix(table):
    return {k: n / table.height for k, n in table["kind"].value_counts().iter_rows()}


def test_the_runs_own_mix_changes_nothing():
    table = answers()
    plain = measure(table, replicates=100).overall.figures
    mixed = reweigh(table, own_mix(table), replicates=100)
    for name in MIXED:
        assert mixed.figures[name].value == pytest.approx(plain[name].value, abs=1e-9), name
    assert mixed.effective == pytest.approx(table.height)
    assert mixed.found == pytest.approx(mixed.wanted)
    assert mixed.left_out == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.05, 1), min_size=3, max_size=3), st.integers(0, 50))
def test_it_is_the_weighed_brier_score_by_brute_force(shares, seed):
    table = answers(90, seed=seed)
    mix = dict(zip(KINDS, shares, strict=True))
    found = reweigh(table, mix, replicates=20)
    total, brier, right = sum(shares), 0.0, 0.0
    for kind, share in mix.items():
        part = table.filter(pl.col("kind") == kind)
        error = (part["confidence"] - part["correct"].cast(pl.Float64)) ** 2
        brier += share / total * error.mean()
        right += share / total * part["correct"].mean()
    assert found.figures["brier"].value == pytest.approx(brier)
    assert found.figures["accuracy"].value == pytest.approx(right)
    assert found.effective <= table.height + 1e-6


def test_intervals_hold_the_value_and_grow_with_the_weights():
    table = answers(600)
    even = reweigh(table, own_mix(table), replicates=300)
    skewed = reweigh(
        table, {"consistent": 0.98, "counterfactual": 0.01, "irrelevant": 0.01}, replicates=300
    )
    for found in (even, skewed):
        figure = found.figures["accuracy"]
        assert figure.low < figure.value < figure.high
    assert skewed.effective < even.effective / 2
    assert skewed.figures["accuracy"].value > even.figures["accuracy"].value


def test_a_kind_without_answers_is_not_attainable():
    table = answers(kinds=("consistent", "irrelevant"))
    with pytest.raises(UsageError, match="not attainable: counterfactual"):
        reweigh(table, dict.fromkeys(KINDS, 1.0))
    assert reweigh(table, {"consistent": 1, "irrelevant": 1, "counterfactual": 0}, replicates=20)


def test_what_is_not_weighed_is_counted():
    table = answers().with_columns(
        confidence=pl.when(pl.int_range(pl.len()) < 10).then(None).otherwise("confidence"),
        kind=pl.when(pl.int_range(pl.len()) > 230).then(None).otherwise("kind"),
    )
    found = reweigh(table, dict.fromkeys(KINDS, 1.0), replicates=20)
    assert found.left_out == 19
    assert found.rows == 221


@pytest.mark.parametrize(
    ("mix", "says"),
    [({"consistent": -1}, "numbers from 0"), ({"consistent": 0}, "no group"), ({}, "no group")],
)
def test_mixes_that_cannot_be(mix, says):
    with pytest.raises(UsageError, match=says):
        reweigh(answers(), mix)


def test_tables_that_cannot_be():
    with pytest.raises(UsageError, match="kind"):
        reweigh(answers().drop("kind"), {"consistent": 1})
    with pytest.raises(UsageError, match="too few"):
        reweigh(answers(30), dict.fromkeys(KINDS, 1.0))


def test_a_replicate_without_a_kind_has_no_figures():
    table = answers(kinds=("consistent",)).with_columns(
        kind=pl.when(pl.col("question") == "q0").then(pl.lit("irrelevant")).otherwise("kind")
    )
    found = reweigh(table, {"consistent": 1, "irrelevant": 1}, replicates=100)
    assert found.figures["accuracy"].low is None
