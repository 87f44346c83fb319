"""Pictures as inline SVG: no script, no inline style, colours from the page's own classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup, escape

from novarag.formatting import fixed_percent, hundredths, percent, span, whole_percent
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from novarag.metrics import Panel


_SLOPE = 38.3  # of the diagonal in a large diagram, in degrees


@dataclass(frozen=True, slots=True)
class PlotArea:
    """A plotting area in pixels that maps the unit square onto itself."""

    left: float
    top: float
    width: float
    height: float
    y_max: float = 1.0

    def x(self, value: float) -> float:
        """Return where a share lies across."""
        return round(self.left + value * self.width, 2)

    def y(self, value: float) -> float:
        """Return where a share lies up, counted from the top."""
        return round(self.top + (1 - value / self.y_max) * self.height, 2)


def tag(name: str, text: str | None = None, /, **attributes: object) -> Markup:
    """One element; every attribute and text is escaped."""
    parts = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items()
    )
    inner = escape(text) if text is not None else Markup("")
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), parts, inner)  # noqa: S704 - our own name


def with_title(shape: Markup, title: str) -> Markup:
    """Give a shape a text that shows when one points at it."""
    return Markup("<g>{}{}</g>").format(shape, tag("title", title))


def path_through(points: Iterable[tuple[float, float]], *, close: bool = False) -> str:
    """Return the path through points, back to the first where it is closed."""
    drawn = " ".join(f"{'L' if i else 'M'}{x:.2f} {y:.2f}" for i, (x, y) in enumerate(points))
    return drawn + (" Z" if close else "")


def axes(frame: PlotArea, *, x_label: str, y_label: str, small: bool = False) -> Markup:
    """Draw the frame, its grid and what the axes mean."""
    step = 0.5 if small else 0.2
    right, bottom = frame.left + frame.width, frame.top + frame.height
    size = {"width": frame.width, "height": frame.height}
    out = [tag("rect", x=frame.left, y=frame.top, **size, class_="frame")]
    for tick in np.arange(0, 1.001, step):
        x = frame.x(tick)
        out.append(tag("line", x1=x, x2=x, y1=frame.top, y2=bottom, class_="grid"))
        out.append(tag("text", hundredths(tick, decimals=0), x=x, y=bottom + 15, class_="tick mid"))
    for tick in np.arange(0, frame.y_max + 0.001, step if frame.y_max > 0.6 else 0.1):
        y = frame.y(tick)
        out.append(tag("line", x1=frame.left, x2=right, y1=y, y2=y, class_="grid"))
        out.append(
            tag("text", hundredths(tick, decimals=0), x=frame.left - 6, y=y + 4, class_="tick end")
        )
    if not small:
        middle_x, middle_y = frame.left + frame.width / 2, frame.top + frame.height / 2
        out += [
            tag("text", x_label, x=middle_x, y=frame.top + frame.height + 34, class_="label mid"),
            tag(
                "text", y_label, x=0, y=0, class_="label mid",
                transform=f"translate({frame.left - 38} {middle_y}) rotate(-90)",
            ),
        ]  # fmt: skip
    return Markup("").join(out)


def svg(width: float, height: float, label: str, body: Iterable[Markup]) -> Markup:
    """Put shapes into one picture that says in words what it is."""
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        width, height, plain_text(label), Markup("").join(body)
    )


def reliability(panel: Panel, *, small: bool = False) -> Markup:
    """Draw accuracy against stated confidence, bin by bin, with intervals and the histogram."""
    if panel.bins is None:
        return Markup("")
    frame = PlotArea(30, 8, 130, 130) if small else PlotArea(54, 12, 380, 300)
    gap, tallest = (26, 28) if small else (48, 64)
    base = frame.top + frame.height + gap + tallest
    body = [
        axes(frame, x_label="Stated confidence, %", y_label="Right, %", small=small),
        tag(
            "path",
            d=path_through([(frame.x(0), frame.y(0)), (frame.x(1), frame.y(1))]),
            class_="ideal",
        ),
    ]
    bins, most = panel.bins, float(np.max(panel.bins.count))
    points = []
    for i, count in enumerate(bins.count):
        if count == 0:
            continue
        a, b = bins.edge[i], bins.edge[i + 1]
        x, y = frame.x(bins.confidence[i]), frame.y(bins.accuracy[i])
        points.append((x, y))
        low, high = frame.y(bins.low[i]), frame.y(bins.high[i])
        says = (
            f"Stated {span(a, b, whole_percent)}: {count:,.0f} answers,"
            f" {fixed_percent(bins.accuracy[i])} right"
            f" ({span(bins.low[i], bins.high[i], hundredths)})"
        )
        column = {"x": frame.x(a) + 1, "width": round(frame.width / bins.count.size - 2, 2)}
        tall = round(float(count) / most * tallest, 2)
        band = tag("rect", **column, y=high, height=max(round(low - high, 2), 1), class_="band")
        bar = tag("rect", **column, y=round(base - tall, 2), height=tall, class_="bar")
        body += [with_title(band, says), with_title(bar, says)]
    body.append(tag("path", d=path_through(points), class_="line"))
    body += [tag("circle", cx=x, cy=y, r=2.5 if small else 4, class_="dot") for x, y in points]
    if not small:
        body += _named_halves(frame)
        body += [_at_mark(x, y, frame) for x, y in points]
        body.append(tag("text", "Answers", x=frame.left - 6, y=base, class_="tick end"))
    label = f"Reliability diagram of {panel.name}"
    return svg(frame.left + frame.width + 14, base + 8, label, body)


def _named_halves(frame: PlotArea) -> list[Markup]:
    """Say at the diagonal what it means to be above and below it."""
    x, y = frame.x(0.03), frame.y(0.03)
    turned = f"rotate({-_SLOPE} {x} {y}) translate(6 -6)"
    return [
        tag("text", "right as often as it says", x=x, y=y, class_="at start", transform=turned),
        tag("text", "says too little", x=frame.x(0.03), y=frame.y(0.93), class_="tick start"),
        tag("text", "says too much", x=frame.x(0.97), y=frame.y(0.05), class_="tick end"),
    ]  # fmt: skip


def _at_mark(x: float, y: float, frame: PlotArea) -> Markup:
    """Write the share beside its mark, below it where there is no room above."""
    share = (1 - (y - frame.top) / frame.height) * frame.y_max
    above = y - 9 if y - frame.top > 16 else y + 18
    return tag("text", hundredths(share, decimals=0), x=x, y=above, class_="at mid")


def risk_coverage(panel: Panel, *, mark: str = "") -> Markup:
    """Draw the error rate of the answers let through against their share.

    `mark` is the id of a ring that a script may move along the curve.
    """
    if panel.curve is None:
        return Markup("")
    curve, error = panel.curve, 1 - panel.figures["accuracy"].value
    worst = max(float(np.max(curve.risk)), error)
    top = next(t for t in (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0) if worst <= 0.94 * t or t == 1)
    frame = PlotArea(54, 12, 380, 300, y_max=top)
    keep = np.unique(np.linspace(0, curve.risk.size - 1, min(160, curve.risk.size)).astype(int))
    points = [(frame.x(curve.coverage[i]), frame.y(min(curve.risk[i], top))) for i in keep]
    flat = [(frame.x(0), frame.y(error)), (frame.x(1), frame.y(error))]
    shares = np.linspace(1 - error, 1, 40)[1:] if error > 0 else np.array([1.0])
    best = [(frame.x(0), frame.y(0)), (frame.x(1 - error), frame.y(0))]
    best += [(frame.x(c), frame.y(min((c - 1 + error) / c, top))) for c in shares]
    body = [
        axes(frame, x_label="Answers let through, %", y_label="Wrong among them, %"),
        with_title(
            tag("path", d=path_through(flat), class_="ideal"), "No skill: withholding at random"
        ),
        with_title(
            tag("path", d=path_through(best), class_="best"), "Best possible at this accuracy"
        ),
        tag("path", d=path_through(points), class_="line"),
    ]
    body += [
        with_title(
            tag("circle", cx=x, cy=y, r=3, class_="dot"),
            f"Stated {percent(curve.threshold[i])} or more: {fixed_percent(curve.coverage[i])} let"
            f" through, {fixed_percent(curve.risk[i])} of them wrong",
        )
        for i, (x, y) in zip(keep, points, strict=True)
        if keep.size <= 40
    ]
    last = points[-1]
    body += [
        tag("text", "withheld at random", x=frame.x(0.02), y=max(frame.y(error) - 6, 23),
            class_="at start"),
        tag("text", "best possible", x=frame.x(max((1 - error) / 2, 0.02)), y=frame.y(0) - 7,
            class_="at start"),
        tag("text", "this confidence", x=points[0][0] + 4, y=_clear(points, frame),
            class_="at start"),
    ]  # fmt: skip
    if mark:
        ring = f"{frame.left} {frame.top} {frame.width} {frame.height} {frame.y_max}"
        body.append(
            tag("circle", id=mark, cx=last[0], cy=last[1], r=7, class_="cursor",
                visibility="hidden", data_frame=ring)
        )  # fmt: skip
    return svg(448, 360, f"Risk-coverage curve of {panel.name}", body)


def _clear(points: list[tuple[float, float]], frame: PlotArea) -> float:
    """Find a place for the name of a curve: below its start, or above it where it lies low."""
    near = [y for x, y in points if x <= points[0][0] + 95]
    below = max(near) + 17
    return below if below < frame.top + frame.height - 14 else min(near) - 9
