"""Write a blind rating sheet: one page that works without a network, and its key apart from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from novarag.report.page import open_template, style_hash, template_text, write_texts
from novarag.study.sheet import key_text, letter
from novarag.texts import plain_text

if TYPE_CHECKING:
    from pathlib import Path

    from novarag.study import Sheet

PAGE, KEY = "sheet.html", "key.json"


def _lines(text: str) -> str:
    """Make a foreign text safe to show, line by line and whole: raters judge all of it."""
    return "\n".join(plain_text(line, longest=len(line) * 6 + 1) for line in text.splitlines())


def sheet_html(sheet: Sheet) -> str:
    """Return the page; no system is named in it, and every foreign text is escaped.

    Ratings live in plain radio buttons. The one script keeps and saves them; it sees no foreign
    text, and no other script can run.
    """
    style = template_text("report.css") + template_text("sheet.css")
    script = template_text("sheet.js")
    rubric, systems = sheet.key.rubric, len(sheet.key.systems)
    template = open_template("sheet.html.j2", escape=True, filters={"lines": _lines})
    return template.render(
        sheet=sheet,
        rubric=rubric,
        letters=[letter(i) for i in range(systems)],
        total=len(sheet.entries) * systems * len(rubric.criteria),
        style=Markup(style),  # noqa: S704 - our own files
        script=Markup(script),  # noqa: S704 - our own file
        style_hash=style_hash(style),
        script_hash=style_hash(script),
    )


def write_sheet(sheet: Sheet, folder: Path) -> list[Path]:
    """Write the page for raters, and the key that is not for them."""
    texts = {PAGE: sheet_html(sheet), KEY: key_text(sheet.key)}
    return write_texts(folder, texts)
