"""What raters said of the systems, as lines of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.report.study import chance, number
from novarag.report.words import figure_span
from novarag.texts import escape_markdown

if TYPE_CHECKING:
    from novarag.study import RatingSheet, StudyReport


def no_ratings(sheet: RatingSheet) -> list[str]:
    """Say that the sheet waits for people."""
    return [
        f"Nobody has rated yet. The blind sheet has {len(sheet.entries)} questions and"
        f" {len(sheet.key.systems)} systems: send `study/sheet.html` to raters, put what they save"
        " beside it as `ratings-NAME.json`, and run the same command again.",
    ]


def rated_lines(report: StudyReport) -> list[str]:
    """Say how much raters agree, and what each system was given on each criterion."""
    who = "simulated raters, who are nobody" if report.simulated else "raters"
    agreed = report.agreement
    lines = [
        f"{len(report.raters)} {who}, {report.questions} questions, ratings from 1 to"
        f" {report.points}. Krippendorff's alpha {number(agreed.ordinal.value)} (ordinal,"
        f" {figure_span(agreed.ordinal, number)}), mean pairwise kappa {number(agreed.kappa)}"
        f" (quadratic weights {number(agreed.quadratic)}). In pictures R1 is the first of the"
        " table, and so on.",
        "",
        "| criterion | "
        + " | ".join(map(escape_markdown, report.systems))
        + " | Kruskal\u2013Wallis p | Friedman p |",
        "|---" * (len(report.systems) + 3) + "|",
    ]
    for row in report.criteria:
        means = [f"{number(f.value)} ({figure_span(f, number)})" for f in row.means.values()]
        paired = "\u2013" if row.friedman is None else chance(row.friedman.p)
        title = escape_markdown(row.criterion.title)
        cells = [title, *means, chance(row.kruskal.p), paired]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
