"""Figures with their intervals, one under the other, so that they can be compared by eye."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from novarag.report.svg import reliability, svg, tag, with_title
from novarag.report.templating import picture_style
from novarag.report.words import number, title_of
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.metrics import Panel
    from novarag.stats.figure import Figure

_LEFT, _WIDE, _GAP, _TALL, _TOP = 190, 170, 26, 22, 34


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestLine:
    """One line of the picture: its name, and a figure for each metric."""

    name: str
    figures: Mapping[str, Figure]


def forest(lines: Sequence[ForestLine], metrics: Sequence[str], *, label: str) -> Markup:
    """Draw a column of points with intervals for each metric, from 0 to 1."""
    body: list[Markup] = []
    bottom = _TOP + _TALL * len(lines)
    for i, metric in enumerate(metrics):
        left = _LEFT + i * (_WIDE + _GAP)
        body.append(tag("text", title_of(metric), x=left + _WIDE / 2, y=16, class_="label mid"))
        for tick in (0, 0.25, 0.5, 0.75, 1):
            x = left + tick * _WIDE
            body.append(tag("line", x1=x, x2=x, y1=_TOP - 8, y2=bottom, class_="grid"))
            body.append(tag("text", f"{tick:g}", x=x, y=bottom + 14, class_="tick mid"))
    for row, line in enumerate(lines):
        y = _TOP + _TALL * row + _TALL / 2
        name = plain_text(line.name, longest=32)
        body.append(tag("text", name, x=_LEFT - 12, y=y + 4, class_="tick end"))
        for i, metric in enumerate(metrics):
            body += _point(line, metric, _LEFT + i * (_WIDE + _GAP), y)
    width = _LEFT + len(metrics) * (_WIDE + _GAP)
    return svg(width, bottom + 22, label, body)


def _point(line: ForestLine, metric: str, left: float, y: float) -> list[Markup]:
    figure = line.figures.get(metric)
    if figure is None or figure.value != figure.value:
        return []

    def x(value: float) -> float:
        return round(left + min(max(value, 0), 1) * _WIDE, 2)

    says = f"{line.name}: {title_of(metric)} {number(metric, figure.value)}"
    drawn = [with_title(tag("circle", cx=x(figure.value), cy=y, r=4, class_="dot"), says)]
    if figure.low is not None and figure.high is not None:
        whisker = tag("line", x1=x(figure.low), x2=x(figure.high), y1=y, y2=y, class_="line")
        drawn.insert(0, whisker)
    return drawn


def diagrams(panels: Sequence[tuple[str, Panel]], *, label: str) -> Markup:
    """Put small reliability diagrams side by side, each under its name."""
    wide, tall = 190, 236
    body = []
    for i, (name, panel) in enumerate(panels):
        inner = str(reliability(panel, small=True)).replace("<svg ", "<svg y='18' ", 1)
        inner = inner.replace("<svg ", f"<svg x='{i * wide}' width='174' height='212' ", 1)
        body.append(Markup(inner))  # noqa: S704 - our own picture, escaped as it was drawn
        body.append(tag("text", name, x=i * wide + 95, y=12, class_="label mid"))
    return svg(wide * max(len(panels), 1), tall, label, body)


def standalone(picture: Markup, *, mark: str = "") -> str:
    """Make a picture of a page a file of its own, with its colours; `mark` stands in a corner."""
    style = picture_style()
    head, _, body = str(picture).partition(">")
    opened = '<svg xmlns="http://www.w3.org/2000/svg" '
    corner = tag("text", mark, x=2, y=10, class_="tick") if mark else ""
    return f"{opened}{head.removeprefix('<svg ')}><style>{style}</style>{corner}{body}\n"
