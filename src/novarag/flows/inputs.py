"""Groups and passages as a caller gives them: in files, one of them, or several."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.errors import DataError
from novarag.records import Passage, PassageGroup
from novarag.runner.sources import as_group

if TYPE_CHECKING:
    from collections.abc import Iterator

GroupsInput = str | Path | PassageGroup | Iterable[PassageGroup]


def iter_given(groups: GroupsInput) -> Iterator[PassageGroup]:
    """Read groups from a file, or take them as they are."""
    if isinstance(groups, (str, Path)):
        from novarag.datasets import iter_groups

        return iter_groups(groups)
    if isinstance(groups, Iterable):
        return map(as_group, groups)
    return iter((as_group(groups),))


_TEXTS = {".txt", ".md", ".text"}
_COLUMNS = ("text", "passage", "content")


def load_passages(path: Path) -> list[Passage]:
    """Read a .txt or .md file as one passage, or a table with a column `text` as many."""
    if path.suffix in _TEXTS and path.is_file():
        return [_text_passage(path)]
    from novarag.answers.opening.open_table import read_table

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
