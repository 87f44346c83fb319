"""Two tables of answers to the same questions, held against budgets."""

import numpy as np
import polars as pl
import pytest

from novarag.errors import UnknownNameError, UsageError
from novarag.metrics import METRICS, measure_table
from novarag.metrics.budgets import BUDGETS, cannot_tell, check_budgets, check_limits
from novarag.metrics.measuring import compare_groups
from novarag.stats.budgets import BudgetStanding
from tests.support.changes import answers

QUICK = {"replicates": 100}


def held(new, old, budgets=None, **more):
    checks, paired = check_budgets(new, old, check_limits(budgets), **{**QUICK, **more})
    return {(one.metric, one.group): one for one in checks}, paired


def test_a_boast_breaks_the_budget_of_brier_and_nothing_else():
    found, paired = held(answers(boast=0.8), answers(), {"brier": 0.02, "auroc": 0.03})
    brier = found["brier", None]
    assert brier.held is BudgetStanding.BROKEN
    assert brier.worse.low > 0.02
    assert found["auroc", None].held is found["unread", None].held is BudgetStanding.KEPT
    assert (paired.shared, paired.read, paired.only_new, paired.only_old) == (300, 300, 0, 0)


def test_an_honest_change_is_kept_and_an_improvement_too():
    found, _ = held(answers(boast=0.01), answers())
    assert {one.held for one in found.values()} == {BudgetStanding.KEPT}
    better, _ = held(answers(), answers(boast=0.8))
    assert better["brier", None].held is BudgetStanding.KEPT
    assert better["brier", None].worse.high < 0


def test_values_and_difference_are_those_of_the_figures():
    new, old = answers(boast=0.3), answers()
    found, _ = held(
        new,
        old,
        {"brier": 0.02, "auroc": 0.02, "accuracy": 0.02, "smooth_ece": 0.1},
        replicates=200,
    )
    for name in ("brier", "auroc", "accuracy", "smooth_ece"):
        one, of = found[name, None], METRICS[name]
        after, before = (
            of(t["confidence"].to_numpy(), t["correct"].to_numpy()) for t in (new, old)
        )
        assert (one.new, one.old) == pytest.approx((after, before))
        assert one.worse.value == pytest.approx(-of.better * (after - before))
        assert one.worse.low <= one.worse.value <= one.worse.high


def test_where_more_is_better_less_is_worse():
    found, _ = held(answers(shuffled=True), answers(), {"auroc": 0.05, "brier": 0.02})
    assert found["auroc", None].held is BudgetStanding.BROKEN
    assert 0.05 < found["auroc", None].worse.low < found["auroc", None].worse.high
    back, _ = held(answers(), answers(shuffled=True), {"auroc": 0.05})
    assert back["auroc", None].held is BudgetStanding.KEPT


def test_the_interval_is_of_the_paired_difference():
    """The same answers, a little surer: pairing leaves an interval far narrower than two apart."""
    new, old = answers(boast=0.1), answers()
    found, _ = held(new, old)
    apart = [measure_table(t, replicates=100).overall.figures["brier"] for t in (new, old)]
    width = found["brier", None].worse.high - found["brier", None].worse.low
    assert width < 0.5 * min(one.high - one.low for one in apart)
    both = pl.concat([new.with_columns(side=pl.lit("new")), old.with_columns(side=pl.lit("old"))])
    [same] = [
        d for d in measure_table(both, by="side", replicates=100).differences if d.metric == "brier"
    ]
    assert same.figure == found["brier", None].worse


def test_rows_of_one_question_stand_together():
    """Ten copies of each row are no more questions, and tell no more."""
    few = {"new": answers(60, boast=0.3), "old": answers(60)}
    found, _ = held(few["new"], few["old"])
    copied, _ = held(pl.concat([few["new"]] * 10), pl.concat([few["old"]] * 10))
    one, many = found["brier", None].worse, copied["brier", None].worse
    assert (many.low, many.high) == pytest.approx((one.low, one.high))


def test_too_few_questions_are_said_with_how_many_it_would_take():
    new = answers(60, boast=0.25)
    found, _ = held(new, answers(60))
    one = found["brier", None]
    assert one.held is BudgetStanding.CANNOT_TELL
    assert one.why is None
    assert one.needed > one.questions == 60
    tiny, _ = held(answers(20), answers(20))
    assert {c.held for c in tiny.values()} == {BudgetStanding.CANNOT_TELL}
    assert "after the change: 20 read and graded rows, fewer than the 50" in tiny["brier", None].why


