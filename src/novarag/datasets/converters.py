"""Converters of public files, by the names that the register gives them, and digests of tables."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import polars as pl

from novarag.datasets.public_answers import STATED, convert_stated
from novarag.datasets.public_retrieval import CORPUS, QUESTIONS, convert_corpus, convert_questions
from novarag.datasets.released import (
    GROUPS,
    ORIGINALS,
    POOLS,
    convert_groups,
    convert_originals,
    convert_pools,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from polars._typing import PolarsDataType


class Converter(NamedTuple):
    """How files become a table: the columns of the table, and the function that makes it.

    The function takes the contents of the files by their paths, and what the register sets.
    """

    schema: Mapping[str, PolarsDataType]
    convert: Callable[..., pl.DataFrame]


CONVERTERS = {
    "nova-groups": Converter(GROUPS, convert_groups),
    "nova-originals": Converter(ORIGINALS, convert_originals),
    "nova-pools": Converter(POOLS, convert_pools),
    "stated-answers": Converter(STATED, convert_stated),
    "retrieval-corpus": Converter(CORPUS, convert_corpus),
    "retrieval-questions": Converter(QUESTIONS, convert_questions),
}
"""Every converter, by the name that the register gives it."""


def table_digest(frame: pl.DataFrame, schema: Mapping[str, PolarsDataType]) -> str:
    """Return the SHA-256 of a table's rows, whatever wrote the file they stand in.

    Only the columns and fields of the schema count; others may stand beside them.
    """
    hashed = sha256()
    for row in frame.select(list(schema)).iter_rows(named=True):
        kept = {name: _like(value, schema[name]) for name, value in row.items()}
        hashed.update(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS) + b"\n")
    return hashed.hexdigest()


def _like(value: Any, kind: PolarsDataType) -> Any:  # noqa: ANN401 - any cell of a table
    if value is None:
        return None
    if isinstance(kind, pl.List):
        return [_like(one, kind.inner) for one in value]
    if isinstance(kind, pl.Struct):
        return {field.name: _like(value[field.name], field.dtype) for field in kind.fields}
    return value


def is_table(path: Path, converter: str, known: str) -> bool:
    """Say whether a file holds the rows of a table of the register."""
    schema = CONVERTERS[converter].schema
    try:
        return table_digest(pl.read_parquet(path), schema) == known
    except (pl.exceptions.PolarsError, OSError, KeyError, TypeError):
        return False
