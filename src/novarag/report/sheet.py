"""Write a blind rating sheet: one page that works without a network, and its key apart from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from novarag.report.page import open_template, style_hash, template_text, write_texts
from novarag.study.grades import GRADES, RUBRIC
from novarag.study.sheet import key_text, letter
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.study import Sheet
    from novarag.study.grades import GradeEntry

PAGE, KEY = "sheet.html", "key.json"


def _lines(text: str) -> str:
    """Make a foreign text safe to show, line by line and whole: raters judge all of it."""
    return "\n".join(plain_text(line, longest=len(line) * 6 + 1) for line in text.splitlines())


def sheet_html(sheet: Sheet) -> str:
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
    style = template_text("report.css") + template_text("sheet.css")
    script = template_text("sheet.js")
    template = open_template(name, escape=True, filters={"lines": _lines})
    return template.render(
        **content,
        style=Markup(style),  # noqa: S704 - our own files
        script=Markup(script),  # noqa: S704 - our own file
        style_hash=style_hash(style),
        script_hash=style_hash(script),
    )


def write_sheet(sheet: Sheet, folder: Path) -> list[Path]:
    """Write the page for raters, and the key that is not for them."""
    texts = {PAGE: sheet_html(sheet), KEY: key_text(sheet.key)}
    return write_texts(folder, texts)
