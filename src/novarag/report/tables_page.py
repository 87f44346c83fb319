"""A page of tables as HTML, made from the Markdown that is written beside it.

Only what our own pages use is known: headings, paragraphs, lists, tables, code, bold, links within
the page, pictures by name, and backslashes before signs. All else is text, and is escaped.
"""

from __future__ import annotations

import base64
import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from novarag.report.templating import render_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Of the Markdown that tables of ours hold: places and headings.
_ANCHOR = re.compile(r'<span id="([A-Za-z0-9_-]{1,80})"></span>$')
_HEADING = re.compile(r"(#{1,4}) (.*)")
_PICTURES = Markup('<figure class="chart broad">{}</figure>')
_CELLS = re.compile(r"(?<!\\)\|")  # a bar that is escaped ends no cell
# What stands within a line, an escaped sign first; each repeat is bounded.
_INLINE = re.compile(
    r"\\(?P<sign>[!-/:-@\[-`{-~])"
    r"|`(?P<code>[^`]{1,2000})`"
    r"|!\[(?P<alt>[^\]]{0,300})\]\((?P<picture>[^()\s]{1,300})\)"
    r"|\[(?P<text>[^\[\]]{1,300})\]\(#(?P<place>[A-Za-z0-9_-]{1,80})\)"
    r"|\*\*(?P<bold>[^*]{1,500})\*\*"
)


@dataclass(slots=True)
class _Page:
    """The parts of a page while it is being read."""

    pictures: Mapping[str, str]
    title: str = ""
    contents: list[tuple[str, str]] = field(default_factory=list)
    body: list[Markup] = field(default_factory=list)
    label: str = "Table"

    def inline(self, text: str) -> Markup:
        """Turn the signs of one line into elements, everything else into text."""
        parts, end = [], 0
        for found in _INLINE.finditer(text):
            parts.append(_text(text[end : found.start()]))
            parts.append(self._element(found))
            end = found.end()
        return Markup("").join([*parts, _text(text[end:])])

    def _element(self, found: re.Match[str]) -> Markup:
        if found["sign"]:
            return escape(found["sign"])
        if found["code"]:
            return Markup("<code>{}</code>").format(html.unescape(found["code"]))
        if found["text"]:
            return Markup('<a href="#{}">{}</a>').format(found["place"], self.inline(found["text"]))
        if found["bold"]:
            return Markup("<b>{}</b>").format(self.inline(found["bold"]))
        return self._picture(found["picture"], found["alt"])

    def _picture(self, name: str, alt: str) -> Markup:
        """Put a picture into the page; one that is not at hand is named."""
        if name not in self.pictures:
            return _text(alt)
        content = base64.b64encode(self.pictures[name].encode()).decode()
        image = Markup('<img alt="{}" src="data:image/svg+xml;base64,{}">').format(alt, content)
        return Markup(
            '<div class="wide" role="group" aria-label="{}" tabindex="0">{}</div>'
        ).format(alt, image)

    def heading(self, level: int, text: str) -> None:
        """Take a heading: the title, a section with its place, or a smaller one."""
        anchor = _ANCHOR.search(text.rstrip())
        said = _ANCHOR.sub("", text.rstrip()).rstrip()
        if level == 1:
            self.title = str(self.inline(said).striptags())
            return
        self.label = str(self.inline(said).striptags())
        if level > 2:
            self.body.append(Markup("<h3>{}</h3>").format(self.inline(said)))
            return
        place = anchor[1] if anchor else f"part-{len(self.contents) + 1}"
        self.contents.append((place, self.label))
        self.body.append(Markup('<h2 id="{}">{}</h2>').format(place, self.inline(said)))

    def table(self, lines: Sequence[str]) -> None:
        """Take a table: its head, the line under it, its rows."""
        head, *rows = [_cells(line) for line in lines if not set(line) <= set("|-: ")]
        top = Markup("").join(Markup("<th>{}</th>").format(self.inline(cell)) for cell in head)
        body = [
            Markup("<tr>{}</tr>").format(
                Markup("").join(
                    Markup("<td{}>{}</td>").format(
                        Markup("") if i else Markup(' class="name"'), self.inline(cell)
                    )
                    for i, cell in enumerate(row)
                )
            )
            for row in rows
        ]
        self.body.append(
            Markup(
                '<div class="wide" role="group" aria-label="{}" tabindex="0"><table>'
                "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
            ).format(self.label, top, Markup("").join(body))
        )

    def block(self, lines: Sequence[str]) -> None:
        """Take what stands between two empty lines."""
        heading = _HEADING.fullmatch(lines[0])
        if heading:
            self.heading(len(heading[1]), heading[2])
            lines = lines[1:]
        if not lines:
            return
        if lines[0].startswith("|"):
            self.table(lines)
        elif lines[0].startswith("- "):
            points = [Markup("<li>{}</li>").format(self.inline(line[2:])) for line in lines]
            self.body.append(Markup("<ul>{}</ul>").format(Markup("").join(points)))
        else:
            shape = _PICTURES if lines[0].startswith("![") else Markup("<p>{}</p>")
            self.body.append(shape.format(self.inline(" ".join(lines))))


def tables_html(markdown: str, pictures: Mapping[str, str]) -> str:
    """Return the page with a list of its contents; `pictures` are SVG by file name."""
    page = _Page(pictures)
    for block in re.split(r"\n[ \t]*\n", markdown.strip()):
        lines = [line for line in block.splitlines() if line.strip()]
        if lines:
            page.block(lines)
    return render_page(
        "tables.html.j2",
        title=page.title,
        contents=page.contents,
        body=Markup("\n").join(page.body),
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(line.strip().removeprefix("|").removesuffix("|"))]


def _text(text: str) -> Markup:
    return escape(html.unescape(text))
