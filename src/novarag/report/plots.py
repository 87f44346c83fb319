"""Pictures by matplotlib, for a notebook or a paper; pages draw theirs as SVG, in `svg`.

Names of groups and states are foreign texts: matplotlib must not read them as formulae or as
commands of TeX, whatever its settings say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.fit_gate import ALL
from novarag.errors import UnknownNameError, UsageError
from novarag.formatting import percent, short_percent
from novarag.imports import with_extra
from novarag.report.calibration import asked_values, state_title
from novarag.report.comparison import SHOWN, budget_title, rank_standing, worse_by
from novarag.report.findings import reliability_finding
from novarag.stats.budgets import BudgetStanding
from novarag.stats.exact import upper_bound
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes as Axes
    from matplotlib.text import Text

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate, ThresholdTest
    from novarag.metrics import ConfidenceBins, Measurement, Panel
    from novarag.metrics.budgets import BudgetCheck
    from novarag.report.comparison import Comparison

MOST_CURVES = 8
"""Curves in one picture: more cannot be told apart by their colours."""

_BARS = 0.14  # how high the tallest bar of counts is, of the whole picture
_MARK = 9.0  # width of the mark of the fullest bin, in points
_ROW = 0.45  # height of a row of differences, in inches
_LONGEST = 80  # characters of a name; the line of a legend or a title has room for no more
_SOFT = "0.5"  # a grey that is read on white and on black

_STANDING_COLOURS = {
    BudgetStanding.BROKEN: "tab:red",
    BudgetStanding.CANNOT_TELL: "tab:orange",
    BudgetStanding.KEPT: "tab:green",
}


def _open_axes(ax: Axes | None, *, height: float = 4.8) -> Axes:
    """Return the Axes to draw into, new ones where none were given."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise UsageError(f"to plot a result, install matplotlib: {with_extra('plot')}") from None
    _, made = plt.subplots(figsize=(6.4, height), layout="constrained")
    new: Axes = made
    return new


def _write(text: Text, foreign: str) -> None:
    """Write a foreign text as it is: no formula, no command of TeX, no control character."""
    text.set_usetex(False)
    text.set_parse_math(False)
    text.set_text(plain_text(foreign, longest=_LONGEST))


def _write_legend(ax: Axes, names: Sequence[str]) -> None:
    """Name the curves, which were drawn with their numbers as labels: a name may begin with _."""
    for text, name in zip(ax.legend(loc="upper left").get_texts(), names, strict=True):
        _write(text, name)


def _draw_square(ax: Axes) -> None:
    """Lay out stated confidence against the share right, with the line where both are the same."""
    ax.plot([0, 1], [0, 1], color=_SOFT, linestyle="--", linewidth=1, zorder=1)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("Stated confidence")
    ax.set_ylabel("Share right")


def draw_measurement(measurement: Measurement, ax: Axes | None, *, group: str | None) -> Axes:
    """Draw the share right against stated confidence, bin by bin, with 95 % intervals."""
    panels = _pictured(measurement, group)
    ax = _open_axes(ax)
    _draw_square(ax)
    if len(panels) == 1:
        (panel,) = panels
        _draw_bins(ax, panel.bins, label="0", colour="C0")
        _draw_counts(ax, panel.bins)
        _write(ax.set_title("", fontsize="medium"), f"{panel.name}: {reliability_finding(panel)}")
        return ax
    for number, panel in enumerate(panels):
        _draw_bins(ax, panel.bins, label=str(number), colour=f"C{number}")
    _write_legend(
        ax, [f"{panel.name} ({panel.figures['accuracy'].n:,} answers)" for panel in panels]
    )
    return ax


def _pictured(measurement: Measurement, group: str | None) -> list[Panel]:
    """Choose the panels to draw; refuse where none of them has figures."""
    panels = {panel.name: panel for panel in measurement.groups}
    if group is not None:
        if group not in panels:
            raise UnknownNameError(group, panels)
        chosen = [panels[group]]
    else:
        chosen = list(panels.values()) if len(panels) > 1 else [measurement.overall]
    drawn = [panel for panel in chosen if panel.bins is not None]
    if not drawn:
        raise UsageError(f"there is nothing to draw: {chosen[0].refusal}")
    if len(drawn) > MOST_CURVES:
        raise UsageError.saying(
            "{} groups cannot be told apart in one picture; name one as `group`", len(drawn)
        )
    return drawn


def _draw_bins(ax: Axes, bins: ConfidenceBins | None, *, label: str, colour: str) -> None:
    """Draw a mark for each bin, as wide as it holds answers, with its interval."""
    if bins is None:
        return
    full = bins.count > 0
    x, y = bins.confidence[full], bins.accuracy[full]
    reach = np.abs(np.stack([bins.low[full], bins.high[full]]) - y)
    ax.errorbar(x, y, yerr=reach, color=colour, linewidth=1.5, elinewidth=1, capsize=2, label=label)
    sizes = _MARK**2 * bins.count[full] / bins.count.max()
    ax.scatter(x, y, s=np.maximum(sizes, 4), color=colour, zorder=3)


def _draw_counts(ax: Axes, bins: ConfidenceBins | None) -> None:
    """Draw along the foot how many answers each bin holds."""
    if bins is None:
        return
    full = bins.count > 0
    edge, count = bins.edge[:-1][full], bins.count[full]
    foot = ax.get_xaxis_transform()
    tall = _BARS * count / count.max()
    width = bins.edge[1] - bins.edge[0]
    ax.bar(edge, tall, width * 0.92, align="edge", color=_SOFT, alpha=0.3, transform=foot, zorder=0)
    for left, top, number in zip(edge, tall, count, strict=True):
        ax.text(
            left + width / 2, top + 0.008, f"{number:,.0f}", transform=foot, ha="center",
            fontsize="x-small", color=_SOFT,
        )  # fmt: skip


