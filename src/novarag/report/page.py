"""Write a measurement down: JSON for programs, Markdown for reviews, one HTML page for people."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from novarag.formatting import hundredths, percent, signed
from novarag.metrics import LEAST_ROWS, METRICS
from novarag.metrics.views import BASELINE_METRICS
from novarag.report import advice, ranking, svg, words
from novarag.report.findings import reliability_finding, risk_finding
from novarag.report.sentences import answer_first, headline, judged, rivals, summary
from novarag.report.templating import open_template, render_page, write_texts
from novarag.report.verdict import MARGIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.calls import Cost
    from novarag.metrics import Measurement, Panel
    from novarag.report.examples import PanelExamples
    from novarag.report.sentences import JudgedPanel
    from novarag.report.verdict import ConfidenceVerdict

TILES = ("accuracy", "overconfidence", "brier", "ece", "auroc", "aurc", "coverage_at_10")
"""Figures of the table of groups."""

KEYS = {
    "mean_confidence": "It promises, on average",
    "accuracy": "It delivers: answers that are right",
    "auroc": "It tells right from wrong (0.5 is a coin, 1 always)",
    "brier": "Brier score (0 is perfect)",
}
"""Figures that stand large, and what they are called there."""

SMALL_MULTIPLES = 24  # groups that are drawn; the table has all
SHOWN_DIFFERENCES = 60  # rows of the table of differences, the surest first
_RANKED = ("calls", "tokens", "behind", "p")
_TWICE = frozenset({"sources", "notes", "decisions", "metrics"})  # said elsewhere, or not data


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What a report says of itself: a title, where the answers came from, when and by what.

    `costs` says for a group by name what its answers took, `meanings` what it is. `apart` says
    that groups are rivals over the same questions, not parts of one whole: nothing is said of them
    together.
    """

    title: str
    sources: Sequence[str]
    made: str
    version: str
    notes: Sequence[str] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    apart: bool = False


def to_json(
    measurement: Measurement, heading: Heading, examples: Mapping[str, PanelExamples] | None = None
) -> str:
    """Return the whole measurement as JSON, verdicts first; what is not a number is null."""
    found = plain(measurement)
    whole = {
        "heading": asdict(heading),
        "verdict": plain(_first(measurement, heading)),
        "judged": [_judged_json(one) for one in judged(measurement)],
        "ranked": [
            {"name": one.panel.name, **{k: plain(getattr(one, k)) for k in _RANKED}}
            for one in ranking.ranked(measurement, heading.costs)
        ],
        **{key: value for key, value in found.items() if key not in _TWICE},
        "examples": plain(dict(examples or {})),
    }
    return json.dumps(whole, indent=1, allow_nan=False)


def _first(measurement: Measurement, heading: Heading) -> ConfidenceVerdict:
    """Return the verdict that stands first; of methods with a cost, which is the best."""
    ranked = ranking.ranked(measurement, heading.costs)
    return ranking.best_of(ranked) if ranked else headline(measurement)


def _judged_json(one: JudgedPanel) -> dict[str, Any]:
    panel = one.panel
    return {
        "name": panel.name,
        "verdict": plain(one.verdict),
        "titles": [reliability_finding(panel), risk_finding(panel)],
        **(plain(one.decisions) if one.decisions else {"thresholds": []}),
        "at_or_above": plain(one.reach),
    }


def plain(value: Any) -> Any:  # noqa: ANN401 - any record in, JSON out
    """Turn records into what JSON can hold; what is not a number is null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in (f.name for f in fields(value))}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def to_markdown(measurement: Measurement, heading: Heading) -> str:
    """Return verdict, what to do and the evidence as Markdown."""
    content = _content(measurement, heading, {})
    return open_template("report.md.j2", escape=False).render(
        **content, lines=answer_first(measurement)
    )


def to_html(
    measurement: Measurement, heading: Heading, examples: Mapping[str, PanelExamples] | None = None
) -> str:
    """Return one self-contained page: a script of ours alone, no request, foreign text escaped."""
    content = _content(measurement, heading, examples or {})
    script = "slider.js" if any(one.reach for one in content["judged"]) else ""
    return render_page("report.html.j2", script=script, **content)


def _content(
    measurement: Measurement, heading: Heading, examples: Mapping[str, PanelExamples]
) -> dict[str, Any]:
    ranked = ranking.ranked(measurement, heading.costs)
    known = [p for p in measurement.groups if not p.refusal]
    metrics = METRICS | {m.name: m for m in measurement.metrics}
    if ranked:
        known.sort(key=lambda panel: panel.figures["brier"].value)
    compared = len(measurement.groups) > 1
    return {
        "m": measurement,
        "heading": heading,
        "headline": _first(measurement, heading),
        "judged": judged(measurement),
        "compared": compared,
        "evidence": summary(measurement) if ranked or not heading.apart else rivals(measurement),
        "examples": examples,
        "alone": not compared and not measurement.overall.refusal,
        "margin": hundredths(MARGIN, decimals=0),
        "metrics": metrics,
        "tiles": TILES,
        "keys": KEYS,
        "rivals": BASELINE_METRICS,
        "ranked": ranked,
        "ratios": words.RATIO_TITLES,
        "min_rows": LEAST_ROWS,
        "number": partial(words.number, metrics=metrics),
        "signed": signed,
        "change": partial(words.change, metrics=metrics),
        "each": words.each,
        "span": partial(words.span, metrics=metrics),
        "title_of": partial(words.title_of, metrics=metrics),
        "percent": percent,
        "advice": advice,
        "reliability": svg.reliability,
        "risk_coverage": svg.risk_coverage,
        "reliability_finding": reliability_finding,
        "risk_finding": risk_finding,
        "draw_costs": ranking.draw_costs,
        "cost_finding": ranking.cost_finding,
        "known": known,
        "tabled": [*known, *(p for p in measurement.groups if p.refusal)]
        if ranked
        else measurement.groups,
        "pictured": known[:SMALL_MULTIPLES],
        "differences": sorted(measurement.differences, key=lambda d: d.p)[:SHOWN_DIFFERENCES],
        "shares": _flaw_shares(measurement.overall),
    }


def _flaw_shares(panel: Panel) -> list[tuple[str, int, float]]:
    return [(name, count, count / panel.rows) for name, count in panel.flaws.items()]


def write_report(
    measurement: Measurement,
    heading: Heading,
    folder: str | Path,
    *,
    examples: Mapping[str, PanelExamples] | None = None,
) -> list[Path]:
    """Write report.json, report.md and report.html into a folder.

    Args:
        measurement: What `measure` returned.
        heading: What the report says of itself: its title, where the answers came from, when and
            by what it was made.
        folder: A folder for the three files, made where it is not there yet.
        examples: The rows to show behind the figures, by the name of their group; report.md shows
            none.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "report.json": to_json(measurement, heading, examples),
        "report.md": to_markdown(measurement, heading),
        "report.html": to_html(measurement, heading, examples),
    }
    return write_texts(folder, texts)
