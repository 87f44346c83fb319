"""Users' own questions and passages: one row a group, in a small documented schema.

| column     | meaning                                                                      |
|------------|------------------------------------------------------------------------------|
| `question` | the question (required)                                                      |
| `id`       | names the question; default: `qid`, or the question itself                   |
| `group`    | names the row, where several rows ask the same question                      |
| `answers`  | accepted answers: a list, or one text; or `answer`                           |
| `form`     | `yes/no` or `open`; default: `yes/no` if every answer is yes or no           |
| `order`    | the permutation that shuffled the passages, for the record                   |
| `passages` | a list of texts, or of objects with `text` and optionally `kind`, `claim`,   |
|            | `facet`, `provenance`, `source`; in CSV use columns `passage_1`, `passage_2` |
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

import orjson

from novarag.answers.opening.files import existing, json_rows, table_batches
from novarag.answers.opening.gold import accepted_answers, form_of
from novarag.answers.opening.open_table import read_table
from novarag.defaults import LARGEST
from novarag.errors import DataError
from novarag.records import AnswerForm, Passage, PassageGroup, Question
from novarag.taxonomy import PassageKind, Provenance, RelevantFacet
from novarag.texts import parse_json, replace_halves

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

# Columns of a wide table: passage_1, passage_2.
_NUMBERED = re.compile(r"passage_[0-9]{1,4}$")
_Word = TypeVar("_Word", bound=StrEnum)


_BATCH = 5000  # rows of a Parquet file held at once


def load_groups(path: str | Path) -> list[PassageGroup]:
    """Read groups from JSONL, Parquet or CSV, or one group from a .json file.

    Args:
        path: The file to read. A row holds a question with its passages and, where they are known,
            its accepted answers and the kinds of the passages.
    """
    return list(iter_groups(path))


def iter_groups(path: str | Path) -> Iterator[PassageGroup]:
    """Read groups one by one, without holding the file; CSV alone is read whole."""
    path = existing(path)
    for number, row in enumerate(rows_of(path), start=1):
        yield parse_group(row, source=str(path), row_number=number)


def iter_questions(path: str | Path) -> Iterator[Question]:
    """Read questions one by one; passages beside them are not looked at."""
    path = existing(path)
    for number, row in enumerate(rows_of(path), start=1):
        yield _GroupRow(row, str(path), number).question()


def rows_of(path: Path) -> Iterator[Mapping[str, object]]:
    """Yield the rows of a file, without holding it where its form allows."""
    if path.suffix == ".json":
        yield _one_object(path)
    elif ".jsonl" in path.suffixes or ".ndjson" in path.suffixes:
        yield from json_rows(path)
    elif path.suffix == ".parquet":
        for batch in table_batches(path, _BATCH):
            yield from batch.iter_rows(named=True)
    else:
        yield from read_table(path).iter_rows(named=True)


def _one_object(path: Path) -> Mapping[str, object]:
    try:
        value = parse_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(
            f"the file cannot be read as JSON ({error}).",
            hint="give a file with one JSON object.",
            source=str(path),
        ) from error
    if not isinstance(value, dict):
        raise DataError(
            "the file does not hold one JSON object.",
            hint='write {"question": …, "passages": […]}, or name the file .jsonl.',
            source=str(path),
        )
    return value


def _parsed(cell: str) -> object:
    try:
        return parse_json(cell)
    except ValueError:
        return cell


def _is_place(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _number(column: str) -> int:
    return int(column.rpartition("_")[2])


def parse_group(row: Mapping[str, object], *, source: str, row_number: int) -> PassageGroup:
    """Turn one row into a group, or raise `DataError` naming the cell."""
    return _GroupRow(row, source, row_number).group()


def group_line(group: PassageGroup) -> bytes:
    """Write a group as one line of JSON that `iter_groups` reads back."""
    question = group.question
    line = {
        "group": group.id, "id": question.id, "question": question.text,
        "answers": question.answers, "form": question.form, "order": group.order,
        "passages": [_passage_cells(passage) for passage in group.passages],
    }  # fmt: skip
    return orjson.dumps({k: v for k, v in line.items() if v is not None}) + b"\n"


def _passage_cells(p: Passage) -> dict[str, str]:
    cells = {
        "text": p.text, "kind": p.kind, "facet": p.facet, "claim": p.claim,
        "provenance": p.provenance, "source": p.source,
    }  # fmt: skip
    return {name: value for name, value in cells.items() if value is not None}


def group_lines(groups: Iterable[PassageGroup]) -> bytes:
    """Write groups as lines of JSON."""
    return b"".join(map(group_line, groups))


class _GroupRow:
    """One row of a user's file, read cell by cell."""

    def __init__(self, cells: Mapping[str, object], source: str, number: int) -> None:
        self.cells, self.source, self.number = cells, source, number

    def wrong(self, column: str, problem: str, hint: str) -> DataError:
        return DataError(problem, hint=hint, source=self.source, row=self.number, column=column)

    def group(self) -> PassageGroup:
        name = self.cells.get("group")
        return PassageGroup(
            question=self.question(),
            passages=self.passages(),
            id=None if name is None else replace_halves(str(name)),
            order=self.order(),
        )

    def order(self) -> tuple[int, ...] | None:
        value = self.cells.get("order")
        if value is None:
            return None
        if not isinstance(value, list) or not all(map(_is_place, value)):
            raise self.wrong("order", "this is not a list of whole numbers.", "leave it out.")
        return tuple(value)

    def question(self) -> Question:
        text = self.cells.get("question")
        if not isinstance(text, str) or not text.strip():
            raise self.wrong("question", "the question is missing.", "write it as a text.")
        text = replace_halves(text)
        answers = self.answers()
        form = self.word("form", self.cells.get("form"), AnswerForm) or form_of(answers)
        name = self.cells.get("id", self.cells.get("qid"))
        return Question(
            id=text if name is None else replace_halves(str(name)),
            text=text,
            answers=answers,
            form=form,
        )

    def answers(self) -> tuple[str, ...]:
        try:
            given = self.cells.get("answers", self.cells.get("answer"))
            return tuple(map(replace_halves, accepted_answers(given)))
        except ValueError as error:
            raise self.wrong("answers", f"{error}.", 'write ["Paris"] or "Paris".') from error

    def passages(self) -> tuple[Passage, ...]:
        value = self.cells.get("passages")
        if value is None:
            numbered = sorted((c for c in self.cells if _NUMBERED.match(c)), key=_number)
            if not numbered:
                raise self.wrong(
                    "passages",
                    "there are no passages.",
                    'write ["text", …], or [] for a question without passages.',
                )
            value = [self.cells[c] for c in numbered if self.cells[c] is not None]
        if isinstance(value, str) and value.lstrip().startswith("["):  # a list in a cell of CSV
            value = _parsed(value)
        if not isinstance(value, list):
            raise self.wrong(
                "passages", "this is not a list.", 'write ["text", …] or [{"text": …}, …].'
            )
        return tuple(self.passage(f"passages[{i}]", cell) for i, cell in enumerate(value))

    def passage(self, column: str, cell: object) -> Passage:
        parts = {"text": cell} if isinstance(cell, str) else cell
        if not isinstance(parts, dict) or not isinstance(parts.get("text"), str):
            raise self.wrong(column, "the passage has no text.", 'write "text" or {"text": …}.')
        kind = self.word(f"{column}.kind", parts.get("kind"), PassageKind)
        facet = self.word(f"{column}.facet", parts.get("facet"), RelevantFacet)
        if facet is not None and kind is not PassageKind.RELEVANT:
            raise self.wrong(
                f"{column}.facet", "only a relevant passage has a facet.", "drop the facet."
            )
        return Passage(
            text=replace_halves(parts["text"]),
            kind=kind,
            facet=facet,
            claim=self.text(f"{column}.claim", parts.get("claim")),
            provenance=self.word(f"{column}.provenance", parts.get("provenance"), Provenance),
            source=self.text(f"{column}.source", parts.get("source")),
        )

    def text(self, column: str, value: object) -> str | None:
        if value is None:
            return None
        if isinstance(value, str):
            return replace_halves(value)
        raise self.wrong(column, f"{value!r} is not a text.", "write it in quotes.")

    def word(self, column: str, value: object, words: type[_Word]) -> _Word | None:
        if value is None:
            return None
        try:
            return words(str(value))
        except ValueError:
            known = ", ".join(words)
            raise self.wrong(column, f"{value!r} is not known.", f"use one of {known}.") from None
