"""`measure`: counts, intervals, baselines, bounds, refusals, differences."""

import tracemalloc

import numpy as np
import polars as pl
import pytest

from novarag import (
    Passage,
    PassageGroup,
    PassageKind,
    Question,
    UnsettledTable,
    UsageError,
    measure,
)
from novarag.metrics import LEAST_ROWS, METRICS, Metric, Unit, measure_table, noise_floor
from novarag.metrics.baselines import FOLDS, base_rate, constant, folds, isotonic
from novarag.metrics.table import find_metrics
from novarag.metrics.tally import add_up, make_rows
from novarag.records import Completion
from novarag.rows import tabulate
from novarag.stats.resampling import draws, inflated_interval, interval
from novarag.strategies import NOVA
from novarag.trials import make_trial


def respondent(n=400, *, seed=0, tilt=1.0, samples=1, levels=11):
    """A table of answers whose chance of being right is confidence ** tilt."""
    rng = np.random.default_rng(seed)
    c = np.repeat(rng.integers(0, levels, n) / (levels - 1), samples)
    y = rng.random(n * samples) < c**tilt
    q = np.repeat([f"q{i}" for i in range(n)], samples)
    return pl.DataFrame({"question": q, "confidence": c, "correct": y})


def test_figures_come_with_intervals_and_counts():
    found = measure(respondent(), replicates=200)
    assert set(found.overall.figures) >= set(METRICS)
    for name, f in found.overall.figures.items():
        assert f.n == 400
        if METRICS.get(name, METRICS["ece"]).interval:
            assert f.low <= f.high, name
            if name in METRICS and not METRICS[name].inflated:
                assert f.low <= f.value <= f.high, name
    assert found.overall.figures["levels"].low is None
    assert (found.groups, found.macro, found.differences) == ((), {}, ())


def test_the_same_seed_gives_the_same_figures():
    one, two = (measure(respondent(), replicates=150, seed=3).overall for _ in range(2))
    assert one.figures == two.figures
    assert one.floor == two.floor
    other = measure(respondent(), replicates=150, seed=4).overall.figures["brier"]
    assert other.low != one.figures["brier"].low


def test_rows_of_one_question_count_as_one():
    single = measure(respondent(300), replicates=400).overall.figures["accuracy"]
    copied = pl.concat([respondent(300)] * 8).sort("question")
    cloned = measure(copied, replicates=400).overall.figures["accuracy"]
    assert cloned.n == 8 * single.n
    assert cloned.high - cloned.low == pytest.approx(single.high - single.low, rel=0.02)


def test_unread_rows_are_counted_and_bounded_never_dropped_in_silence():
    table = respondent(200).with_columns(
        confidence=pl.when(pl.int_range(pl.len()) < 40).then(None).otherwise("confidence"),
        flaw=pl.when(pl.int_range(pl.len()) < 30).then(pl.lit("no answer found")),
    )
    panel = measure(table, replicates=150).overall
    assert (panel.rows, panel.read, panel.figures["accuracy"].n) == (200, 160, 160)
    assert panel.figures["unread"].value == 0.2
    assert panel.flaws == {"no answer found": 30, "no reason given": 10}
    right = table.filter(pl.col("confidence").is_not_null())["correct"].sum()
    assert panel.bounds["accuracy"].at_zero == panel.bounds["accuracy"].at_full == right / 200
    assert panel.bounds["brier"].at_full - panel.bounds["brier"].at_zero == pytest.approx(0.2)


def test_ungraded_rows_are_counted():
    table = respondent(200).with_columns(
        correct=pl.when(pl.int_range(pl.len()) < 50).then(None).otherwise("correct")
    )
    panel = measure(table, replicates=150).overall
    assert (panel.ungraded, panel.figures["brier"].n) == (50, 150)


def test_small_groups_are_refused_with_the_reason():
    table = respondent(100).with_columns(
        group=pl.when(pl.int_range(pl.len()) < LEAST_ROWS - 1)
        .then(pl.lit("a"))
        .otherwise(pl.lit("b"))
    )
    a, b = measure(table, by="group", replicates=150).groups
    assert (a.figures, a.bins, a.floor) == ({}, None, None)
    assert a.refusal == "49 read and graded rows, fewer than the 50 a figure needs"
    assert b.refusal is None


