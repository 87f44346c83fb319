"""A page on a gate: what it promises, the path of its tests, what one would keep at other risks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from novarag.atomic import write_whole
from novarag.calibration.fit_gate import ALL
from novarag.calibration.gate import STATED, promise
from novarag.calibration.graded_answers import UNKNOWN
from novarag.formatting import hundredths, short_percent
from novarag.report.svg import PlotArea, path_through, svg, tag, with_title
from novarag.report.templating import render_page
from novarag.stats.exact import upper_bound

if TYPE_CHECKING:
    from pathlib import Path

    from novarag.calibration.gate import Gate, ThresholdTest

_TOPS = (0.04, 0.08, 0.12, 0.2, 0.28, 0.4, 0.6, 0.8, 1.0)
"""Where an axis may end, so that its quarters are whole percents."""

SET, REFUSED = "What the gate promises", "No gate at this risk"


def gate_notes(gate: Gate) -> list[str]:
    """Say in plain sentences what a gate promises, on what it was set, and what to mind."""
    said = promise(gate)
    lines = [said[0].upper() + said[1:] + ("" if said.endswith(".") else "."), _set_on(gate)]
    if gate.threshold is None:
        lines.append(
            "A risk that is chosen after this look is tested on rows that were seen; grade new"
            " ones for it."
        )
    if gate.counted.weighted:
        lines.append(
            "Rows were picked at unequal rates; each test thins them by seeded coins to equal ones,"
            " so that it counts fewer rows than were graded."
        )
    lines += gate.remarks
    if gate.source.model == UNKNOWN:
        lines.append(
            "The table does not name the model; the promise holds for the model that gave these"
            " answers, and for no other."
        )
    return lines


def _set_on(gate: Gate) -> str:
    counted = gate.counted
    used = f"{counted.used:,} graded rows"
    if counted.used < counted.rows:
        used = f"{counted.used:,} of {counted.rows:,} graded rows, one a question"
    elif counted.questions < counted.rows:
        used = f"all {counted.rows:,} graded rows of {counted.questions:,} questions"
    unread = f" {counted.unread:,} of them could not be read and are never answered." * bool(
        counted.unread
    )
    left = counted.ungraded + counted.unread_ungraded
    ungraded = f" {left:,} rows that nobody graded were left out." * bool(left)
    if counted.unread_ungraded:
        ungraded = f"{ungraded[:-1]}; {counted.unread_ungraded:,} of these could not be read."
    score = "stated confidences" if gate.score == STATED else "calibrated confidences"
    return f"Set on {score} of {used}, {counted.wrong:,} of them wrong.{unread}{ungraded}"


def path_finding(gate: Gate, chain: str) -> str:
    """Say how far the tests of one chain came."""
    steps = [step for step in gate.path if step.states == chain]
    passed = [step for step in steps if step.passed]
    if not passed:
        return f"None of {len(steps)} thresholds keeps the risk of {short_percent(gate.risk)}"
    last = passed[-1]
    return (
        f"{len(passed)} of {len(steps)} thresholds pass; the loosest is"
        f" {short_percent(last.threshold)}, with {last.errors:,.4g} wrong of {last.answered:,.4g}"
    )


def draw_path(gate: Gate, chain: str) -> Markup:
    """Draw the tests of one chain: errors among the answered, up to the bound that is certified."""
    steps = [step for step in gate.path if step.states == chain]
    top = max([1.5 * gate.risk, *(step.errors / max(step.answered, 1) for step in steps)])
    bounds = [upper_bound(step.errors, step.answered, step.level) for step in steps]
    top = max([top, *bounds]) * 1.02
    top = next((even for even in _TOPS if top <= even), 1.0)
    frame = PlotArea(54, 12, 600, 280, y_max=top)
    most = max([gate.counted.used, *(step.answered for step in steps)])
    body = [*_frame(frame, top, most), *_line(frame, gate.risk)]
    body.append(
        tag("path", class_="ideal", d=path_through(
            (frame.x(s.answered / most), frame.y(s.errors / s.answered)) for s in steps
        ))
    )  # fmt: skip
    for step, bound in zip(steps, bounds, strict=True):
        body.append(_tested(frame, step, bound, most))
    return svg(670, 344, f"Path of tests: {chain}", body)


def _frame(frame: PlotArea, top: float, most: float) -> list[Markup]:
    bottom, right = frame.top + frame.height, frame.left + frame.width
    body = [tag("rect", x=frame.left, y=frame.top, width=frame.width, height=frame.height,
                class_="frame")]  # fmt: skip
    for share in (0, 0.25, 0.5, 0.75, 1):
        x, y = frame.x(share), frame.y(share * top)
        label = hundredths(share * top, decimals=0)
        body += [
            tag("line", x1=x, x2=x, y1=frame.top, y2=bottom, class_="grid"),
            tag("text", f"{share * most:,.0f}", x=x, y=bottom + 15, class_="tick mid"),
            tag("line", x1=frame.left, x2=right, y1=y, y2=y, class_="grid"),
            tag("text", label, x=frame.left - 6, y=y + 4, class_="tick end"),
        ]
    middle = frame.top + frame.height / 2
    turned = f"translate({frame.left - 38} {middle}) rotate(-90)"
    return [
        *body,
        tag("text", "Rows answered", x=frame.x(0.5), y=bottom + 34, class_="label mid"),
        tag("text", "Wrong among them, %", x=0, y=0, class_="label mid", transform=turned),
    ]


def _line(frame: PlotArea, risk: float) -> list[Markup]:
    y = frame.y(risk)
    said = f"risk {short_percent(risk)}"
    return [
        tag("line", x1=frame.x(0), x2=frame.x(1), y1=y, y2=y, class_="risk"),
        tag("text", said, x=frame.x(1) - 4, y=y - 5, class_="tick end"),
    ]


def _tested(frame: PlotArea, step: ThresholdTest, bound: float, most: float) -> Markup:
    """Draw one test: a dot at the errors counted, a line up to the bound."""
    x, y = frame.x(step.answered / most), frame.y(step.errors / step.answered)
    kind = "pass" if step.passed else "fail"
    says = (
        f"at {short_percent(step.threshold)} or more: {step.errors:,.4g} wrong of"
        f" {step.answered:,.4g}, p {step.p_value:.3g}, level {step.level:.3g}:"
        f" {'passed' if step.passed else 'failed'}"
    )
    whisker = tag("line", x1=x, x2=x, y1=y, y2=frame.y(min(bound, frame.y_max)), class_=kind)
    return with_title(Markup("").join([whisker, tag("circle", cx=x, cy=y, r=4, class_=kind)]), says)


def write_gate_page(gate: Gate, path: Path) -> Path:
    """Write the page of a gate."""
    chains = list(dict.fromkeys(step.states for step in gate.path))
    page = render_page(
        "gate.html.j2", title=REFUSED if gate.threshold is None else SET, gate=gate,
        summary=gate_notes(gate),
        pictures=[(chain, draw_path(gate, chain)) for chain in chains], all=ALL,
        percent=short_percent,
        finding=lambda chain: path_finding(gate, chain),
    )  # fmt: skip
    write_whole(path, page.encode())
    return path
