"""Budgets: how much worse something may have become, held against an interval."""

from __future__ import annotations

from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.stats.figure import Figure

TENS = 10
"""Numbers of questions that would tell are rounded up to multiples of this."""

MOST = 100
"""No number is named that is over so many times the questions at hand."""


class BudgetStanding(StrEnum):
    """What is known of a budget."""

    KEPT = "kept"
    BROKEN = "broken"
    CANNOT_TELL = "cannot tell"


def hold_budget(worse: Figure, limit: float) -> BudgetStanding:
    """Hold a worsening against the most that is allowed: the whole interval decides.

    >>> from novarag.stats.figure import Figure
    >>> [str(hold_budget(Figure(0.03, low, 0.04, 99), 0.02)) for low in (0.021, 0.01)]
    ['broken', 'cannot tell']
    >>> str(hold_budget(Figure(0.01, 0.0, 0.02, 99), 0.02))
    'kept'
    """
    if worse.low is None or worse.high is None:
        return BudgetStanding.CANNOT_TELL
    if worse.low > limit:
        return BudgetStanding.BROKEN
    return BudgetStanding.KEPT if worse.high <= limit else BudgetStanding.CANNOT_TELL


def questions_to_tell(worse: Figure, limit: float, questions: int) -> int | None:
    """Return how many questions would tell, were they like these; None where too many to name.

    An interval shrinks with the root of their number, about the same value.

    >>> from novarag.stats.figure import Figure
    >>> questions_to_tell(Figure(0.0, -0.04, 0.04, 99), 0.02, 100)
    400
    """
    if worse.low is None or worse.high is None:
        return None
    room = abs(limit - worse.value)
    reach = worse.high - worse.value if worse.value <= limit else worse.value - worse.low
    if reach >= room * MOST**0.5:
        return None
    return max(questions + TENS, TENS * ceil(questions * (reach / room) ** 2 / TENS))
