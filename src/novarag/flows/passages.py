"""Passages alone, for one question at a desk: a text file is one passage, a table many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.errors import DataError
from novarag.records import Passage

if TYPE_CHECKING:
    from pathlib import Path

_TEXTS = {".txt", ".md", ".text"}
_COLUMNS = ("text", "passage", "content")


def load_passages(path: Path) -> list[Passage]:
    """Read a .txt or .md file as one passage, or a table with a column `text` as many."""
    if path.suffix in _TEXTS and path.is_file():
        return [_text_passage(path)]
    from novarag.answers.opening.open_table import (
        read_table,  # brings polars, which a text can spare
    )

    frame = read_table(path)
    column = next((name for name in _COLUMNS if name in frame.columns), None)
    if column is None:
        raise DataError(
            "there is no column with the passages.",
            hint=f"name it {', '.join(_COLUMNS[:-1])} or {_COLUMNS[-1]}.",
            source=str(path),
        )
    return [
        Passage(text=str(text), source=f"{path.name}, row {number}")
        for number, text in enumerate(frame[column].to_list(), start=1)
        if text is not None
    ]


def _text_passage(path: Path) -> Passage:
    text = path.read_bytes().decode("utf-8", errors="replace").strip()
    if not text:
        raise DataError("the passage is empty.", hint="write its text.", source=str(path))
    return Passage(text=text, source=path.name)
