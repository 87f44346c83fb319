"""The verdict: intervals decide, and where they do not nothing is claimed."""

from dataclasses import replace

import numpy as np
import pytest

from novarag.metrics import CheckedThreshold, Decisions, Figure, Panel
from novarag.report.verdict import MARGIN, judge, strictest


def panel(*, promised=0.7, delivered=0.7, reach=0.02, auroc=(0.7, 0.65, 0.75), ece=(0.02, 0, 0.04)):
    gap = promised - delivered
    figures = {
        "mean_confidence": Figure(promised, promised - 0.01, promised + 0.01, 400),
        "accuracy": Figure(delivered, delivered - 0.04, delivered + 0.04, 400),
        "overconfidence": Figure(gap, gap - reach, gap + reach, 400),
        "auroc": Figure(*auroc, 400),
        "ece": Figure(*ece, 400),
    }
    return Panel(
        name="all", rows=420, questions=400, read=400, ungraded=0, flaws={}, figures=figures
    )


@pytest.mark.parametrize(
    ("given", "act", "kind", "says"),
    [
        ({"promised": 0.78, "delivered": 0.22}, "no", "over", "it promises 78 %, delivers 22 %"),
        ({"promised": 0.4, "delivered": 0.7}, "no", "under", "too little, 40 %, and delivers 70 %"),
        ({"promised": 0.71, "delivered": 0.69}, "yes", "usable", "It promises 71 %, delivers 69 %"),
        ({"auroc": (0.4, 0.35, 0.45)}, "no", "backwards", "points the wrong way"),
        ({"auroc": (0.51, 0.46, 0.56)}, "no", "blind", "no better than a coin"),
        ({"auroc": (0.6, 0.45, 0.7)}, "wait", "unsettled", "is not shown"),
        ({"auroc": (float("nan"), None, None)}, "wait", "unsettled", "is not shown"),
        ({"reach": 0.1}, "wait", "unsettled", "may be -10.0 to +10.0 points"),
        ({"ece": (0.12, 0.09, 0.15)}, "no", "uneven", "off by 12 points"),
        ({"promised": 0.98, "delivered": 1.0}, "wait", "one-sided", "all answers were right"),
    ],
)  # fmt: skip
def test_each_rule(given, act, kind, says):
    found = judge(panel(**given))
    assert (found.act, found.kind) == (act, kind)
    assert says in found.line


def test_a_large_gap_that_may_be_chance_is_no_reason_to_refuse():
    found = judge(panel(promised=0.8, delivered=0.72, reach=0.1))
    assert found.act == "wait"
    assert "-2.0 to +18.0 points" in found.line


def test_a_sure_gap_within_the_margin_is_usable():
    assert judge(panel(promised=0.73, delivered=0.7, reach=0.01)).act == "yes"
    assert judge(panel(promised=0.7 + MARGIN + 0.01, delivered=0.7, reach=0.01)).act == "no"


def test_what_would_settle_it_is_said_in_questions():
    # four times the questions halve the reach of 0.1 to the margin of 0.05
    assert "About 1,600 graded questions would settle it." in judge(panel(reach=0.1)).because
    assert "settle" not in judge(panel(promised=0.748, delivered=0.7, reach=0.1)).because


def test_refused_and_without_an_interval_nothing_is_said():
    few = replace(panel(), refusal="12 rows, fewer than 50")
    assert judge(few).line == "Nothing can be said yet: 12 rows, fewer than 50."
    found = panel()
    gap = {"overconfidence": Figure(0.5, None, None, 400)}
    assert judge(replace(found, figures={**found.figures, **gap})).kind == "nothing"


def test_a_usable_confidence_names_the_strictest_threshold_that_was_certified():
    made = Decisions(
        confidence_level=0.9, used=400, chosen_on=200, checked_on=200,
        thresholds=(
            CheckedThreshold(risk=0.02, threshold=None, need=900),
            CheckedThreshold(risk=0.05, threshold=0.95, failed=True),
            CheckedThreshold(risk=0.1, threshold=0.9), CheckedThreshold(risk=0.2, threshold=0.7),
        ),
    )  # fmt: skip
    assert "at 90 % or more, at most 10 % are wrong" in judge(panel(), made).line
    assert strictest(None) is None
    assert np.isclose(strictest(made).risk, 0.1)
