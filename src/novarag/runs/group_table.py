"""Groups as rows: written with a run and with what `filter` keeps, and read back as they were."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.records import AnswerForm, Passage, PassageGroup, Question
from novarag.rows import lay_out, parquet_bytes
from novarag.taxonomy import PassageKind, Provenance, RelevantFacet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.rows import ColumnTypes

_TEXTS = pl.List(pl.String)
_KINDS: dict[str | None, PassageKind | None] = {None: None, **{k.value: k for k in PassageKind}}
_PROVENANCES: dict[str | None, Provenance | None] = {None: None, **{p.value: p for p in Provenance}}
_PASSAGE: ColumnTypes = {
    "text": pl.String, "kind": pl.String, "facet": pl.String, "claim": pl.String,
    "provenance": pl.String, "source": pl.String, "flags": _TEXTS,
}  # fmt: skip
_GROUP: ColumnTypes = {
    "group": pl.String, "question": pl.String, "id": pl.String, "answers": _TEXTS,
    "form": pl.String, "order": pl.List(pl.Int64), "flags": _TEXTS,
}  # fmt: skip


def write_groups(rows: Sequence[tuple[str, PassageGroup]]) -> bytes:
    """Write named groups; passages are laid out flat first, as nested rows are slow."""
    frame = lay_out([_group_row(name, group) for name, group in rows], _GROUP)
    flat = lay_out(
        [_passage_row(i, p) for i, (_, group) in enumerate(rows) for p in group.passages],
        {"row": pl.UInt32, **_PASSAGE},
    )
    lists = flat.group_by("row", maintain_order=True).agg(passages=pl.struct(*_PASSAGE))
    whole = frame.with_row_index("row").join(lists, on="row", how="left", maintain_order="left")
    empty = pl.lit([], dtype=pl.List(pl.Struct(_PASSAGE)))
    return parquet_bytes(whole.with_columns(pl.col("passages").fill_null(empty)).drop("row"))


def _group_row(name: str, group: PassageGroup) -> tuple[Any, ...]:
    question = group.question
    return (
        name, question.text, question.id, question.answers, question.form, group.order, group.flags,
    )  # fmt: skip


def _passage_row(row: int, p: Passage) -> tuple[Any, ...]:
    return row, p.text, p.kind, p.facet, p.claim, p.provenance, p.source, p.flags


def read_groups(content: bytes) -> list[PassageGroup]:
    """Read back what `write_groups` wrote."""
    frame = pl.read_parquet(io.BytesIO(content))
    passages = frame["passages"].explode(empty_as_null=False).struct.unnest()
    cells = iter(passages.rows())
    counts = frame["passages"].list.len().to_list()
    return [
        _group(row, [next(cells) for _ in range(count)])
        for row, count in zip(frame.drop("passages").rows(), counts, strict=True)
    ]


def _group(row: tuple[Any, ...], cells: list[tuple[Any, ...]]) -> PassageGroup:
    name, text, question, answers, form, order, flags = row
    return PassageGroup(
        id=name,
        question=Question(id=question, text=text, answers=tuple(answers), form=AnswerForm(form)),
        passages=tuple(_passage(cell) for cell in cells),
        order=None if order is None else tuple(order),
        flags=tuple(flags),
    )


def _passage(cell: tuple[Any, ...]) -> Passage:
    text, kind, facet, claim, provenance, source, flags = cell
    return Passage(
        text=text,
        kind=_KINDS[kind],
        facet=None if facet is None else RelevantFacet(facet),
        claim=claim,
        provenance=_PROVENANCES[provenance],
        source=source,
        flags=tuple(flags) if flags else (),
    )