def test_few_questions_are_refused_however_many_rows():
    table = respondent(5, samples=40)
    refusal = measure(table, replicates=100).overall.refusal
    assert refusal == "5 questions, fewer than the 10 an interval needs"


def test_a_refusal_names_what_is_missing():
    table = respondent(200).with_columns(confidence=pl.lit(None, dtype=pl.Float64))
    assert "(200 unread, 0 ungraded)" in measure(table, replicates=100).overall.refusal


def test_a_difference_without_spread_is_certain():
    a = respondent(60).with_columns(
        confidence=pl.lit(1.0), correct=pl.lit(value=True), m=pl.lit("a")
    )
    b = a.with_columns(correct=pl.lit(value=False), m=pl.lit("b"))
    found = measure(pl.concat([a, b]), by="m", replicates=100).differences
    assert {d.metric for d in found} == {"accuracy", "brier", "ece", "aurc"}
    assert all(d.p_holm == 0 for d in found)


def test_a_table_too_small_is_refused_as_a_whole():
    found = measure(respondent(10), replicates=150)
    assert found.overall.refusal
    assert found.overall.rows == 10


def test_groups_differences_and_macro():
    good, bad = respondent(300), respondent(300, tilt=4.0)
    table = pl.concat(
        [good.with_columns(model=pl.lit("good")), bad.with_columns(model=pl.lit("bad"))]
    )
    found = measure(table, by="model", replicates=300)
    assert [g.name for g in found.groups] == ["bad", "good"]
    brier = next(d for d in found.differences if d.metric == "brier")
    assert (brier.one, brier.other, brier.shared_questions) == ("bad", "good", 300)
    bad_panel, good_panel = found.groups
    expected = bad_panel.figures["brier"].value - good_panel.figures["brier"].value
    assert brier.figure.value == pytest.approx(expected)
    assert brier.figure.low > 0
    assert brier.p <= brier.p_holm < 0.05
    mean = (bad_panel.figures["ece"].value + good_panel.figures["ece"].value) / 2
    assert found.macro["ece"].value == pytest.approx(mean)
    assert found.overall.figures["accuracy"].n == 600


def test_no_difference_is_found_where_there_is_none():
    table = respondent(300)
    twice = pl.concat([table.with_columns(m=pl.lit("a")), table.with_columns(m=pl.lit("b"))])
    for d in measure(twice, by="m", replicates=150).differences:
        assert (d.figure.value, d.p_holm) == (0, 1)


def test_grouping_by_several_columns():
    table = respondent(200).with_columns(a=pl.lit("x"), b=pl.int_range(pl.len()) % 2)
    names = [g.name for g in measure(table, by=["a", "b"], replicates=150).groups]
    assert names == ["x · 0", "x · 1"]


def test_all_right_has_no_auroc_and_says_so():
    table = respondent(100).with_columns(correct=pl.lit(value=True))
    f = measure(table, replicates=150).overall.figures["auroc"]
    assert np.isnan(f.value)
    assert (f.low, f.high) == (None, None)


def test_missing_columns_and_empty_tables_are_named():
    with pytest.raises(UnsettledTable, match="no such column"):
        measure(respondent().drop("correct"))
    with pytest.raises(UnsettledTable, match="is a number other than 0 and 1"):
        measure(respondent().with_columns(correct=pl.lit(0.3)))
    with pytest.raises(UsageError, match="no column"):
        measure(respondent(), by="nope")
    for bad, says in (
        ({"confidence": 90.0}, "divide percents"),
        ({"confidence": -0.5}, "divide percents"),
        ({"question": None}, "needs a question"),
    ):
        with pytest.raises(UsageError, match=says):
            measure_table(respondent().with_columns(**{k: pl.lit(v) for k, v in bad.items()}))
    with pytest.raises(UnsettledTable, match="outside 0 to 100"):
        measure(respondent().with_columns(confidence=pl.lit(-0.5)))
    with pytest.raises(UnsettledTable, match="the question is empty"):
        measure(respondent().with_columns(question=pl.lit(None)))
    with pytest.raises(UsageError, match=r"no column \['correct'\]"):
        measure_table(respondent().drop("correct"))
    with pytest.raises(UsageError, match="no rows"):
        measure_table(respondent().clear())
    with pytest.raises(UsageError, match="lists or objects"):
        measure(respondent().with_columns(tags=pl.lit([1])), by="tags")
    with pytest.raises(UsageError, match="no rows"):
        measure(respondent().clear())


