"""Documents that are a file each: plain text, Markdown and HTML."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from novarag.errors import DataError
from novarag.records import Document
from novarag.texts import replace_halves

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLAIN, MARKDOWN, HTML = (".txt",), (".md", ".markdown"), (".html", ".htm")
PAGES = (*PLAIN, *MARKDOWN, *HTML)
"""Endings of files that are one document each."""

LARGEST = 20_000_000
"""Bytes of the largest page: a book has one million."""

_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
# What makes `<` the beginning of a tag, and not of "a < b".
_NAME = re.compile(r"<(/?[A-Za-z][A-Za-z0-9]{0,20}|[!?])")
_LONGEST_TAG = 4000  # characters
_UNSEEN = frozenset({"script", "style", "template", "noscript", "svg"})
_BREAKS = frozenset({
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption",
    "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p",
    "pre", "section", "table", "td", "th", "tr", "ul",
})  # fmt: skip


def is_page(path: Path) -> bool:
    """Say whether a file is one document, by its ending."""
    return path.suffix.lower() in PAGES


def iter_pages(path: Path, *, top: Path) -> Iterator[Document]:
    """Read one file as a document named by its path below `top`; one without words gives none."""
    size = path.stat().st_size
    if size > LARGEST:
        raise DataError(
            f"the page has {size:,} bytes; {LARGEST:,} are the most.",
            hint="split it, or write it as a table with a row for each document.",
            source=str(path),
        )
    text = replace_halves(decode(path.read_bytes()))
    title = ""
    if path.suffix.lower() in HTML:
        title, text = html_text(text)
    elif path.suffix.lower() in MARKDOWN:
        title = heading(text)
    if text.strip():
        name = path.relative_to(top).as_posix()
        yield Document(id=name, title=title or path.stem, text=text.strip())


def decode(content: bytes) -> str:
    r"""Read the bytes of a text: by their mark, else as UTF-8, else as Windows' Latin.

    >>> decode(b"caf\xc3\xa9"), decode(b"caf\xe9"), decode("é".encode("utf-16"))
    ('café', 'café', 'é')
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            return content.decode(name, "replace")
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def heading(text: str) -> str:
    r"""Return the first heading of a Markdown text, or nothing.

    >>> heading("intro\n# The lighthouse #\n")
    'The lighthouse'
    """
    for line in text.splitlines():
        if line.startswith("#"):
            return line.strip("#").strip()
    return ""


def html_text(source: str) -> tuple[str, str]:
    r"""Return the title and the visible text of a page; a block begins a line.

    Written by hand, since the standard library's parser takes hours for a page of broken tags.

    >>> html_text("<title>Ink</title><p>One &amp; two</p><script>three()</script><p>four")
    ('Ink', 'One & two\nfour')
    """
    shown: list[str] = []
    title: list[str] = []
    place, end = 0, len(source)
    while place < end:
        start = source.find("<", place)
        start = end if start < 0 else start
        shown.append(source[place:start])
        name, place = _tag(source, start)
        if name == "title":
            close = _closing(source, "title", place)
            title, place = title or [source[place:close]], close
        elif name in _UNSEEN:
            place = _closing(source, name, place)
        elif name.removeprefix("/") in _BREAKS:
            shown.append("\n")
        elif not name:
            shown.append(source[start:place])
    lines = (" ".join(line.split()) for line in unescape("".join(shown)).splitlines())
    return " ".join(unescape("".join(title)).split()), "\n".join(line for line in lines if line)


def _tag(source: str, start: int) -> tuple[str, int]:
    """Name the tag that begins here, with its slash, and where it ends; "" is no tag but text."""
    if source.startswith("<!--", start):
        close = source.find("-->", start)
        return "comment", len(source) if close < 0 else close + len("-->")
    name = _NAME.match(source, start)
    close = source.find(">", start, start + _LONGEST_TAG) if name else -1
    if name is None or close < 0:
        return "", min(start + 1, len(source))
    return name[1].lower(), close + 1


def _closing(source: str, name: str, place: int) -> int:
    """Find where a part ends that is not shown; one that is never closed reaches to the end."""
    close = re.compile(f"</{name}", re.IGNORECASE).search(source, place)
    return close.start() if close else len(source)
