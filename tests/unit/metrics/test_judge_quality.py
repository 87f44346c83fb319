"""What a judge is worth: exact counts, labels saved by good and idle judges, refusals."""

import numpy as np
import pytest

from novarag.metrics.judge_quality import JudgedRows, measure_marks


def rows(mark, label, source=None, repeats=()):
    mark, label = np.asarray(mark, float), np.asarray(label, float)
    source = np.arange(mark.size) if source is None else np.asarray(source)
    return JudgedRows(mark=mark, label=label, source=source, repeats=repeats)


def judged(rng, n, right, wrong_rate=0.2):
    label = (rng.random(n) < wrong_rate).astype(float)
    return np.where(rng.random(n) < right, label, 1 - label), label


def test_shares_are_counts():
    label = [1] * 4 + [0] * 6 + [np.nan] * 10
    mark = [1, 1, 1, 0] + [0] * 5 + [1] + [1] * 5 + [0] * 5
    found = measure_marks(rows(mark, label)).figures
    assert found.sensitivity.value == 3 / 4
    assert found.specificity.value == 5 / 6
    assert found.agreement.value == 8 / 10
    assert found.marked.value == 9 / 20
    assert found.labelled.value == 4 / 10
    chance = 0.4 * 0.4 + 0.6 * 0.6
    assert found.kappa == pytest.approx((0.8 - chance) / (1 - chance))
    assert (found.sensitivity.n, found.marked.n) == (4, 20)


def test_kappa_is_that_of_scikit_learn():
    kappa = pytest.importorskip("sklearn.metrics").cohen_kappa_score
    mark, label = judged(np.random.default_rng(3), 200, 0.8)
    assert measure_marks(rows(mark, label)).figures.kappa == pytest.approx(kappa(mark, label))


def test_a_judge_of_90_and_90_saves_much_and_an_idle_one_nothing():
    rng = np.random.default_rng(7)
    good = [measure_marks(rows(*judged(rng, 400, 0.9)), seed=n).saved for n in range(12)]
    assert np.mean([one.value for one in good]) >= 0.4
    assert all(one.low > 0 for one in good)
    assert "saves" in measure_marks(rows(*judged(rng, 400, 0.9))).verdict
    idle = [measure_marks(rows(*judged(rng, 400, 0.5)), seed=n) for n in range(12)]
    assert np.mean([one.saved.value for one in idle]) < 0.02
    assert sum(one.saves for one in idle) <= 2
    assert "do not show" in next(one for one in idle if not one.saves).verdict


def test_a_perfect_judge_saves_all_and_a_reversed_one_is_as_good():
    label = np.arange(40) % 4 == 0
    assert measure_marks(rows(label, label)).saved.value == 1.0
    assert measure_marks(rows(~label, label)).saved.value == 1.0


def test_rows_of_one_source_widen_the_intervals():
    rng = np.random.default_rng(1)
    mark, label = judged(rng, 30, 0.8)
    alone = measure_marks(rows(np.repeat(mark, 10), np.repeat(label, 10))).figures.agreement
    source = np.repeat(np.arange(30), 10)
    together = measure_marks(rows(np.repeat(mark, 10), np.repeat(label, 10), source)).figures
    assert together.agreement.value == alone.value
    assert together.agreement.high - together.agreement.low > 2 * (alone.high - alone.low)


def test_repeats_count_only_where_it_was_asked_again():
    mark, label = [1, 0] * 10, [1, 0] * 10
    again = np.array([1, 1] + [np.nan] * 18)
    found = measure_marks(rows(mark, label, repeats=(again, np.array(mark, float))))
    assert found.repeated.value == 21 / 22
    assert measure_marks(rows(mark, label)).repeated is None


def test_segments_are_measured_by_themselves():
    mark = [1] * 10 + [0] * 10
    label = [1] * 20
    parts = (("a", np.arange(10)), ("b", np.arange(10, 20)))
    found = measure_marks(rows(mark, label), parts)
    assert [(name, part.sensitivity.value) for name, part in found.segments] == [
        ("a", 1.0), ("b", 0.0),
    ]  # fmt: skip


def test_labels_of_few_sources_are_refused():
    with pytest.raises(ValueError, match="labels of 7 sources say nothing about a judge"):
        measure_marks(rows([1.0] * 20, [1.0] * 7 + [np.nan] * 13))


def test_a_segment_that_nobody_labelled_says_nothing_of_people():
    label = [1, 0] * 10 + [np.nan] * 5
    found = measure_marks(rows([1, 0] * 10 + [1] * 5, label), (("new", np.arange(20, 25)),))
    ((_, figures),) = found.segments
    assert np.isnan(figures.sensitivity.value)
    assert np.isnan(figures.kappa)
    assert figures.marked.value == 1.0


def test_labels_that_are_all_alike_have_nothing_to_save():
    found = measure_marks(rows([1, 0] * 10, [1] * 20))
    assert found.saved.value == 0.0
    assert not found.saves