def draw_calibration(calibration: Calibration, ax: Axes | None) -> Axes:
    """Draw the calibrated probability against the stated confidence, a curve for each state."""
    ax = _open_axes(ax)
    _draw_square(ax)
    ax.set_ylabel("Probability of being right, with its 90 % interval")
    names = []
    for number, (state, seen) in enumerate(calibration.seen.items()):
        asked = asked_values(seen)
        made = calibration.apply(asked, [state] * asked.size)
        ax.plot(asked, made.probability, color=f"C{number}", label=str(number))
        ax.fill_between(asked, made.low, made.high, color=f"C{number}", alpha=0.18, linewidth=0)
        names.append(f"{state_title(state)} ({seen.rows:,} graded)")
    _write_legend(ax, names)
    return ax


def draw_gate(gate: Gate, ax: Axes | None) -> Axes:
    """Draw the share wrong against the share answered at every threshold that was tested.

    A line reaches from each mark to the bound that its test certifies.
    """
    ax = _open_axes(ax)
    most = max([gate.counted.used, *(step.answered for step in gate.path)])
    names = list(dict.fromkeys(step.states for step in gate.path))
    if not names:
        ax.text(0.5, 0.5, "too few rows for a single test", ha="center", transform=ax.transAxes)
    for number, chain in enumerate(names):
        steps = [step for step in gate.path if step.states == chain and step.answered]
        _draw_chain(ax, steps, most, label=str(number), colour=f"C{number}")
    ax.axhline(gate.risk, color="tab:red", linestyle="--", linewidth=1, zorder=1)
    ax.set_xlabel("Share answered")
    ax.set_ylabel("Share wrong among the answered")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(bottom=0)
    _mark_threshold(ax, gate, most)
    if any(name != ALL for name in names):
        _write_legend(ax, ["all evidence" if name == ALL else name for name in names])
    said = f"risk {short_percent(gate.risk)} (dashed): "
    none = gate.threshold is None
    said += "no threshold is certified" if none else f"answer from {percent(gate.threshold or 0)}"
    _write(ax.set_title("", fontsize="medium"), said)
    return ax


def _draw_chain(
    ax: Axes, steps: Sequence[ThresholdTest], most: float, *, label: str, colour: str
) -> None:
    """Draw the tests of one chain: filled marks passed, hollow ones failed."""
    x = np.array([step.answered / most for step in steps])
    y = np.array([step.errors / step.answered for step in steps])
    bound = np.array([upper_bound(step.errors, step.answered, step.level) for step in steps])
    ax.plot(x, y, color=colour, linewidth=1, label=label)
    ax.vlines(x, y, bound, color=colour, linewidth=1, alpha=0.6)
    passed = np.array([step.passed for step in steps], dtype=bool)
    ax.scatter(x[passed], y[passed], s=26, color=colour, zorder=3)
    ax.scatter(x[~passed], y[~passed], s=26, facecolors="none", edgecolors=colour, zorder=3)


def _mark_threshold(ax: Axes, gate: Gate, most: float) -> None:
    """Mark the threshold that was certified, and say what it keeps."""
    chain = gate.state or ALL
    for step in gate.path:
        if step.passed and step.threshold == gate.threshold and step.states == chain:
            x = step.answered / most
            side = -4 if x > 0.5 else 4
            ax.axvline(x, color=_SOFT, linestyle=":", linewidth=1, zorder=1)
            said = f"{percent(step.threshold)} or more, keeps {short_percent(gate.share)}"
            ax.annotate(
                said, (x, 1), xycoords=("data", "axes fraction"), xytext=(side, -12),
                textcoords="offset points", ha="right" if side < 0 else "left", fontsize="small",
            )  # fmt: skip


def draw_comparison(found: Comparison, ax: Axes | None) -> Axes:
    """Draw how much worse each figure is, with its 95 % interval, and how much is allowed."""
    budgets = sorted(found.budgets, key=rank_standing)[:SHOWN]
    ax = _open_axes(ax, height=1.4 + _ROW * len(budgets))
    for row, one in enumerate(budgets):
        _draw_budget(ax, row, one)
    ax.axvline(0, color=_SOFT, linewidth=1, zorder=1)
    ax.set_ylim(len(budgets) - 0.4, -0.6)
    names = [plain_text(budget_title(one), longest=_LONGEST) for one in budgets]
    ax.set_yticks(range(len(budgets)), labels=names, usetex=False, parse_math=False)
    ax.set_xlabel("Worse by, with its 95 % interval (grey: allowed)")
    return ax


def _draw_budget(ax: Axes, row: int, one: BudgetCheck) -> None:
    colour = _STANDING_COLOURS[one.held]
    ax.scatter([one.limit], [row], marker="|", s=240, color=_SOFT, zorder=2)
    if one.worse is None:
        _write(ax.text(0, row, "", ha="left", va="center", fontsize="small"), worse_by(one))
        return
    value, low, high = one.worse.value, one.worse.low, one.worse.high
    if low is not None and high is not None:
        ax.hlines(row, low, high, color=colour, linewidth=2)
    ax.scatter([value], [row], s=32, color=colour, zorder=3)
