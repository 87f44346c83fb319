"""The page of the demo: a measured log, a question box, and the decision on an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from novarag.formatting import span, whole_percent
from novarag.report.sentences import judged
from novarag.report.svg import svg, tag
from novarag.report.templating import render_page
from novarag.report.verdict import judge
from novarag.taxonomy import EvidenceState, Grade

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.calibration.gate import Gate
    from novarag.metrics import Measurement
    from novarag.scoring import Answer

_EVIDENCE = {
    EvidenceState.CONFLICTING: "Passages that bear on the question contradict each other.",
    EvidenceState.CONSISTENT: "A passage answers the question, and none contradicts it.",
    EvidenceState.INSUFFICIENT: "No passage answers the question; the model falls back on memory.",
}
_WIDTH = 300  # of the drawn scale from 0 to 100 %, in units of the picture
_LEAD = 8  # beside the scale, so that a dot at its end is whole


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoForm:
    """The question box: what stands in its fields, and what was wrong with it."""

    question: str = ""
    answer: str = ""
    passages: str = ""
    fault: str = ""


def demo_page(
    measurement: Measurement,
    gate: Gate,
    *,
    prepared: Mapping[str, str],
    chosen: str,
    form: DemoForm,
    answer: Answer | None,
) -> str:
    """Write the page of the demo.

    Args:
        measurement: The measured log.
        gate: The gate that was set on the log.
        prepared: The names of the prepared questions, with their titles.
        chosen: The name of the one that is shown, "" for a visitor's own.
        form: What stands in the question box.
        answer: What came of the question; None where it was not asked.
    """
    return render_page(
        "demo.html.j2", style="demo.css", verdict=judge(measurement.overall),
        panels=judged(measurement), gate=gate, prepared=prepared, chosen=chosen, form=form,
        answer=answer, seen={} if answer is None else _seen(answer),
    )  # fmt: skip


def _seen(answer: Answer) -> dict[str, object]:
    """Return what the page shows of an answer beside its own fields."""
    return {
        "passages": _passages(answer),
        "stated": draw_share(answer.stated, None),
        "calibrated": draw_share(answer.confidence, answer.interval),
        "ends": "" if answer.interval is None else span(*answer.interval, whole_percent),
        "evidence": "" if answer.evidence is None else _EVIDENCE[answer.evidence],
        "truth": "right" if answer.trial.grade is Grade.RIGHT else "wrong",
    }


def _passages(answer: Answer) -> Sequence[tuple[str, str]]:
    """Pair the text of each passage with the model's judgment of it."""
    texts = [passage.text for passage in answer.trial.group.passages]
    judgments = [str(judgment) for judgment in answer.judgments or ()]
    return list(zip(texts, judgments or ["not judged"] * len(texts), strict=True))


def draw_share(share: float | None, interval: tuple[float, float] | None) -> Markup:
    """Draw a share of one on a scale, with its interval where it has one."""
    if share is None:
        return Markup("")
    body = [tag("line", x1=_LEAD, x2=_LEAD + _WIDTH, y1=11, y2=11, class_="grid")]
    if interval is not None:
        low, high = interval
        body.append(
            tag("rect", x=_at(low), y=4, width=_at(high) - _at(low), height=14, rx=4, class_="band")
        )
    body.append(tag("circle", cx=_at(share), cy=11, r=6, class_="dot" if interval else "graded"))
    said = whole_percent(share)
    if interval is not None:
        said += f", {span(*interval, whole_percent)}"
    return svg(_WIDTH + 2 * _LEAD, 22, said, body)


def _at(share: float) -> float:
    return round(_LEAD + _WIDTH * share, 1)
