"""The funnel as a picture: what each stage keeps, by kind of group, and why it drops the rest.

Heights are trials, on one scale. Kept trials run along the top; what a stage drops falls off below.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING

from novarag.formatting import fixed_percent
from novarag.report.svg import svg, tag, with_title
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from novarag.filters import FilterTally

_LEFT, _TOP, _STEP, _BAR, _TALL, _FALL = 14.0, 62.0, 150.0, 12.0, 300.0, 34.0
_LINE, _WRAP, _REASONS = 14.0, 22, 3


@dataclass(frozen=True, slots=True)
class _Column:
    """One stage: where it stands, and how many trials of each kind it keeps."""

    x: float
    stage: str
    kept: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.kept.values())


def draw_funnel(tally: FilterTally, model: str) -> Markup:
    """Draw the stages of one model; no script, no inline style, every foreign text escaped."""
    columns = [
        _Column(
            _LEFT + i * _STEP,
            stage,
            {kind: tally.kept(stage, model=model, kind=kind) for kind in tally.kinds},
        )
        for i, stage in enumerate(("total", *tally.stages))
    ]
    whole = max(columns[0].total, 1)
    body: list[Markup] = []
    for before, after in pairwise(columns):
        body += _flow(before, after, whole)
    for column in columns:
        body += _bar(column, whole)
    body += _names(columns, whole)
    lowest = _TOP + _TALL + _FALL
    for before, after in pairwise(columns):
        reasons = tally.reasons(after.stage, model=model)
        texts, bottom = _falling(before, after, reasons, whole)
        body += texts
        lowest = max(lowest, bottom)
    body += _legend(tally.kinds, lowest + 22)
    width = _LEFT + _STEP * len(columns)
    return svg(width, lowest + 36, f"What each stage of the funnel keeps of {model}", body)


def _scaled(count: int, whole: int) -> float:
    return count / whole * _TALL


def _flow(before: _Column, after: _Column, whole: int) -> Iterator[Markup]:
    """Draw what goes on to the next stage as level bands, and what falls off as one curve."""
    left, right, y = before.x + _BAR, after.x, _TOP
    for kind, count in after.kept.items():
        tall = _scaled(count, whole)
        if tall:
            size = {"x": left, "y": round(y, 2), "width": right - left, "height": round(tall, 2)}
            yield tag("rect", **size, class_=f"flow {kind}")
        y += tall
    lost = _scaled(before.total - after.total, whole)
    if lost:
        middle = (left + right) / 2
        low = y + _FALL
        curve = (
            f"M{left} {y:.2f} C{middle} {y:.2f} {middle} {low:.2f} {right} {low:.2f}"
            f" L{right} {low + lost:.2f}"
            f" C{middle} {low + lost:.2f} {middle} {y + lost:.2f} {left} {y + lost:.2f} Z"
        )
        yield tag("path", d=curve, class_="fall")


def _names(columns: list[_Column], whole: int) -> Iterator[Markup]:
    """Name the kinds at their first bands, where these are high enough for a word."""
    y = _TOP
    for kind, count in columns[1].kept.items() if len(columns) > 1 else ():
        tall = _scaled(count, whole)
        if tall >= _LINE:
            place = {"x": columns[0].x + _BAR + 5, "y": round(y + tall / 2 + 4, 2)}
            yield tag("text", kind, **place, class_="at start")
        y += tall


def _bar(column: _Column, whole: int) -> Iterator[Markup]:
    y = _TOP
    for kind, count in column.kept.items():
        tall = _scaled(count, whole)
        size = {"x": column.x, "y": round(y, 2), "width": _BAR, "height": round(tall, 2)}
        says = f"{column.stage}: {count:,} {kind}, {fixed_percent(count / max(column.total, 1))}"
        yield with_title(tag("rect", **size, class_=kind), says)
        y += tall
    share = fixed_percent(column.total / whole)
    yield tag("text", column.stage, x=column.x, y=_TOP - 40, class_="stage")
    yield tag("text", f"{column.total:,}", x=column.x, y=_TOP - 24, class_="label")
    yield tag("text", share, x=column.x, y=_TOP - 10, class_="tick")


def _falling(
    before: _Column, after: _Column, reasons: list[tuple[str, int]], whole: int
) -> tuple[list[Markup], float]:
    """Draw the end of a fall and say its reasons; return how far down that reaches."""
    lost = before.total - after.total
    top = _TOP + _scaled(after.total, whole) + _FALL
    if not lost:
        return [], top
    tall = _scaled(lost, whole)
    size = {"x": after.x, "y": round(top, 2), "width": _BAR / 2, "height": round(tall, 2)}
    out = [tag("rect", **size, class_="lost")]
    x, y = after.x + _BAR / 2 + 5, top + 10
    out.append(tag("text", f"\u2212{lost:,}", x=x, y=round(y, 2), class_="label"))
    shown = reasons[:_REASONS]
    rest = lost - sum(count for _, count in shown)
    if rest:
        shown = [*shown, ("other reasons", rest)]
    for reason, count in shown:
        y += 3
        for line in wrap(f"{count:,} {plain_text(reason, longest=66)}", _WRAP):
            y += _LINE
            out.append(tag("text", line, x=x, y=round(y, 2), class_="tick"))
    return out, max(top + tall, y)


def _legend(kinds: list[str], y: float) -> Iterator[Markup]:
    x = _LEFT
    for kind in (*kinds, "lost"):
        yield tag("rect", x=x, y=round(y - 9, 2), width=10, height=10, class_=kind)
        words = "dropped" if kind == "lost" else f"{kind} groups"
        yield tag("text", words, x=x + 15, y=round(y, 2), class_="tick")
        x += 40 + 6.2 * len(words)
