"""Methods over the same questions: ranked by Brier, set against the best and against their cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING

from markupsafe import Markup

from novarag.report.svg import svg, tag, with_title
from novarag.report.verdict import ConfidenceVerdict
from novarag.stats.figure import Figure
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.calls import Cost
    from novarag.metrics import Measurement, PairedDifference, Panel

_SURE, _NAMED = 0.05, 4
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25)  # between two lines of the axis of Brier
_FAR = 12  # from a name to its mark, in pixels, from where on a line joins them


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMethod:
    """One method in order of Brier: what it costs an answer, how far it is from the best."""

    panel: Panel
    calls: float
    tokens: float
    behind: Figure | None  # Brier minus that of the best; None for the best itself
    p: float | None


def ranked(measurement: Measurement, costs: Mapping[str, Cost]) -> list[RankedMethod]:
    """Rank the methods that could be measured, the best Brier first."""
    known = [p for p in measurement.groups if not p.refusal and p.name in costs]
    order = sorted(known, key=lambda p: p.figures["brier"].value)
    return [_ranked(panel, order[0], measurement.differences, costs[panel.name]) for panel in order]


def _ranked(
    panel: Panel, best: Panel, differences: Sequence[PairedDifference], cost: Cost
) -> RankedMethod:
    behind, p = _behind(panel.name, best.name, differences)
    answers = max(panel.rows, 1)
    tokens = (cost.prompt_tokens + cost.completion_tokens) / answers
    return RankedMethod(panel=panel, calls=cost.calls / answers, tokens=tokens, behind=behind, p=p)


def _behind(
    name: str, best: str, differences: Sequence[PairedDifference]
) -> tuple[Figure | None, float | None]:
    for d in differences:
        if d.metric != "brier" or {d.one, d.other} != {name, best} or name == best:
            continue
        f = d.figure
        if d.one == name:
            return f, d.p_holm
        turned = [None if end is None else -end for end in (f.high, f.low)]
        return Figure(-f.value, turned[0], turned[1], f.n), d.p_holm
    return None, None


def best_of(methods: Sequence[RankedMethod]) -> ConfidenceVerdict:
    """Say which method is the best, from which it is not told apart, and whether it is worth it."""
    best = methods[0]
    brier, flat = best.panel.figures["brier"], best.panel.baselines["constant"]["brier"]
    alike = [m.panel.name for m in methods[1:] if m.p is not None and m.p >= _SURE]
    line = f"{plain_text(best.panel.name, longest=60)} has the lowest Brier, {brier.value:.3f}"
    if alike:
        names = ", ".join(plain_text(name, longest=60) for name in alike[:_NAMED])
        more = f" and {len(alike) - _NAMED} more" if len(alike) > _NAMED else ""
        line += f"; not shown to be worse: {names}{more}"
    worth = best.panel.worth
    shown = worth is not None and worth.low is not None and worth.low > 0
    how = "It beats" if shown else "It is not shown to beat"
    because = f"{how} always stating the accuracy, which scores {flat.value:.3f}."
    return ConfidenceVerdict(
        act="yes" if shown else "wait", kind="compared", line=f"{line}.", because=because
    )


def cost_finding(methods: Sequence[RankedMethod]) -> str:
    """Say what the best method takes, and what the cheapest gives."""
    shown = [m for m in methods if m.tokens > 0]
    if not shown:
        return ""
    best, least = shown[0], min(shown, key=lambda m: m.tokens)
    (one, brier, takes), (other, worse, fewer) = (
        (plain_text(m.panel.name, longest=32), f"{m.panel.figures['brier'].value:.3f}",
         f"{m.tokens:,.0f} tokens an answer")
        for m in (best, least)
    )  # fmt: skip
    if one == other:
        return f"{one} has the lowest Brier, {brier}, and takes the fewest: {takes}"
    return f"The lowest Brier, {brier} by {one}, takes {takes}; {other} takes {fewer} for {worse}"


def draw_costs(methods: Sequence[RankedMethod]) -> Markup:
    """Draw Brier with its interval against the tokens an answer takes, names at the marks."""
    shown = [m for m in methods if m.tokens > 0]
    if not shown:
        return Markup("")
    view = _View.over(shown)
    body = view.axes()
    taken = [(*view.place(method), 0.0) for method in shown]
    for method in shown:
        body += _mark(view, method, taken)
    return svg(710, 364, "Brier against cost", body)


@dataclass(frozen=True, slots=True)
class _View:
    """The part of the plane that is drawn: tokens on a logarithmic scale, Brier up."""

    first: float
    last: float
    low: float
    high: float

    @classmethod
    def over(cls, methods: Sequence[RankedMethod]) -> _View:
        tokens = [log10(m.tokens) for m in methods]
        figures = [m.panel.figures["brier"] for m in methods]
        low = min(f.value if f.low is None else f.low for f in figures)
        high = max(f.value if f.high is None else f.high for f in figures)
        step = next(s for s in _STEPS if floor(low / s + 1e-9) * s + 4 * s >= high - 1e-9)
        start = floor(low / step + 1e-9) * step
        return cls(min(tokens) - 0.08, max(tokens) + 0.3, start, start + 4 * step)

    def x(self, tokens: float) -> float:
        return round(54 + 640 * (log10(tokens) - self.first) / (self.last - self.first), 2)

    def y(self, brier: float) -> float:
        return round(12 + 300 * (1 - (brier - self.low) / (self.high - self.low)), 2)

    def place(self, method: RankedMethod) -> tuple[float, float]:
        return self.x(method.tokens), self.y(method.panel.figures["brier"].value)

    def axes(self) -> list[Markup]:
        body = [tag("rect", x=54, y=12, width=640, height=300, class_="frame")]
        for share in (0, 0.25, 0.5, 0.75, 1):
            value = self.low + share * (self.high - self.low)
            y = self.y(value)
            body.append(tag("line", x1=54, x2=694, y1=y, y2=y, class_="grid"))
            body.append(tag("text", f"{value:.2f}", x=48, y=y + 4, class_="tick end"))
        for tokens in (step * 10**power for power in range(8) for step in (1, 2, 5)):
            if self.first <= log10(tokens) <= self.last:
                x = self.x(tokens)
                body.append(tag("line", x1=x, x2=x, y1=12, y2=312, class_="grid"))
                body.append(tag("text", f"{tokens:,}", x=x, y=327, class_="tick mid"))
        turned = "translate(12 162) rotate(-90)"
        return [
            *body,
            tag("text", "Tokens an answer, in and out", x=374, y=348, class_="label mid"),
            tag("text", "Brier (lower is better)", x=0, y=0, class_="label mid", transform=turned),
        ]


def _mark(
    view: _View, method: RankedMethod, taken: list[tuple[float, float, float]]
) -> list[Markup]:
    """Draw one method; its name goes where nothing is yet, with a line to its mark if far."""
    figure = method.panel.figures["brier"]
    x, y = view.place(method)
    name = plain_text(method.panel.name, longest=32)
    says = f"{name}: Brier {figure.value:.3f}, {method.tokens:,.0f} tokens an answer"
    drawn = []
    if figure.low is not None and figure.high is not None:
        ends = {"y1": view.y(figure.low), "y2": view.y(figure.high)}
        drawn.append(tag("line", x1=x, x2=x, **ends, class_="whisker"))
    wide = 6.2 * len(name)
    at_x, at_y = next(
        (spot for spot in _spots(x, y, wide) if _free(*spot, wide, taken)), (x + 8, y + 4)
    )
    taken.append((at_x, at_y - 4, wide))
    if abs(at_y - 4 - y) > _FAR:
        lead = {"x1": x, "y1": y, "x2": max(at_x, x) if at_x >= x else at_x + wide, "y2": at_y - 4}
        drawn.append(tag("line", **lead, class_="grid"))
    dot = with_title(tag("circle", cx=x, cy=y, r=4.5, class_="dot"), says)
    return [*drawn, dot, tag("text", name, x=at_x, y=at_y, class_="at start")]


def _spots(x: float, y: float, wide: float) -> list[tuple[float, float]]:
    """Return places for a name, the nearest first: right and left of its mark, then up and down."""
    steps = [0, *(sign * 13 * n for n in range(1, 9) for sign in (-1, 1))]
    return [
        (at, y + 4 + step)
        for step in steps
        if 18 < y + step < 306
        for at in (x + 8, x - 8 - wide)
        if at > 58 and at + wide < 690
    ]


def _free(x: float, y: float, wide: float, taken: Sequence[tuple[float, float, float]]) -> bool:
    return not any(x - 6 < a + w and a < x + wide + 6 and abs(y - 4 - b) < 12 for a, b, w in taken)
