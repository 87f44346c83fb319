"""A corpus as people keep it: rows with a text, and often an id and a title; or a folder of texts.

The columns go by the names that public corpora use; the first of each list that a row has counts.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.answers.opening.files import SUFFIXES, existing
from novarag.datasets.groups import rows_of
from novarag.datasets.pages import PAGES, is_page, iter_pages
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
