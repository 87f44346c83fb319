"""Figures as a person reads them: each in the format of its metric, with its title.

Rows that figures leave out are of two kinds: replies that could not be read, graded or not, and
answers that were read and that nobody graded. A reply of the first kind says something of the
answers only if it has a grade.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from novarag.formatting import NOTHING, decimal, fixed_percent, points
from novarag.formatting import span as interval
from novarag.metrics import METRICS
from novarag.metrics.table import Metric, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from novarag.stats.figure import Figure

RATIO_TITLES = {
    "unread": ("Unread", "Share of replies no confidence could be read from."),
    "abstained": ("Abstained", "Share of graded answers that decline to answer; counted wrong."),
    "passage_judgment": (
        "Passage judgments",
        "Share of passages whose stated class is the true one.",
    ),
    "group_judgment": (
        "Group judgments",
        "Share of replies whose stated evidence state is the true one.",
    ),
}


def title_of(name: str, metrics: Mapping[str, Metric] = METRICS) -> str:
    """Return the title of a metric or a share."""
    return metrics[name].title if name in metrics else RATIO_TITLES[name][0]


def in_points(name: str, metrics: Mapping[str, Metric] = METRICS) -> bool:
    """Say whether differences of a figure are points, not scores.

    >>> in_points("accuracy"), in_points("unread"), in_points("brier")
    (True, True, False)
    """
    return _unit(name, metrics) in {Unit.SHARE, Unit.POINTS}


def _unit(name: str, metrics: Mapping[str, Metric]) -> Unit:
    return metrics[name].unit if name in metrics else Unit.SHARE


def each(count: int, answers: int) -> str:
    """Format what one of several answers took.

    >>> each(600, 200), each(5, 2), each(123456, 10)
    ('3', '2.5', '12,346')
    """
    share = count / max(answers, 1)
    return f"{share:,.0f}" if share >= 100 or share == int(share) else f"{share:.1f}"


def number(name: str, value: float | None, metrics: Mapping[str, Metric] = METRICS) -> str:
    """Format one value the way its metric is read.

    >>> number("accuracy", 0.5), number("brier", 0.25), number("levels", 11)
    ('50.0 %', '0.250', '11')
    """
    if value is None or value != value:
        return NOTHING
    if value == 0 and name in metrics and metrics[name].zero:
        return metrics[name].zero
    match _unit(name, metrics):
        case Unit.COUNT:
            return f"{value:.0f}"
        case Unit.POINTS:
            return f"{points(value)} pts"
        case Unit.SHARE:
            return fixed_percent(value)
        case Unit.SCORE:
            return decimal(value)


def span(name: str, figure: Figure, metrics: Mapping[str, Metric] = METRICS) -> str:
    """Format the interval of a metric, or nothing where there is none."""
    return interval(figure.low, figure.high or None, partial(number, name, metrics=metrics))


def figure_span(figure: Figure, write: Callable[[float], str] = fixed_percent) -> str:
    """Format the interval of a share or, written by `write`, of something else."""
    return interval(figure.low, figure.high, write)


def change(name: str, value: float, metrics: Mapping[str, Metric] = METRICS) -> str:
    """Format a difference of two values of a metric, shares in points.

    >>> change("accuracy", -0.12), change("brier", 0.0134)
    ('-12.0 pts', '+0.013')
    """
    return f"{points(value)} pts" if in_points(name, metrics) else f"{value:+.3f}"


def graded_text(unread: int, graded: int) -> str:
    """Say how many unread replies have a grade, where not all of them have.

    >>> graded_text(807, 213), graded_text(5, 5), graded_text(1, 0)
    (' 213 of them have a grade.', '', ' It has no grade.')
    """
    if graded == unread:
        return ""
    if graded:
        return f" {graded:,} of them {'has' if graded == 1 else 'have'} a grade."
    return " It has no grade." if unread == 1 else " None of them has a grade."


def ungraded_text(count: int) -> str:
    """Say that answers were read and are in no figure.

    >>> ungraded_text(391)
    '391 answers were read but not graded, and are in no figure.'
    """
    if count == 1:
        return "1 answer was read but not graded, and is in no figure."
    return f"{count:,} answers were read but not graded, and are in no figure."