# --- baselines ---


def parts(table):
    names = sorted(set(table["question"]))
    question = np.array([names.index(q) for q in table["question"]])
    rows = make_rows(table["confidence"].to_numpy(), table["correct"].to_numpy(), question)
    return rows, folds(names), np.zeros(table.height, dtype=np.intp)


@pytest.mark.parametrize("make", [constant, base_rate, isotonic])
def test_baselines_never_see_the_question_they_answer(make):
    table = respondent(120, samples=2)
    rows, fold, group = parts(table)
    flipped = rows.correct.copy()
    here = fold[rows.question] == 0
    flipped[here] = ~flipped[here]
    other = make_rows(rows.level[rows.at], flipped, rows.question)
    before, after = make(rows, fold, group), make(other, fold, group)
    assert (before[here] == after[here]).all()
    assert (before[~here] != after[~here]).any()


def test_a_single_fold_leaves_nothing_to_fit_on():
    rows, fold, group = parts(respondent(60))
    assert set(isotonic(rows, np.zeros_like(fold), group)) == {rows.correct.mean()}


def test_folds_depend_on_the_question_alone():
    names = [f"q{i}" for i in range(1000)]
    assert (folds(names)[::-1] == folds(names[::-1])).all()
    assert min(np.bincount(folds(names), minlength=FOLDS)) > 150


def test_baselines_do_what_they_say():
    table = respondent(2000, tilt=3.0)
    rivals = measure(table, replicates=150).overall.baselines
    assert set(rivals) == {"constant", "isotonic"}
    assert rivals["constant"]["auroc"].value == 0.5
    assert rivals["constant"]["ece"].value < 0.01
    truth = table["correct"].mean()
    assert rivals["constant"]["brier"].value == pytest.approx(truth * (1 - truth), abs=1e-3)
    assert rivals["constant"]["aurc"].value == pytest.approx(1 - truth, abs=1e-9)
    own = measure(table, replicates=150).overall.figures
    assert rivals["isotonic"]["brier"].value < own["brier"].value
    assert rivals["isotonic"]["auroc"].value == pytest.approx(own["auroc"].value, abs=0.01)


def test_base_rate_knows_its_group():
    sure = respondent(200, seed=1).with_columns(correct=pl.lit(value=True), g=pl.lit("easy"))
    never = respondent(200, seed=2).with_columns(correct=pl.lit(value=False), g=pl.lit("hard"))
    rival = measure(pl.concat([sure, never]), by="g", replicates=150).overall.baselines["base rate"]
    assert rival["brier"].value == 0
    assert rival["auroc"].value == 1


# --- noise floor and resampling ---


@pytest.mark.parametrize(("n", "expected"), [(150, 0.062), (745, 0.028)])
def test_the_noise_floor_is_the_known_one_at_ten_verbal_levels(n, expected):
    c = np.resize(np.arange(50, 100, 5) / 100, n)
    rows = make_rows(c, np.zeros(n, dtype=bool), np.arange(n))
    assert noise_floor(rows, seed=0).mean == pytest.approx(expected, abs=0.002)