def test_only_questions_of_both_count_and_the_others_are_counted():
    new = answers().with_columns(question=pl.col("question").str.replace("^q0$", "new"))
    found, paired = held(new, answers(310))
    assert (paired.shared, paired.only_new, paired.only_old) == (299, 1, 11)
    assert found["brier", None].questions == 299
    with pytest.raises(UsageError, match="no question of the new answers"):
        held(new.with_columns(question=pl.format("x{}", "question")), answers())


def test_who_leaves_wrong_answers_unread_is_found():
    """Without its worst answers a system looks better; they count on neither side, and are counted."""
    old = answers(boast=0.8)
    hidden = old.with_columns(confidence=pl.when("correct").then("confidence"))
    found, paired = held(hidden, old)
    assert found["unread", None].held is BudgetStanding.BROKEN
    assert found["unread", None].worse.value == pytest.approx(1 - old["correct"].mean())
    assert found["brier", None].worse.value == 0
    assert paired.read == old["correct"].sum()


def test_nothing_read_at_all_is_broken_not_untold():
    found, _ = held(answers(unread=300), answers())
    assert found["unread", None].held is BudgetStanding.BROKEN
    assert found["unread", None].new == 1
    assert "none is on both sides" in found["brier", None].why


def test_questions_without_a_new_answer_leave_the_unread_share_open():
    found, _ = held(answers(280), answers())
    one = found["unread", None]
    assert one.held is BudgetStanding.CANNOT_TELL
    assert one.why == "20 of 300 questions have no answer after the change"
    few, _ = held(answers(296), answers())
    assert few["unread", None].held is BudgetStanding.KEPT


def test_a_figure_that_has_no_value_cannot_be_told():
    right = [t.with_columns(correct=pl.lit(value=True)) for t in (answers(), answers(boast=0.1))]
    found, _ = held(*right, {"auroc": 0.02})
    assert found["auroc", None].held is BudgetStanding.CANNOT_TELL
    assert "all answers are right" in found["auroc", None].why


def test_groups_are_held_to_the_same_budgets():
    """What a whole hides: boasts in one state alone."""
    old = answers(600)
    boast = pl.when(pl.col("state") == "conflicting").then(0.8).otherwise(0.0)
    new = old.with_columns(confidence=pl.col("confidence") + boast * (1 - pl.col("confidence")))
    found, _ = held(new, old, {"brier": 0.11}, by=["state"])
    assert found["brier", None].held is BudgetStanding.KEPT
    assert found["brier", "conflicting"].held is BudgetStanding.BROKEN
    assert found["brier", "consistent"].held is BudgetStanding.KEPT
    assert found["unread", "consistent"].held is BudgetStanding.KEPT
    with pytest.raises(UsageError, match="`by` names"):
        held(new, old.drop("state"), by=["state"])
    moved = new.with_columns(state=pl.lit("nowhere else"))
    assert "none is on both sides" in held(moved, old, by=["state"])[0]["brier", "nowhere else"].why


def test_no_budget_but_that_of_unread_replies():
    found, _ = held(answers(), answers(), {"unread": 0.1})
    assert list(found) == [("unread", None)]
    assert found["unread", None].limit == 0.1


def test_confidences_that_are_not_numbers_are_unread():
    new = answers().with_columns(confidence=pl.lit(np.nan))
    assert held(new, answers())[0]["unread", None].held is BudgetStanding.BROKEN


def test_limits_have_defaults_and_odd_ones_are_refused():
    assert check_limits(None) == {"brier": 0.02, "unread": 0.02}
    assert check_limits({"ece": 0, "unread": 0.5}) == {"ece": 0, "unread": 0.5}
    with pytest.raises(UnknownNameError, match="'overconfidence' is not one of"):
        check_limits({"overconfidence": 0.1})
    for odd in (-0.02, 1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="by how much it may get worse"):
            check_limits({"auroc": odd})
    assert {"brier", "auroc", "accuracy", "ece", "unread"} <= set(BUDGETS)
    assert not {"levels", "uncertainty", "tie_share"} & set(BUDGETS)


def test_what_there_is_nothing_to_hold_against():
    [one, two] = cannot_tell({"brier": 0.02, "unread": 0.1}, "no answers")
    assert (one.metric, two.limit, one.held, two.why) == (
        "brier",
        0.1,
        BudgetStanding.CANNOT_TELL,
        "no answers",
    )


def test_small_groups_are_not_compared():
    table = answers(70).with_columns(
        side=pl.when(pl.int_range(70) < 60).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    views, found = compare_groups(table, ["brier"], by="side", replicates=100)
    assert [view.refusal is None for view in views] == [True, False]
    assert found == ()
