"""Drift: a false alarm is as rare as is said, a true one as quick, and the file carries it all."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novarag.calibration import drift
from novarag.calibration.calibration_file import from_json, to_json
from novarag.calibration.drift import (
    ALARM,
    FALSE_ALARM,
    QUIET,
    STATES,
    WARNING,
    DriftTest,
    DriftWatch,
    less_confident,
    more_of_state,
    shares_of,
)
from novarag.calibration.fit_calibration import FitStamp, fit
from novarag.calibration.graded_answers import GradedAnswers
from novarag.calibration.reference import DriftReference, count_reference
from novarag.errors import DataError
from tests.support.least import least
from validation.drift import TRUTHS, draw, run, sampled, watched

SPREAD = DriftReference(counts=TRUTHS["spread out"])

counts = st.dictionaries(
    st.sampled_from((*STATES, "another")),
    st.dictionaries(st.integers(0, 100), st.integers(0, 400), max_size=6),
    max_size=5,
).filter(lambda c: sum(sum(levels.values()) for levels in c.values()) >= 30)


def rows(n=120, *, seed=0, weight=None, per_question=1):
    rng = np.random.default_rng(seed)
    return GradedAnswers(
        confidence=rng.choice([0.5, 0.8, 0.9, np.nan], size=n),
        correct=rng.random(n) < 0.6,
        question=np.arange(n) // per_question,
        state=rng.integers(-1, 3, size=n),
        states=("conflicting", "consistent", "insufficient"),
        weight=weight,
        question_ids=tuple(map(str, range(-(-n // per_question)))),
        digest="d",
    )


def fed(watch, answers):
    for confidence, state in answers:
        watch.see(confidence, state)
    return watch.state()


@given(counts)
@settings(max_examples=60, deadline=None)
def test_no_bet_is_expected_to_win_inside_its_bounds(given_counts):
    """What the error rests on: at a share up to its bound the mean of the ratio is at most 1."""
    test = DriftTest(DriftReference(counts=given_counts))
    for at, bet in enumerate(test.bets):
        pairs = zip(test.events[bet.event].cells, test.ratios[:, at], strict=True)
        ratio = dict(pairs)
        for share in (0.0, bet.bound / 2, bet.bound, (1 + bet.bound) / 2, 1.0):
            mean = share * ratio[1.0] + (1 - share) * ratio[0.0]
            inside = share <= bet.bound if bet.above else share >= bet.bound
            assert mean <= 1 + 1e-9 or not inside
    assert test.stake * len(test.bets) <= 1 + 1e-9


@given(counts)
@settings(max_examples=60, deadline=None)
def test_the_bounds_hold_the_share_that_was_counted(given_counts):
    test = DriftTest(DriftReference(counts=given_counts))
    for bet in test.bets:
        share = float(test.shares @ test.events[bet.event].cells)
        assert bet.bound > share if bet.above else bet.bound < share


@pytest.mark.parametrize("answers", [1, 2, 50, 5000])
def test_the_stake_is_laid_once(answers):
    laid = sum(drift._begins(n) for n in range(answers))
    assert laid + drift._left(answers) == pytest.approx(1.0)


def test_false_alarms_are_as_rare_as_is_stated():
    rng = np.random.default_rng(3)
    streams = draw(TRUTHS["spread out"], 100, 300, rng)
    cells = sampled(shares_of(TRUTHS["spread out"]), 300, 1500, rng)
    warned, alarmed = run(streams, cells)
    assert (alarmed > 0).mean() <= FALSE_ALARM
    assert (warned > 0).mean() <= drift.FALSE_WARNING


@pytest.mark.parametrize("size", [100, 300, 1000])
def test_an_alarm_comes_within_the_stated_number(size):
    rng = np.random.default_rng(size)
    truth = TRUTHS["spread out"]
    streams = draw(truth, size, 60, rng)
    lower = less_confident(SPREAD, 10)
    stated = np.array([test.needed(lower, after=200) for test in streams.tests])
    before = sampled(shares_of(truth), 60, 200, rng)
    after = sampled(lower, 60, int(stated.max()), rng)
    alarmed = run(streams, np.concatenate([before, after], axis=1))[1] - 200
    assert ((alarmed > 0) & (alarmed <= stated)).mean() >= drift.SURE
    assert stated.max() < 400


def test_the_watch_does_what_the_streams_of_the_proof_do():
    rng = np.random.default_rng(5)
    streams = draw(TRUTHS["spread out"], 300, 6, rng)
    cells = sampled(less_confident(SPREAD, 10), 6, 400, rng)
    alarmed = run(streams, cells)[1]
    assert alarmed.all()
    assert [watched(t, c) for t, c in zip(streams.tests, cells, strict=True)] == alarmed.tolist()


def test_an_alarm_says_what_differs_and_stays():
    watch = DriftWatch.of(SPREAD)
    assert watch.state().state == QUIET
    state = fed(watch, [(0.9, "insufficient")] * 60)
    assert state.state == ALARM
    assert state.since == watch.since < 60
    assert "evidence insufficient: 100 % of the last 60 answers" in state.sentence
    assert "20 % in the calibration's own data" in state.sentence
    assert fed(watch, [(0.9, "consistent")] * 2000).state == ALARM
    assert watch.state().answers == 2060


def test_a_warning_comes_first_and_may_pass():
    rng = np.random.default_rng(0)
    order = [(p / 100, s) for s, levels in SPREAD.counts.items() for p in levels for _ in "ab"]
    watch, seen = DriftWatch.of(DriftReference(counts=TRUTHS["spread out"])), set()
    for _ in range(40):
        watch.see(0.9, "insufficient")
        seen.add(watch.state().state)
        if watch.state().state == WARNING:
            break
    assert seen == {QUIET, WARNING}
    for n in rng.permutation(400):
        watch.see(*order[n % len(order)])
    assert watch.state().state == QUIET


def test_a_question_counts_once():
    watch = DriftWatch.of(SPREAD)
    for _ in range(500):
        watch.see(0.2, "insufficient", 7)
    assert (watch.answers, watch.state().state) == (1, QUIET)
    for number in range(drift._LATELY + 1):
        watch.see(0.9, "consistent", number)
    before = watch.answers
    watch.see(0.9, "consistent", 7)  # so long ago that it is forgotten
    assert watch.answers == before + 1
    assert len(watch._asked) == drift._LATELY


def test_bigger_references_and_bigger_drifts_are_noticed_sooner():
    small = DriftTest(SPREAD)
    large = DriftTest(
        DriftReference(
            counts={s: {p: 10 * n for p, n in c.items()} for s, c in SPREAD.counts.items()}
        )
    )
    drifts = [more_of_state(SPREAD, "insufficient", share) for share in (0.5, 0.6, 0.8)]
    needed = [small.needed(shares) for shares in drifts]
    assert needed == sorted(needed, reverse=True)
    assert large.needed(drifts[0]) < small.needed(drifts[0]) < small.needed(drifts[0], after=10**6)
    assert small.needed(small.shares) is None


def test_drifts_are_shares():
    unseen = DriftReference(counts={"consistent": {90: 60, 100: 40}})
    for shares in (
        less_confident(SPREAD, 10), less_confident(SPREAD, 100),
        more_of_state(SPREAD, "insufficient", 0.4), more_of_state(unseen, "insufficient", 0.3),
        more_of_state(unseen, "consistent", 0.5),
    ):  # fmt: skip
        assert shares.sum() == pytest.approx(1.0)
        assert (shares >= 0).all()
    weak = drift.events()[STATES.index("insufficient")].cells
    assert more_of_state(unseen, "insufficient", 0.3) @ weak == pytest.approx(0.3)


def test_one_answer_is_cheap():
    watch = DriftWatch.of(SPREAD)
    answers = [(p / 100, s) for s, levels in SPREAD.counts.items() for p in levels]

    def seconds():
        began = time.process_time()
        for n in range(2000):
            watch.see(*answers[n % len(answers)], question=n)
        return (time.process_time() - began) / 2000

    assert least(seconds, 20e-6, tries=30) < 20e-6


# --- the reference ---


def test_a_reference_counts_one_read_answer_a_question():
    graded = rows(600, per_question=5)
    made = count_reference(graded)
    read = np.unique(graded.question[graded.read]).size
    assert made.rows == read <= 120
    assert set(made.counts) <= {"", *graded.states}
    assert made == count_reference(graded)
    assert made != count_reference(graded, seed=1)


def test_picked_rows_are_thinned_to_the_log():
    """Half of the rows stand for nine answers each: they make nine tenths of the counts."""
    n = 4000
    often = np.arange(n) % 2 == 0
    graded = replace(
        rows(n),
        confidence=np.where(often, 0.9, 0.5),
        weight=np.where(often, 9.0, 1.0),
    )
    made = count_reference(graded)
    share = sum(levels.get(90, 0) for levels in made.counts.values()) / made.rows
    assert share == pytest.approx(0.9, abs=0.02)
    assert made.rows == pytest.approx(n / 2 + n / 18, rel=0.05)


def test_a_calibration_carries_its_reference_and_old_files_have_none():
    made = fit(rows(), stamp=FitStamp(date="2026-01-01", version="1"))
    assert made.reference is not None
    again = from_json(json.loads(json.dumps(to_json(made))), source="file")
    assert again.reference == made.reference
    old = to_json(replace(made, reference=None))
    assert (old["kind"], "reference" in old) == ("calibration 1", False)
    assert from_json(old, source="file").reference is None


@pytest.mark.parametrize("levels", [{"101": 1}, {"50": -1}, {"x": 1}])
def test_counts_that_are_none_are_refused(levels):
    content = to_json(fit(rows(), stamp=FitStamp(date="2026-01-01", version="1")))
    content["reference"]["counts"]["consistent"] = levels
    with pytest.raises(DataError, match="of the wrong kind"):
        from_json(content, source="file")


def test_a_reference_without_answers_bets_on_nothing():
    empty = DriftTest(DriftReference(counts={}))
    assert empty.needed(shares_of(SPREAD.counts)) is None
