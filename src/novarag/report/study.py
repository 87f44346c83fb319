"""Write a human study down: the blind sheet on one page, its key apart, and what ratings say."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from novarag.formatting import NOTHING, decimal, signed
from novarag.report.page import plain
from novarag.report.rating_pictures import draw_bars, draw_radar, hue, score_text, short
from novarag.report.templating import open_template, render_page, write_texts
from novarag.report.words import figure_span
from novarag.study.grades import GRADES, RUBRIC
from novarag.study.sheet import key_text, letter
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.study import RatingSheet, StudyReport
    from novarag.study.analysis import CriterionReport
    from novarag.study.grades import GradeEntry

_SURE = 0.05  # the usual level of a test


number = partial(decimal, decimals=2)
"""Format a mean, an agreement or a statistic of ratings."""


def chance(p: float) -> str:
    """Format a p-value.

    >>> chance(0.0004), chance(0.0312)
    ('< 0.001', '0.031')
    """
    if p != p:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def study_notes(report: StudyReport) -> list[str]:
    """Say in plain sentences what was found."""
    lines = [_leader(report, found) for found in report.criteria]
    alpha = report.agreement.ordinal
    if alpha.value == alpha.value:
        lines.append(
            f"The raters agree by a Krippendorff's alpha of {score_text(alpha)} on all criteria"
            f" together (ordinal); two of them by a Cohen's kappa of"
            f" {number(report.agreement.kappa)} on average."
        )
    else:
        lines.append("Whether the raters agree cannot be told from these ratings.")
    missing = sum(who.missing for who in report.raters)
    if missing:
        lines.append(f"{missing:,} ratings are missing; they are left out, not filled in.")
    return lines


def _leader(report: StudyReport, found: CriterionReport) -> str:
    """Name the system with the highest mean, and those the paired test cannot tell it from."""
    title = found.criterion.title
    known = {name: f for name, f in found.means.items() if f.value == f.value}
    if not known:
        return f"{title}: nothing was rated."
    best = max(known, key=lambda name: known[name].value)
    level = [
        k.other if k.one == best else k.one
        for k in found.contrasts
        if best in {k.one, k.other} and not k.wilcoxon_holm < _SURE
    ]
    head = f"{title}: {best} has the highest mean, {score_text(known[best])}"
    if not level:
        return f"{head}; the paired test tells it from every other system."
    if len(level) == len(report.systems) - 1:
        return f"{head}; the paired test tells it from no other system."
    return f"{head}; the paired test tells it from every other system but {', '.join(level)}."


def write_study(report: StudyReport, folder: Path, *, made: str, version: str) -> list[Path]:
    """Write study.json, report.md and report.html; the same report gives the same bytes."""
    parts: dict[str, Any] = {
        "r": report, "made": made, "version": version, "summary": study_notes(report),
        "rated": sum(who.rated for who in report.raters),
        "missing": sum(who.missing for who in report.raters),
        "draw_bars": draw_bars, "draw_radar": draw_radar, "hue": hue, "short": short,
        "number": number, "signed": partial(signed, decimals=2),
        "span": partial(figure_span, write=number), "chance": chance,
        "score_text": score_text,
    }  # fmt: skip
    texts = {
        "study.json": json.dumps(plain(report), indent=1, allow_nan=False) + "\n",
        "report.html": render_page("study.html.j2", **parts),
        "report.md": open_template("study.md.j2", escape=False).render(parts),
    }
    return write_texts(folder, texts)


PAGE, KEY = "sheet.html", "key.json"


def _lines(text: str) -> str:
    """Make a foreign text safe to show, line by line and whole: raters judge all of it."""
    return "\n".join(plain_text(line, longest=len(line) * 6 + 1) for line in text.splitlines())


def sheet_html(sheet: RatingSheet) -> str:
    """Return the page; no system is named in it, and every foreign text is escaped.

    Ratings live in plain radio buttons. The one script keeps and saves them; it sees no foreign
    text, and no other script can run.
    """
    rubric, systems = sheet.key.rubric, len(sheet.key.systems)
    return _page(
        "sheet.html.j2",
        sheet=sheet,
        rubric=rubric,
        letters=[letter(i) for i in range(systems)],
        total=len(sheet.entries) * systems * len(rubric.criteria),
    )


def grades_html(sheet: str, entries: Sequence[GradeEntry]) -> str:
    """Return the page on which answers are graded, by the same script and rules as a rating."""
    title = RUBRIC.criteria[0].title
    return _page("grades.html.j2", sheet=sheet, entries=entries, grades=GRADES, title=title)


def _page(name: str, **content: object) -> str:
    return render_page(
        name, style="sheet.css", script="sheet.js", filters={"lines": _lines}, **content
    )


def write_sheet(sheet: RatingSheet, folder: Path) -> list[Path]:
    """Write the page for raters, and the key that is not for them."""
    texts = {PAGE: sheet_html(sheet), KEY: key_text(sheet.key)}
    return write_texts(folder, texts)
