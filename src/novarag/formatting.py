"""Numbers as a person reads them: the one home of percents, intervals, differences and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = "\u2013"
"""What stands where there is no number."""


def percent(share: float) -> str:
    """Format a confidence with as many decimals as it needs, two at most.

    >>> percent(0.9), percent(0.9975)
    ('90 %', '99.75 %')
    """
    return f"{hundredths(share, decimals=None)} %"


def short_percent(share: float) -> str:
    """Format a risk or a share of rows with one decimal where it needs one.

    >>> short_percent(0.1), short_percent(0.125), short_percent(0.9975)
    ('10 %', '12.5 %', '99.8 %')
    """
    return f"{round(100 * share, 1):g} %"


def fixed_percent(share: float | None) -> str:
    r"""Format a share with one decimal, so that the rows of a column align.

    >>> fixed_percent(0.0203), fixed_percent(None)
    ('2.0 %', '\u2013')
    """
    return NOTHING if share is None or share != share else f"{hundredths(share)} %"


def whole_percent(share: float) -> str:
    """Format a share without decimals.

    >>> whole_percent(0.0203)
    '2 %'
    """
    return f"{hundredths(share, decimals=0)} %"


def hundredths(share: float, *, decimals: int | None = 1) -> str:
    """Format a share as the bare number of a percent; without `decimals`, two where it needs them.

    >>> hundredths(0.815), hundredths(0.2, decimals=0), hundredths(0.025, decimals=None)
    ('81.5', '20', '2.5')
    """
    return f"{round(100 * share, 2):g}" if decimals is None else f"{100 * share:.{decimals}f}"


def decimal(value: float | None, *, decimals: int = 3) -> str:
    r"""Format a score.

    >>> decimal(0.25), decimal(0.7034, decimals=2), decimal(float("nan"))
    ('0.250', '0.70', '\u2013')
    """
    return NOTHING if value is None or value != value else f"{value:.{decimals}f}"


def signed(value: float, *, decimals: int = 3) -> str:
    """Format a difference of scores with its sign; what rounds to nothing has none.

    >>> signed(0.0134), signed(-0.0002), signed(0.5, decimals=2)
    ('+0.013', '0.000', '+0.50')
    """
    shown = decimal(abs(value), decimals=decimals)
    return f"{value:+.{decimals}f}" if abs(value) >= 0.5 * 10**-decimals else shown


def points(share: float | None) -> str:
    """Format a share of 1 as points.

    >>> points(0.123), points(-0.02), points(-0.0001), points(None) == NOTHING
    ('+12.3', '-2.0', '0.0', True)
    """
    if share is None or share != share:
        return NOTHING
    return f"{100 * share:+.1f}" if abs(share) >= 0.0005 else "0.0"


def span(
    low: float | None, high: float | None, write: Callable[[float], str] = fixed_percent
) -> str:
    """Format an interval with its unit at the end, or nothing where there is none.

    >>> span(0.815, 0.9885), span(0.5, 0.61, decimal), span(None, None)
    ('81.5 to 98.9 %', '0.500 to 0.610', '')
    """
    if low is None or high is None:
        return ""
    return f"{write(low).removesuffix(' %').removesuffix(' pts')} to {write(high)}"


def format_count(count: int) -> str:
    """Format a count with a comma at each thousand.

    >>> format_count(64000)
    '64,000'
    """
    return f"{count:,}"