def test_the_noise_floor_rises_when_rows_share_questions():
    c = np.full(800, 0.7)
    alone = make_rows(c, np.zeros(800, dtype=bool), np.arange(800))
    shared = make_rows(c, np.zeros(800, dtype=bool), np.arange(800) // 8)
    assert noise_floor(shared, seed=0).mean > 2 * noise_floor(alone, seed=0).mean


def test_calibration_errors_under_the_floor_reach_down_to_zero():
    panel = measure(respondent(200, seed=11), replicates=200).overall
    assert panel.figures["ece"].value < panel.floor.line
    for name in ("ece", "exact_ece", "smooth_ece", "miscalibration"):
        assert panel.figures[name].low == 0


def test_progress_adds_up_to_the_replicates():
    steps = []
    measure_table(respondent(), replicates=300, progress=steps.append)
    assert sum(steps) == 300


def test_replicates_draw_as_many_questions_as_there_are():
    chunks = list(draws(30, 25, seed=0, width=10))
    weights = np.concatenate(chunks)
    assert weights.shape == (25, 30)
    assert (weights.sum(axis=1) == 30).all()


def test_intervals_need_values():
    assert interval(np.full(100, np.nan)) == (None, None)
    assert inflated_interval(0.1, np.full(100, np.nan)) == (None, None)
    assert interval(np.arange(101.0)) == (pytest.approx(2.5), pytest.approx(97.5))
    assert inflated_interval(10.0, np.linspace(11, 13, 101)) == (
        pytest.approx(7.05),
        pytest.approx(12.95),
    )


def test_memory_does_not_grow_with_replicates():
    table = respondent(3000, levels=101)

    def peak(replicates):
        tracemalloc.start()
        measure(table, replicates=replicates)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(8000) < 1.1 * peak(2000) + 4e6


# --- from trials ---


def trial(reply, kinds=(PassageKind.GOLD, PassageKind.COUNTERFACTUAL), answers=("Paris",), q="q"):
    group = PassageGroup(
        question=Question(id=q, text="Capital?", answers=answers),
        passages=tuple(Passage(text="t", kind=k) for k in kinds),
    )
    return make_trial(group, NOVA, 0, Completion(text=reply, model="m"))


SAID = "Passage Classifications: {}\nGroup Judgment: {}\nAnswer: {}\nConfidence: 80%"


def test_trials_become_rows():
    table = tabulate(
        [
            trial(SAID.format("HR, HR", "Conflicting", "Paris")),
            trial(SAID.format("HR, R", "Consistent", "I do not know")),
            trial("dunno"),
            trial("Answer: Paris\nConfidence: 10%", kinds=(None,), answers=()),
        ]
    )
    assert table["confidence"].to_list() == [0.8, 0.8, None, 0.1]
    assert table["correct"].to_list() == [True, False, None, None]
    assert table["abstained"].to_list() == [False, True, None, None]
    assert table["passages_judged"].to_list() == [2, 2, None, None]
    assert table["passages_right"].to_list() == [2, 1, None, None]
    assert table["group_right"].to_list() == [1, 0, None, None]
    assert table["kind"].to_list() == ["counterfactual", "counterfactual", "counterfactual", None]
    assert table["flaw"].to_list()[2] == "no confidence found"


def test_measure_takes_trials_and_counts_judgments():
    trials = [trial(SAID.format("HR, HR", "Conflicting", "Paris"), q=f"q{i}") for i in range(40)]
    trials += [trial(SAID.format("HR, R", "Consistent", "Lyon"), q=f"r{i}") for i in range(40)]
    trials += [trial("dunno", q=f"s{i}") for i in range(20)]
    figures = measure(iter(trials), replicates=150).overall.figures
    assert figures["passage_judgment"].value == 0.75
    assert figures["passage_judgment"].n == 160
    assert figures["group_judgment"].value == 0.5
    assert figures["unread"].value == 0.2
    assert figures["accuracy"].value == 0.5
    assert figures["abstained"].value == 0


# --- metrics of one's own ---


def sharpness(name):
    return Metric(
        name=name, title="Sharpness", better=0, unit=Unit.SCORE,
        of=lambda t: add_up(t.count * (t.level - 0.5) ** 2) / t.total,
        means="How far confidences stay from one half.", fooled_by="Nothing.",
    )  # fmt: skip


OWN = sharpness("sharpness")
HEADER = "no metric"


def test_a_metric_of_ones_own_is_found_by_its_name_and_stands_beside_ours():
    assert find_metrics(["tests.unit.metrics.test_measure:OWN", sharpness("other")])[0] is OWN
    found = measure_table(respondent(60), replicates=100, metrics=[OWN])
    assert found.overall.figures["sharpness"].value > 0


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        (["tests.unit.metrics.test_measure:HEADER"], "is not a Metric but a str"),
        ([sharpness("brier")], "called 'brier' already"),
        ([OWN, sharpness("sharpness")], "called 'sharpness' already"),
    ],
)
def test_what_is_no_metric_or_has_a_name_that_is_taken_is_refused(metrics, says):
    with pytest.raises(UsageError, match=says):
        find_metrics(metrics)
