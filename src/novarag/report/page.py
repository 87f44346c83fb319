"""Write a measurement down: JSON for programs, Markdown for reviews, one HTML page for people."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from novarag.atomic import write_whole
from novarag.metrics import LEAST_ROWS, METRICS
from novarag.metrics.views import BASELINE_METRICS
from novarag.report import svg, words
from novarag.texts import escape_markdown, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from novarag.calls import Cost
    from novarag.metrics import Measurement, Panel

TILES = ("accuracy", "overconfidence", "brier", "ece", "auroc", "aurc", "coverage_at_10")
SMALL_MULTIPLES = 24
SHOWN_DIFFERENCES = 60
_TWICE = frozenset({"sources", "notes"})  # the heading has them


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What a report says of itself: a title, where the answers came from, when and by what.

    `costs` says for a group by name what its answers took. `apart` says that groups are rivals
    over the same questions, not parts of one whole: nothing is said of them together.
    """

    title: str
    sources: Sequence[str]
    made: str
    version: str
    notes: Sequence[str] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)
    apart: bool = False


def to_json(measurement: Measurement, heading: Heading) -> str:
    """Return the whole measurement as JSON; what is not a number is null."""
    found = plain(measurement)
    whole = {"heading": asdict(heading), **{k: v for k, v in found.items() if k not in _TWICE}}
    return json.dumps(whole, indent=1, allow_nan=False)


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
    """Return the summary and the headline table as Markdown."""
    return _render("report.md.j2", measurement, heading, escape=False)


def to_html(measurement: Measurement, heading: Heading) -> str:
    """Return one self-contained page: no script, no request, every foreign text escaped."""
    return _render("report.html.j2", measurement, heading, escape=True)


def template_text(name: str) -> str:
    """Return a file of the templates."""
    return files("novarag.report").joinpath("templates", name).read_text("utf-8")


def style_hash(style: str) -> str:
    """Return what the page's security policy knows its style or its script by."""
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def open_template(
    name: str, *, escape: bool, filters: Mapping[str, Callable[..., str]] | None = None
) -> Template:
    """Open a template; every foreign text in it is escaped. `filters` are more of its own."""
    environment = Environment(
        autoescape=escape,  # noqa: S701 - the Markdown template escapes with a filter of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"md": escape_markdown, "shown": plain_text, "whole": words.whole}
    environment.filters |= filters or {}
    return environment.from_string(template_text(name))


def _render(template: str, measurement: Measurement, heading: Heading, *, escape: bool) -> str:
    style = template_text("report.css")
    known = [p for p in measurement.groups if not p.refusal]
    return open_template(
        template, escape=escape
    ).render(
        m=measurement,
        heading=heading,
        summary=words.rivals(measurement) if heading.apart else words.summary(measurement),
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=style_hash(style),
        metrics=METRICS,
        tiles=TILES,
        rivals=BASELINE_METRICS,
        ratios=words.RATIO_TITLES,
        least=LEAST_ROWS,
        number=words.number,
        each=words.each,
        span=words.span,
        title_of=words.title_of,
        reliability=svg.reliability,
        risk_coverage=svg.risk_coverage,
        known=known,
        refused=[p for p in measurement.groups if p.refusal],
        pictured=known[:SMALL_MULTIPLES],
        differences=sorted(measurement.differences, key=lambda d: d.p)[:SHOWN_DIFFERENCES],
        shares=_flaw_shares(measurement.overall),
    )


def _flaw_shares(panel: Panel) -> list[tuple[str, int, float]]:
    return [(name, count, count / panel.rows) for name, count in panel.flaws.items()]


def write_report(measurement: Measurement, heading: Heading, folder: str | Path) -> list[Path]:
    """Write report.json, report.md and report.html into a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    for name, make in (
        ("report.json", to_json),
        ("report.md", to_markdown),
        ("report.html", to_html),
    ):
        texts[name] = make(measurement, heading)
    return write_texts(folder, texts)


def write_texts(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write the files of a report into a folder, each whole or not at all."""
    for name, text in texts.items():
        write_whole(folder / name, text.encode("utf-8"))
    return [folder / name for name in texts]
