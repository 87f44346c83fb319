"""Public tables of answers with a stated probability, graded: one table of all their files."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STATED: dict[str, Any] = {
    "id": pl.String,
    "dataset": pl.String,
    "split": pl.String,
    "model": pl.String,
    "question": pl.String,
    "target": pl.String,
    "response": pl.String,
    "author_answer": pl.String,
    "author_confidence": pl.Float64,
    "author_confidence_raw": pl.String,
    "judge_score": pl.Float64,
    "seq_prob": pl.Float64,
}
_LONGEST = 1 << 24  # characters of a cell


def convert_stated(parts: Mapping[str, bytes], *, name: str) -> pl.DataFrame:  # noqa: ARG001
    """Make one table of files of answers; the name of each says dataset, model and split."""
    csv.field_size_limit(_LONGEST)
    rows = (
        row
        for path, part in parts.items()
        for row in _rows(PurePosixPath(path).stem, part.decode("utf-8"))
    )
    return pl.DataFrame(list(rows), schema=STATED, orient="row")


def _rows(stem: str, text: str) -> Iterator[tuple[object, ...]]:
    dataset, _, rest = stem.partition("_")
    model, _, split = rest.partition("_verb_")
    for number, row in enumerate(csv.DictReader(StringIO(text, newline=None))):
        yield (
            f"{stem}-{number}",
            dataset,
            split,
            model,
            row["question"],
            row["target"],
            row["response"],
            row["extracted_answer"],
            _number(row["extracted_prob"]),
            row["extracted_prob"],
            _number(row["extracted_prom46_score"]),
            _number(row["seq_prob"]),
        )


def _number(text: str) -> float | None:
    return float(text) if text else None
