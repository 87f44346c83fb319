"""Budgets: the whole interval decides, and what cannot be told says what it would take."""

import pytest

from novarag.stats.budgets import BudgetStanding, hold_budget, questions_to_tell
from novarag.stats.figure import Figure


@pytest.mark.parametrize(
    ("low", "high", "held"),
    [
        (0.021, 0.05, BudgetStanding.BROKEN),
        (0.02, 0.05, BudgetStanding.CANNOT_TELL),  # exactly what is allowed is not beyond it
        (-0.05, 0.021, BudgetStanding.CANNOT_TELL),
        (-0.05, 0.02, BudgetStanding.KEPT),
        (-0.5, -0.1, BudgetStanding.KEPT),
        (None, None, BudgetStanding.CANNOT_TELL),
    ],
)
def test_the_whole_interval_decides(low, high, held):
    assert hold_budget(Figure(0.02, low, high, 100), 0.02) is held


@pytest.mark.parametrize(
    ("figure", "needed"),
    [
        (Figure(0.0, -0.04, 0.04, 100), 400),  # twice too wide: four times as many
        (Figure(0.06, 0.0, 0.12, 100), 230),  # beyond it, and the lower end must follow
        (Figure(0.0, -0.021, 0.0201, 100), 110),
        (Figure(0.019, -0.04, 0.08, 100), None),  # next to the limit no number would do
        (Figure(0.02, -0.04, 0.08, 100), None),
        (Figure(0.01, None, None, 100), None),
    ],
)
def test_how_many_questions_would_tell(figure, needed):
    assert questions_to_tell(figure, 0.02, 100) == needed


@pytest.mark.parametrize("value", [-0.01, 0.005, 0.05])
def test_as_many_questions_do_tell_if_they_are_like_these(value):
    figure = Figure(value, value - 0.07, value + 0.07, 100)
    needed = questions_to_tell(figure, 0.02, 100)
    reach = 0.07 * (100 / needed) ** 0.5
    assert (
        hold_budget(Figure(value, value - reach, value + reach, needed), 0.02)
        is not BudgetStanding.CANNOT_TELL
    )
