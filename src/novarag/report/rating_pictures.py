"""Pictures of ratings as inline SVG: bars by criterion with intervals, and a radar of means."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, pi, sin
from textwrap import wrap
from typing import TYPE_CHECKING

from markupsafe import Markup

from novarag.report.svg import svg, tag, with_title
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.stats.figure import Figure
    from novarag.study import StudyReport

HUES = 8
"""How many systems have a colour of their own; each also has a number, which never repeats."""

_BAR, _GAP, _LEFT, _TOP, _TALL = 26, 26, 34, 14, 230
_LETTER = 6.6  # pixels, about
_RADIUS, _MIDDLE_X, _MIDDLE_Y, _HIGH = 140.0, 240.0, 168.0, 310
_LEAST_SPOKES = 3  # fewer make no outline


def hue(place: int) -> str:
    """Name the class that colours a system."""
    return f"hue-{place % HUES}"


def short(place: int) -> str:
    """Name a system in a picture.

    >>> short(0)
    'R1'
    """
    return f"R{place + 1}"


def score_text(figure: Figure) -> str:
    r"""Format a mean rating with its interval.

    >>> from novarag.stats.figure import Figure
    >>> score_text(Figure(4.5, 4.25, 4.75, 80)), score_text(Figure(float("nan"), None, None, 0))
    ('4.50 (4.25 to 4.75)', '\u2013')
    """
    if figure.value != figure.value:
        return "\u2013"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.2f}"
    return f"{figure.value:.2f} ({figure.low:.2f} to {figure.high:.2f})"


def draw_bars(report: StudyReport) -> Markup:
    """Draw the mean of each system on each criterion, with its interval."""
    scale, count = _ScoreAxis(report.points), len(report.systems)
    block = count * _BAR + _GAP
    right = _LEFT + len(report.criteria) * block
    body = []
    for score in range(1, report.points + 1):
        y = scale.up(score)
        body.append(tag("line", x1=_LEFT, x2=right, y1=y, y2=y, class_="grid"))
        body.append(tag("text", str(score), x=_LEFT - 8, y=y + 4, class_="tick end"))
    most = 1
    for at, found in enumerate(report.criteria):
        left = _LEFT + at * block + _GAP / 2
        for i, (system, figure) in enumerate(found.means.items()):
            says = f"{found.criterion.title}, {short(i)} {system}: {score_text(figure)}"
            shapes = Markup("").join(scale.bar(left + i * _BAR, figure, i))
            body.append(with_title(shapes, plain_text(says)))
        lines = _lines(found.criterion.title, int((block - 8) / _LETTER))
        most = max(most, len(lines))
        middle = left + count * _BAR / 2
        body += [
            tag("text", words, x=middle, y=scale.base + 34 + n * 15, class_="label mid")
            for n, words in enumerate(lines)
        ]
    label = "Mean rating of each system on each criterion"
    return svg(right + 6, scale.base + 30 + most * 15, label, body)


@dataclass(frozen=True, slots=True)
class _ScoreAxis:
    """Scores as heights."""

    points: int

    @property
    def base(self) -> float:
        return _TOP + _TALL

    def up(self, score: float) -> float:
        return round(self.base - (score - 1) / (self.points - 1) * _TALL, 2)

    def bar(self, x: float, figure: Figure, place: int) -> Iterator[Markup]:
        middle = x + _BAR / 2
        yield tag("text", short(place), x=middle, y=self.base + 15, class_="tick mid")
        if figure.value == figure.value:
            top = self.up(figure.value)
            tall = max(round(self.base - top, 2), 1)
            yield tag(
                "rect", x=x + 2, y=top, width=_BAR - 4, height=tall, rx=2, class_=hue(place)
            )  # fmt: skip
        if figure.low is not None and figure.high is not None:
            low, high = self.up(figure.low), self.up(figure.high)
            ends = f"M{middle - 4} {low} h8 M{middle - 4} {high} h8"
            for kind in (
                "halo",
                "whisker strong",
            ):  # what stands out from any bar has an edge of its own
                yield tag("path", d=f"M{middle} {low} V{high} {ends}", class_=kind)


def draw_radar(report: StudyReport) -> Markup:
    """Draw the means of each system as one outline; nothing with fewer than three criteria."""
    spokes, steps = len(report.criteria), report.points - 1
    if spokes < _LEAST_SPOKES:
        return Markup("")
    body = []
    for step in range(1, steps + 1):
        ring = [_spot(i, spokes, step / steps) for i in range(spokes)]
        body.append(tag("path", d=_outline(ring), class_="web"))
        body.append(tag("text", str(step + 1), x=_MIDDLE_X + 4, y=ring[0][1] + 12, class_="tick"))
    for i, found in enumerate(report.criteria):
        x, y = _spot(i, spokes, 1)
        body.append(tag("line", x1=_MIDDLE_X, y1=_MIDDLE_Y, x2=x, y2=y, class_="grid"))
        body += _spoke_words(found.criterion.title, *_spot(i, spokes, 1.09))
    for place, system in enumerate(report.systems):
        shares = [(c.means[system].value - 1) / steps for c in report.criteria]
        ends = [_spot(i, spokes, s if s == s else 0.0) for i, s in enumerate(shares)]
        outline = tag("path", d=_outline(ends), class_=f"outline {hue(place)}")
        body.append(with_title(outline, plain_text(f"{short(place)} {system}")))
        body += [tag("circle", cx=x, cy=y, r=3, class_=hue(place)) for x, y in ends]
        x, y = ends[place % spokes]  # each named at a spoke of its own, for eyes without colours
        body.append(tag("text", short(place), x=x + 5, y=y - 5, class_="at start"))
    label = "Mean ratings of each system, one spoke a criterion"
    return svg(2 * _MIDDLE_X, _HIGH, label, body)


def _spot(spoke: int, spokes: int, share: float) -> tuple[float, float]:
    angle = 2 * pi * spoke / spokes - pi / 2
    reach = share * _RADIUS
    return round(_MIDDLE_X + reach * cos(angle), 2), round(_MIDDLE_Y + reach * sin(angle), 2)


def _outline(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{x} {y}" for x, y in points) + " Z"


def _spoke_words(title: str, x: float, y: float) -> list[Markup]:
    side = "mid" if abs(x - _MIDDLE_X) < 1 else "start" if x > _MIDDLE_X else "end"
    lines = _lines(title, 30 if side == "mid" else 14)
    lift = (len(lines) - 1) * (14 if y < _MIDDLE_Y - _RADIUS else 7)
    return [
        tag("text", words, x=x, y=round(y + 4 - lift + n * 14, 2), class_=f"label {side}")
        for n, words in enumerate(lines)
    ]


def _lines(title: str, width: int) -> list[str]:
    return wrap(plain_text(title, longest=60), max(width, 8)) or [""]
