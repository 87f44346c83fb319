"""Figures as a person reads them: formats and titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.metrics import METRICS

if TYPE_CHECKING:
    from novarag.stats.figure import Figure

SHARES = frozenset(
    {
        "accuracy",
        "mean_confidence",
        "overconfidence",
        "tie_share",
        "accuracy_at_80",
        "coverage_at_10",
        "unread",
        "abstained",
        "passage_judgment",
        "group_judgment",
    }
)
"""Figures shown in percent; the others are scores."""

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


def title_of(name: str) -> str:
    """Return the title of a metric or a share."""
    return METRICS[name].title if name in METRICS else RATIO_TITLES[name][0]


def each(count: int, answers: int) -> str:
    """Format what one of several answers took.

    >>> each(600, 200), each(5, 2), each(123456, 10)
    ('3', '2.5', '12,346')
    """
    share = count / max(answers, 1)
    return f"{share:,.0f}" if share >= 100 or share == int(share) else f"{share:.1f}"


def number(name: str, value: float | None) -> str:
    """Format one value the way its metric is read.

    >>> number("accuracy", 0.5), number("brier", 0.25), number("levels", 11)
    ('50.0 %', '0.250', '11')
    """
    if value is None or value != value:
        return "\u2013"
    if name == "levels":
        return f"{value:.0f}"
    if name == "coverage_at_10" and value == 0:
        return "none"
    if name == "overconfidence":
        return f"{100 * value:+.1f} pts"
    return f"{100 * value:.1f} %" if name in SHARES else f"{value:.3f}"


def span(name: str, figure: Figure) -> str:
    """Format an interval, or nothing where there is none."""
    if figure.low is None or figure.high is None or figure.high == 0:
        return ""
    low = number(name, figure.low).removesuffix(" %").removesuffix(" pts")
    return f"{low} to {number(name, figure.high)}"


def signed(value: float) -> str:
    """Format a difference of scores with its sign; what rounds to nothing has none.

    >>> signed(0.0134), signed(-0.0002)
    ('+0.013', '0.000')
    """
    return f"{value:+.3f}" if abs(value) >= 0.0005 else "0.000"


def change(name: str, value: float) -> str:
    """Format a difference of two values of a metric, shares in points.

    >>> change("accuracy", -0.12), change("brier", 0.0134)
    ('-12.0 pts', '+0.013')
    """
    return f"{100 * value:+.1f} pts" if name in SHARES else f"{value:+.3f}"


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
