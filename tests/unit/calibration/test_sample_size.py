"""How many graded questions would do: the estimate, beside a count of simulated gates."""

import numpy as np
import pytest

from novarag.calibration.fit_gate import choose, fit_gate, make_chains
from novarag.calibration.graded_answers import GradedAnswers


def drawn(rng, n, rates=(0.05, 0.15, 0.3, 0.5)):
    level = rng.integers(0, len(rates), n)
    return GradedAnswers(
        confidence=0.95 - 0.1 * level,
        correct=rng.random(n) >= np.array(rates)[level],
        question=np.arange(n),
        state=np.full(n, -1),
    )


def refused(n, risk, runs=100):
    count = 0
    for run in range(runs):
        graded = drawn(np.random.default_rng([n, run]), n)
        chains = make_chains(
            graded, graded.confidence, np.arange(n), state=None, rows="one", seed=0
        )
        count += choose(chains, risk, 0.9) is None
    return count / runs


def test_the_number_is_one_that_does_in_about_four_of_five_draws():
    needs = [fit_gate(drawn(np.random.default_rng(k), 200), risk=0.07).need for k in range(7)]
    about = sorted(need.rows for need in needs if need is not None and need.rows is not None)
    middle = about[len(about) // 2]
    assert refused(int(middle * 1.6), 0.07) < 0.25
    assert refused(int(middle / 1.6), 0.07) > 0.2


def test_the_range_is_around_the_number_and_the_same_for_one_seed():
    graded = drawn(np.random.default_rng(2), 200)
    need = fit_gate(graded, risk=0.08).need
    assert need is not None
    assert need.low < need.rows < need.high
    assert fit_gate(graded, risk=0.08).need == need


def test_no_number_does_where_answers_are_wrong_too_often():
    rng = np.random.default_rng(0)
    need = fit_gate(drawn(rng, 300, rates=(0.5, 0.5, 0.5, 0.5)), risk=0.1).need
    assert need is not None
    assert need.rows is None


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_unread_replies_make_it_more(share):
    graded = drawn(np.random.default_rng(3), 200)
    confidence = np.where(np.random.default_rng(1).random(200) < share, np.nan, graded.confidence)
    plain, lossy = (fit_gate(graded, risk=0.08, score=s).need for s in (None, confidence))
    assert plain is not None
    assert lossy is not None
    assert lossy.rows == plain.rows if share == 0 else (lossy.rows or np.inf) > plain.rows
