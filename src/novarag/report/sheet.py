"""Write a blind rating sheet: one page that works without a network, and its key apart from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.report.templating import render_page, write_texts
from novarag.study.grades import GRADES, RUBRIC
from novarag.study.sheet import key_text, letter
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.study import RatingSheet
    from novarag.study.grades import GradeEntry

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
