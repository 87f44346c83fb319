"""Counted answers: the same calibration as row by row, at the price of the cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from novarag.calibration import fit_calibration
from novarag.calibration.calibration_file import to_json
from novarag.calibration.fit_calibration import FitStamp, cross_fit, fit
from novarag.calibration.graded_answers import count_answers
from tests.support.calibrated_by_rows import (
    cross_fit_by_rows,
    design_effect_by_rows,
    fit_by_rows,
    largest_difference,
)
from tests.support.graded_answers import draw_graded

STAMP = FitStamp(date="2026-11-18", version="0.1.0", seed=5)
CLOSE = 1e-9


def some_answers(case, n=600):
    """Draw graded answers that share cells, questions, limits and gaps in several ways."""
    graded = draw_graded(n, seed=3, signal="signal" in case)
    rng = np.random.default_rng(9)
    if "questions" in case:
        graded = replace(graded, question=rng.integers(0, n // 4, n))
    if "unread" in case:
        gaps = rng.random(n) < 0.1
        graded = replace(graded, confidence=np.where(gaps, np.nan, graded.confidence))
    if "edges" in case:  # confidences that share a clipped log-odds and not a percent
        graded = replace(graded, confidence=rng.choice([0.0, 0.01, 0.5, 0.99, 0.996, 1.0], n))
    if "bare" in case:
        graded = replace(graded, state=np.where(rng.random(n) < 0.3, -1, graded.state))
    if "coarse" in case:
        graded = replace(graded, signal=np.round(graded.signal))
    if "missing" in case:
        graded = replace(graded, signal=np.where(rng.random(n) < 0.2, np.nan, graded.signal))
    return graded


@pytest.mark.parametrize(
    "case",
    ["plain", "questions", "questions unread bare", "edges", "signal", "questions coarse signal",
     "missing coarse signal unread questions"],
)  # fmt: skip
def test_a_calibration_is_the_same_as_row_by_row(case):
    graded = some_answers(case)
    ours, theirs = fit(graded, stamp=STAMP), fit_by_rows(graded, stamp=STAMP)
    assert largest_difference(to_json(ours), to_json(theirs)) < CLOSE
    crossed = cross_fit(graded, seed=2), cross_fit_by_rows(graded, seed=2)
    np.testing.assert_allclose(*crossed, rtol=0, atol=CLOSE)


def test_a_difference_would_be_seen():
    graded = some_answers("questions")
    turned = replace(graded, correct=graded.correct ^ (np.arange(len(graded)) == 17))
    one, other = (to_json(fit(rows, stamp=STAMP)) for rows in (graded, turned))
    assert largest_difference(one, other) > CLOSE


def test_rows_that_are_alike_are_fitted_as_one_cell(monkeypatch):
    """The models see at most a cell for each stated value and state, however many rows there are."""
    seen = []
    real = fit_calibration.fit_models
    monkeypatch.setattr(
        fit_calibration, "fit_models", lambda cells: seen.append(cells.x.size) or real(cells)
    )
    levels = []
    effects = fit_calibration.level_effects
    monkeypatch.setattr(
        fit_calibration,
        "level_effects",
        lambda eta, *rest: levels.append(eta.size) or effects(eta, *rest),
    )
    graded = some_answers("questions", 20_000)
    fit(graded, stamp=STAMP)
    assert len(seen) == 1 + fit_calibration.FOLDS
    assert max(seen + levels) <= 3 * 8  # states times levels


def test_leaving_questions_out_is_a_subtraction():
    graded = some_answers("questions coarse signal")
    counted, at = count_answers(graded)
    out = graded.question < 40
    rows, right = (
        np.bincount(at.cell[out], weight, minlength=counted.rows.size)
        for weight in (None, graded.correct[out])
    )
    kept = np.unique(graded.question) >= 40
    rest = counted.keep(counted.rows - rows, counted.right - right, kept)
    whole, _ = count_answers(graded.rows(~out))
    assert rest.rows.tolist() == whole.rows.tolist()
    assert rest.right.tolist() == whole.right.tolist()
    assert rest.design_effect == whole.design_effect
    assert whole.design_effect == pytest.approx(design_effect_by_rows(graded.rows(~out)))


def test_the_long_comparison_in_short(tmp_path):
    """`python -m validation.calibration_rows` does this with a million rows and a limit."""
    from validation.calibration_rows import compare, graded_table, run_counted

    table, out = tmp_path / "graded.parquet", tmp_path / "calibration.json"
    graded_table(4_000).write_parquet(table)
    run_counted(table, out)
    assert compare(table, out) < CLOSE


def test_all_rows_of_a_question_are_calibrated_by_fits_that_saw_none_of_them():
    graded = replace(draw_graded(60), question=np.arange(60) // 3)
    before = cross_fit(graded, seed=3, folds=20)
    turned = graded.correct.copy()
    turned[7] = not turned[7]
    after = cross_fit(replace(graded, correct=turned), seed=3, folds=20)
    changed = np.flatnonzero(after != before)
    assert not {6, 7, 8} & set(changed.tolist())
    assert changed.size == 57


def test_leaving_confidences_alone_begins_with_even_odds():
    """The posterior odds of the identity are the ratio of evidences: its prior is one half."""
    for seed in range(4):
        graded = draw_graded(40, boast=0.0, seed=seed)
        made = fit_calibration.fit_rows(graded)
        counted, _ = count_answers(graded)
        cells = fit_calibration._cells(counted, counted.state, 3, None, 1.0)
        evidence = fit_calibration.fit_models(cells).evidence
        alone = np.clip(graded.confidence, fit_calibration.LEAST, fit_calibration.MOST)
        stays = np.log(np.where(graded.correct, alone, 1 - alone)).sum()
        odds = np.exp(stays) / np.exp(evidence).mean()
        assert made.identity == pytest.approx(odds / (1 + odds), rel=1e-3)
        assert made.identity > 0.2
