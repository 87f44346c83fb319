"""Figures as a person reads them: formats and titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.metrics import METRICS
from novarag.metrics.table import Metric, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        return "\u2013"
    if value == 0 and name in metrics and metrics[name].zero:
        return metrics[name].zero
    match _unit(name, metrics):
        case Unit.COUNT:
            return f"{value:.0f}"
        case Unit.POINTS:
            return f"{100 * value:+.1f} pts"
        case Unit.SHARE:
            return f"{100 * value:.1f} %"
        case Unit.SCORE:
            return f"{value:.3f}"


def span(name: str, figure: Figure, metrics: Mapping[str, Metric] = METRICS) -> str:
    """Format an interval, or nothing where there is none."""
    if figure.low is None or figure.high is None or figure.high == 0:
        return ""
    low = number(name, figure.low, metrics).removesuffix(" %").removesuffix(" pts")
    return f"{low} to {number(name, figure.high, metrics)}"


def signed(value: float) -> str:
    """Format a difference of scores with its sign; what rounds to nothing has none.

    >>> signed(0.0134), signed(-0.0002)
    ('+0.013', '0.000')
    """
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0.000"


def change(name: str, value: float, metrics: Mapping[str, Metric] = METRICS) -> str:
    """Format a difference of two values of a metric, shares in points.

    >>> change("accuracy", -0.12), change("brier", 0.0134)
    ('-12.0 pts', '+0.013')
    """
    return f"{100 * value:+.1f} pts" if in_points(name, metrics) else f"{value:+.3f}"


def points(share: float | None) -> str:
    """Format a share of 1 as points.

    >>> points(0.123), points(-0.02), points(-0.0001)
    ('+12.3', '-2.0', '0.0')
    """
    if share is None or share != share:
        return "\u2013"
    return f"{100 * share:+.1f}" if abs(share) >= 0.0005 else "0.0"


def percent(value: float) -> str:
    """Format a confidence with as many digits as it needs.

    >>> percent(0.9), percent(0.996)
    ('90 %', '99.6 %')
    """
    return f"{round(100 * value, 2):g} %"


def whole(count: int) -> str:
    """Format a count with thin thousands.

    >>> whole(64000)
    '64,000'
    """
    return f"{count:,}"
