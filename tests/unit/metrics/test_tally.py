"""A replicate's tally is a product of matrices: the same as counting row by row."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag.errors import UsageError
from novarag.metrics import measure_table
from novarag.metrics.baselines import noise_floor
from novarag.metrics.calibration import BINS, bin_of
from novarag.metrics.tally import fold, make_rows


def drawn_rows(rng, rows, questions):
    confidence = rng.integers(0, 11, rows) / 10
    return make_rows(confidence, rng.random(rows) < 0.5, rng.integers(0, questions, rows))


@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 20), st.integers(1, 7))
def test_a_weighted_tally_counts_every_row_as_often_as_its_question(seed, count, questions, drawn):
    rng = np.random.default_rng(seed)
    rows = drawn_rows(rng, count, questions)
    weights = rng.integers(0, 4, size=(drawn, questions)).astype(float)
    by_row = fold(rows.level, rows.at, rows.correct, (w[rows.question] for w in weights))
    for layout in ("C", "F"):
        found = rows.tally(np.array(weights, order=layout))
        assert np.array_equal(found.right, by_row.right)
        assert np.array_equal(found.wrong, by_row.wrong)


@pytest.mark.parametrize("seed", range(3))
def test_the_noise_floor_counts_by_bin_what_rows_say(seed):
    rows = drawn_rows(np.random.default_rng(seed), 80, 30)
    rng = np.random.default_rng(seed)
    used, question = np.unique(rows.question, return_inverse=True)
    level = rows.level[rows.at]
    at = bin_of(level, BINS)
    scores = []
    for _ in range(50):
        truth = rng.random(used.size)[question] < level
        gaps = [(level[at == b].sum() - truth[at == b].sum()) for b in range(BINS)]
        scores.append(np.abs(gaps).sum() / level.size)
    assert noise_floor(rows, seed=seed, draws=50).mean == pytest.approx(np.mean(scores), abs=1e-12)


def test_what_is_neither_right_nor_wrong_is_refused():
    rows = {"question": ["a", "b"], "confidence": [0.5, 0.6], "correct": [1, 2]}
    with pytest.raises(UsageError, match="true or false"):
        measure_table(pl.DataFrame(rows))
