"""What a judge's marks are worth, in sentences and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.atomic import write_whole
from novarag.formatting import fixed_percent, span
from novarag.report.templating import render_page
from novarag.texts import plain_text

if TYPE_CHECKING:
    from pathlib import Path

    from novarag.metrics.judge_quality import JudgeQuality
    from novarag.stats.figure import Figure


def judge_notes(found: JudgeQuality) -> list[str]:
    """Say in plain sentences what a judge is worth."""
    figures, rate = found.figures, found.rate
    lines = [
        found.verdict,
        f"Wrong by people: {shown_share(figures.labelled)} of {rate.labelled:,} labelled rows of"
        f" {rate.clusters:,} sources; by the judge: {shown_share(figures.marked)} of {rate.rows:,}"
        " rows.",
        f"It marks wrong {shown_share(figures.sensitivity)} of what people call wrong, and right"
        f" {shown_share(figures.specificity)} of what they call right; it agrees with them on"
        f" {shown_share(figures.agreement)} (kappa {figures.kappa:.2f}).",
        _rate_line(found),
    ]
    if found.repeated is not None:
        lines.append(f"Asked again, it says the same of {shown_share(found.repeated)}.")
    lines.append(
        "A threshold from these marks alone promises nothing: set it on people's labels, or on a"
        " rate that they correct."
    )
    return lines


def _rate_line(found: JudgeQuality) -> str:
    rate = found.rate
    ends = span(max(0.0, rate.low), min(1.0, rate.high), fixed_percent)
    alone = span(max(0.0, rate.alone_low), min(1.0, rate.alone_high), fixed_percent)
    if rate.labelled == rate.rows:
        whole = f"{fixed_percent(rate.rate)} ({ends})"
        return f"All rows are labelled, so their rate needs no judge: {whole}."
    return (
        f"The rate of wrong answers over all {rate.rows:,} rows, marks corrected by labels:"
        f" {fixed_percent(rate.rate)} ({ends}); by the labels alone"
        f" {fixed_percent(rate.labels_alone)} ({alone})."
    )


def shown_share(figure: Figure) -> str:
    """Show a share with its interval."""
    if figure.low is None or figure.high is None:
        return "none"
    return f"{fixed_percent(figure.value)} ({span(figure.low, figure.high, fixed_percent)})"


def write_judge_page(found: JudgeQuality, mark: str, path: Path) -> Path:
    """Write the page."""
    notes = judge_notes(found)
    page = render_page(
        "judge.html.j2", title=f"What the marks of {plain_text(mark, longest=60)} are worth",
        found=found, verdict=notes[0], summary=notes[1:], share=shown_share,
    )  # fmt: skip
    write_whole(path, page.encode())
    return path
