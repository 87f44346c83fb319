"""A hook of mkdocs: the pages as one list and as one text, for models that read them.

`llms.txt` follows llmstxt.org: each page with its title, its address and its first sentence, in the
order of the menu. `llms-full.txt` is the text of all pages. Both are made with the site, so neither
can be older than the pages.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

FIRST = "Start"
"""The section of pages that stand in the menu without one."""
SENTENCE = re.compile(r"[.!?][\"”)]*(?=\s)")
"""Where a sentence ends: `3.11` and `answers.csv` do not end one."""
OBJECT = re.compile(r"^::: (\S+)\n(?:[ \t]+\S.*\n?)*", re.MULTILINE)
"""An object whose docstring mkdocstrings writes into the page, with its options."""

_menu: list[Page] = []
"""The pages of the build that is under way, as mkdocs hands them to one event and not to the other."""


class _Beginning(HTMLParser):
    """Collects the texts of headings and paragraphs of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[tuple[str, str]] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"h1", "p"}:
            self._inside = tag
            self.texts.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            tag, text = self.texts.pop()
            self.texts.append((tag, text + data))


def beginning(html: str) -> tuple[str, str]:
    """Take the title of a page and its first sentence; either may be missing.

    >>> beginning('<h1>Gating</h1><p>"From <em>which</em> one?" It answers.</p>')
    ('Gating', '"From which one?"')
    >>> beginning("<h1>Codes</h1><table></table>")
    ('Codes', '')
    """
    reader = _Beginning()
    reader.feed(html)
    told = [(tag, " ".join(text.split())) for tag, text in reader.texts]
    title = next((text for tag, text in told if tag == "h1"), "")
    text = next((text for tag, text in told if tag == "p" and text), "")
    end = SENTENCE.search(text)
    return title, text[: end.end()] if end else text


def section_of(page: Page) -> str:
    """Name the part of the menu that a page stands in."""
    return page.ancestors[-1].title if page.ancestors else FIRST


def address(page: Page, config: MkDocsConfig) -> str:
    """Say where a page is read; without an address of the site, from its root."""
    site = config.site_url
    return urljoin(f"{site.rstrip('/')}/", page.url) if site else page.url or "./"


def short(pages: list[Page], config: MkDocsConfig) -> str:
    """Write the list of pages."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}"]
    section = None
    for page in pages:
        if section_of(page) != section:
            section = section_of(page)
            lines += ["", f"## {section}", ""]
        title, sentence = beginning(page.content or "")
        said = f": {sentence}" if sentence else ""
        lines.append(f"- [{title or page.title}]({address(page, config)}){said}")
    return "\n".join([*lines, ""])


def full(pages: list[Page], config: MkDocsConfig) -> str:
    """Write the text of all pages; objects of Python are named with the address of their page."""
    parts = [f"# {config.site_name}\n\n> {config.site_description}\n"]
    for page in pages:
        here = address(page, config)
        text = OBJECT.sub(rf"[`\1`]({here}#\1)\n", page.markdown or "")
        parts.append(f"<!-- {page.file.src_uri}: {here} -->\n\n{text.strip()}\n")
    return "\n".join(parts)


def on_nav(nav: Navigation, **_: object) -> None:
    """Keep the pages in the order of the menu."""
    _menu[:] = nav.pages


def on_post_build(config: MkDocsConfig) -> None:
    """Write both files beside the pages."""
    site = Path(config.site_dir)
    (site / "llms.txt").write_text(short(_menu, config), encoding="utf-8")
    (site / "llms-full.txt").write_text(full(_menu, config), encoding="utf-8")
