"""How a gate is set: which rows, which tests, and whether the promise is kept."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from novarag.calibration.fit_gate import choose, chosen_rows, fit_gate, make_chains
from novarag.calibration.graded_answers import GradedAnswers
from novarag.calibration.threshold_tests import ChainStart, ThresholdCounts, starts, step_ends, walk
from novarag.errors import UsageError
from novarag.stats.exact import binomial_cdf, least_count, most_hits, upper_bound
from tests.support.graded_answers import draw_graded


def rows_of(score, wrong, **more):
    score = np.asarray(score, dtype=float)
    return GradedAnswers(
        confidence=score,
        correct=~np.asarray(wrong, dtype=bool),
        question=more.pop("question", np.arange(score.size)),
        state=more.pop("state", np.full(score.size, -1)),
        **more,
    )


def levelled(*levels):
    """Rows by level: (score, rows, how many of them wrong)."""
    score = np.concatenate([np.full(rows, at) for at, rows, _ in levels])
    wrong = np.concatenate([np.arange(rows) < errors for _, rows, errors in levels])
    return rows_of(score, wrong)


def test_the_binomial_is_that_of_scipy():
    rng = np.random.default_rng(0)
    count = rng.integers(1, 300, 500).astype(float)
    hits = np.floor(rng.random(500) * (count + 1))
    for rate in (0.01, 0.2, 0.7):
        assert binomial_cdf(hits, count, rate) == pytest.approx(binom.cdf(hits, count, rate))
        most = most_hits(count, rate, 0.1)
        assert (binom.cdf(most[most >= 0], count[most >= 0], rate) <= 0.1).all()
        assert (binom.cdf(most + 1, count, rate) > 0.1).all()
    for hits, rate, level in ((0, 0.05, 0.1), (1, 0.2, 0.02), (2, 0.5, 0.3)):
        count = least_count(hits, rate, level)
        assert binom.cdf(hits, count, rate) <= level < binom.cdf(hits, count - 1, rate)
    assert binom.cdf(3, 40, upper_bound(3, 40, 0.1)) == pytest.approx(0.1)
    assert upper_bound(3, 3, 0.1) == 1
    assert binomial_cdf(np.array([-1.0]), np.array([3.0]), 0.2) == 0


def test_thresholds_are_distinct_scores_a_hundredth_of_the_rows_apart():
    assert step_ends(np.array([0.9, 0.9, 0.8, 0.8 - 1e-12, 0.5])).tolist() == [2, 4, 5]
    fine = step_ends(np.linspace(1, 0, 1000))
    assert np.diff(fine, prepend=0).min() == 10
    assert fine[-1] == 1000
    assert step_ends(np.linspace(1, 0, 1005))[-1] == 1005
    assert step_ends(np.zeros(0)).size == 0


def test_what_passes_hands_its_level_on_and_what_fails_ends_the_chain():
    sizes = np.array([50.0, 100.0, 150.0, 200.0, 250.0])
    counts = ThresholdCounts(
        np.linspace(0.9, 0.5, 5), sizes, sizes, np.array([2.0, 4.0, 6.0, 40.0, 40.0])
    )
    way = walk(counts, 0.2, [ChainStart(40, 0.02), ChainStart(90, 0.08)])
    assert way.p_value == pytest.approx(binom.cdf(counts.errors, sizes, 0.2))
    assert way.level == pytest.approx([0.02, 0.1, 0.1, 0.1, 0.0])
    assert way.last == 2  # the fourth fails, and the fifth, which would pass, is not tested
    alone = walk(
        counts._replace(errors=np.array([20.0, 4.0, 6.0, 8.0, 90.0])),
        0.2,
        [ChainStart(40, 0.02), ChainStart(90, 0.08)],
    )
    assert alone.level == pytest.approx([0.02, 0.08, 0.08, 0.08, 0.08])
    assert alone.last == 3
    assert walk(counts, 0.2, [ChainStart(1000, 0.1)]).last == -1


def test_starts_share_the_level_and_look_at_numbers_only():
    assert starts(100, 0.2, 0.1) == [ChainStart(20, 0.1)]
    strict, main = starts(1000, 0.2, 0.1)
    assert (strict.least, main.least) == (least_count(1, 0.2, 0.02), 200)
    assert strict.level + main.level == pytest.approx(0.1)
    assert starts(30, 0.2, 0.1) == [ChainStart(least_count(1, 0.2, 0.1), 0.1)]


def test_certifies_the_loosest_threshold_on_the_path():
    graded = levelled((0.95, 60, 2), (0.9, 60, 6), (0.8, 60, 10), (0.5, 60, 50))
    gate = fit_gate(graded, risk=0.2)
    assert (gate.threshold, gate.share, gate.errors) == (0.8, 0.75, 18)
    assert [step.passed for step in gate.path] == [True, True, True, False]
    assert [(step.answered, step.errors) for step in gate.path][:2] == [(60, 2), (120, 8)]
    assert {kept.risk: kept.threshold for kept in gate.kept}[0.2] == 0.8
    assert gate.least_risk is None
    assert gate.need is None


def test_says_what_these_rows_could_certify_and_that_is_true():
    graded = levelled((0.95, 60, 6), (0.9, 60, 12), (0.5, 60, 50))
    gate = fit_gate(graded, risk=0.05)
    assert gate.threshold is None
    assert gate.least_risk is not None
    assert fit_gate(graded, risk=gate.least_risk).threshold is not None
    assert fit_gate(graded, risk=gate.least_risk - 0.01).threshold is None


def test_unread_replies_are_counted_and_never_answered():
    graded = levelled((0.95, 100, 2), (0.5, 100, 80))
    score = graded.confidence.copy()
    score[10:30] = np.nan
    gate = fit_gate(replace(graded, confidence=score), risk=0.2)
    assert gate.counted.unread == 20
    assert gate.path[0].answered == 80
    assert gate.share == 0.4  # of all rows, the unread ones among them
    all_unread = fit_gate(rows_of([np.nan] * 40, [False] * 40), risk=0.2)
    assert all_unread.threshold is None
    assert all_unread.path == ()
    assert all_unread.need == (None, None, None)


def test_draws_one_row_a_question_by_seed():
    question = np.repeat(np.arange(200), 5)
    graded = rows_of(np.tile([0.9, 0.8, 0.7, 0.6, 0.5], 200), np.zeros(1000), question=question)
    used, chosen = chosen_rows(graded, "one", 0)
    assert used == 200
    assert np.array_equal(question[chosen], np.arange(200))
    assert np.bincount(chosen % 5, minlength=5).min() > 20  # any of the five
    assert not np.array_equal(chosen, chosen_rows(graded, "one", 1)[1])
    assert np.array_equal(chosen, chosen_rows(graded, "one", 0)[1])


def test_rows_of_one_question_count_by_their_effective_number():
    question = np.repeat(np.arange(60), 5)
    wrong = np.repeat(np.arange(60) % 6 == 0, 5)
    alike = rows_of(np.full(300, 0.9), wrong, question=question)
    gate = fit_gate(alike, risk=0.3, rows="all")
    assert gate.approximate
    assert gate.path[-1].answered == pytest.approx(59, abs=0.1)  # not 300
    alone = fit_gate(rows_of(np.full(60, 0.9), wrong[::5]), risk=0.3, rows="all")
    assert not alone.approximate
    with pytest.raises(UsageError, match="`rows`"):
        fit_gate(alike, risk=0.3, rows="some")


def test_picked_rows_are_thinned_to_the_lowest_rate():
    weight = np.tile([1.0, 4.0], 400)
    graded = replace(levelled((0.9, 400, 20), (0.6, 400, 100)), weight=weight)
    gate = fit_gate(graded, risk=0.4)
    assert gate.counted.weighted
    assert gate.path[0].answered == pytest.approx(200 + 50, abs=25)
    one = replace(graded, weight=np.full(800, 7.0))
    assert fit_gate(one, risk=0.4).path[0].answered == 400
    even = fit_gate(replace(graded, weight=np.where(graded.confidence > 0.8, 1.0, 3.0)), risk=0.4)
    assert even.path[0].answered == 400  # strict rows are thinned only where looser ones join
    assert even.share == 1


def test_by_state_two_chains_share_the_level():
    rng = np.random.default_rng(2)
    state = rng.integers(0, 2, 800)
    graded = rows_of(
        np.full(800, 0.9), rng.random(800) < np.array([0.6, 0.05])[state],
        state=state, states=("conflicting", "consistent"),
    )  # fmt: skip
    gate = fit_gate(graded, risk=0.1, state="consistent")
    assert gate.state == "consistent"
    assert gate.share == pytest.approx(np.mean(state == 1))
    levels = {step.states: step.level for step in gate.path}
    assert sum(levels.values()) <= 0.1 + 1e-9
    assert fit_gate(graded, risk=0.1).threshold is None
    with pytest.raises(UsageError, match="conflicting, consistent"):
        fit_gate(graded, risk=0.1, state="certain")


@pytest.mark.parametrize("risk", [0.0, 1.0, -0.1, 10.0, float("nan")])
def test_refuses_a_risk_that_is_none(risk):
    with pytest.raises(UsageError, match="`risk`"):
        fit_gate(draw_graded(60), risk=risk)
    with pytest.raises(UsageError, match="`confidence_level`"):
        fit_gate(draw_graded(60), risk=0.1, confidence_level=risk)


def test_refuses_scores_that_are_no_chances():
    with pytest.raises(UsageError, match="0 to 1"):
        fit_gate(draw_graded(60), risk=0.1, score=np.full(60, 2.0))


BROKEN_AT_MOST = 0.1 + 3 * (0.09 / 400) ** 0.5


@pytest.mark.parametrize("kind", ["plain", "ties", "unread", "picked", "clusters"])
def test_keeps_its_promise_where_every_threshold_is_a_hair_too_risky(kind):
    """The hardest case: no threshold may pass, and each nearly does."""
    risk, broken, runs, n = 0.2, 0, 400, 150
    for run in range(runs):
        rng = np.random.default_rng([5, run])
        each = 5 if kind == "clusters" else 1
        question = np.repeat(np.arange(n), each)
        score = rng.integers(1, 3 if kind == "ties" else 21, n * each) / 20
        wrong = np.repeat(rng.random(n), each) < risk + 1e-9
        weight = None
        if kind == "picked":
            weight = np.where(score > 0.5, 1.0, 4.0)
        if kind == "unread":
            score[rng.random(n) < 0.2] = np.nan
        graded = rows_of(score, wrong, question=question, weight=weight)
        _, chosen = chosen_rows(graded, "one", run)
        chains = make_chains(graded, score, chosen, state=None, rows="one", seed=run)
        broken += choose(chains, risk, 0.9) is not None
    assert 0 < broken / runs <= BROKEN_AT_MOST


def test_all_rows_without_an_error_count_as_questions():
    graded = rows_of(np.full(200, 0.9), np.zeros(200), question=np.arange(200) // 2)
    made = fit_gate(graded, risk=0.2, rows="all")
    assert made.threshold == 0.9
    assert max(step.answered for step in made.path) == 100
    alone = fit_gate(replace(graded, question=np.zeros(200, dtype=np.intp)), risk=0.2, rows="all")
    assert alone.threshold is None


def test_hardly_any_reply_that_could_be_read_leaves_a_need_without_an_end():
    score = np.full(400, np.nan)
    score[:2] = 0.9
    made = fit_gate(rows_of(score, np.zeros(400)), risk=0.1)
    assert made.threshold is None
    assert made.need.high is None
