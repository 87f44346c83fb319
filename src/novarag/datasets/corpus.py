"""A corpus as people keep it: rows with a text, and often an id and a title; or a folder of texts.

The columns go by the names that public corpora use; the first of each list that a row has counts.
A file of plain text, Markdown or HTML is one document.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.answers.opening.files import SUFFIXES, existing
from novarag.datasets.groups import rows_of
from novarag.errors import DataError
from novarag.records import Document
from novarag.texts import replace_halves

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TEXTS = ("text", "contents", "content", "body", "passage")
IDS = ("id", "_id", "docid", "doc_id", "passage_id")
TITLE = "title"
_LONGEST_ID = 500  # characters; ids stand in every row that names a document


def iter_documents(paths: Iterable[str | Path]) -> Iterator[Document]:
    """Read documents from files or folders of files, one by one, in a stable order."""
    for path in map(Path, paths):
        for file in find_files(path):
            if is_page(file):
                yield from iter_pages(file, top=path if path.is_dir() else file.parent)
                continue
            for number, row in enumerate(rows_of(file), start=1):
                yield _document(row, source=str(file), row_number=number)


def find_files(path: Path) -> list[Path]:
    """List the files of a corpus, which must be there.

    A folder with tables is read as tables, and pages beside them (a README) are left alone; without
    tables every page of text, Markdown or HTML is a document.
    """
    if not path.is_dir():
        return [existing(path)]
    files = sorted(f for f in path.rglob("*") if f.is_file())
    tables = [f for f in files if f.name.endswith(SUFFIXES)]
    found = tables or [f for f in files if is_page(f)]
    if not found:
        raise DataError(
            "there is no corpus in this folder.",
            hint=f"name files that end in {', '.join((*SUFFIXES, *PAGES))}.",
            source=str(path),
        )
    return found


def _document(row: Mapping[str, object], *, source: str, row_number: int) -> Document:
    column = next((name for name in TEXTS if row.get(name) is not None), TEXTS[0])
    text = row.get(column)
    title = row.get(TITLE)
    if isinstance(title, str) and isinstance(text, str) and not text.strip():
        text, title = title, None  # some corpora have documents that are a title and nothing else
    if not isinstance(text, str) or not text.strip():
        raise DataError(
            "the document has no text." if text is None else "the text is empty.",
            hint=f"drop the row, or write it as {', '.join(TEXTS[:-1])} or {TEXTS[-1]}.",
            source=source, row=row_number, column=column,
        )  # fmt: skip
    given = next((row[name] for name in IDS if row.get(name) is not None), None)
    title, text = replace_halves(str(title or "")).strip(), replace_halves(text).strip()
    name = _hash_of(title, text) if given is None else replace_halves(str(given)).strip()
    if not 0 < len(name) <= _LONGEST_ID:
        raise DataError(
            f"the id has {len(name):,} characters.",
            hint=f"name documents with 1 to {_LONGEST_ID} characters, or leave the id out.",
            source=source, row=row_number, column="id",
        )  # fmt: skip
    return Document(id=name, title=title, text=text)


def _hash_of(title: str, text: str) -> str:
    return blake2b(f"{title}\n{text}".encode(), digest_size=16).hexdigest()


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
