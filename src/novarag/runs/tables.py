"""Records as rows: groups in, trials, attempts and dead letters out."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.grouping import check_judgment
from novarag.records import AnswerForm, Completion, Passage, PassageGroup, Question
from novarag.taxonomy import Grade, PassageKind, Provenance, RelevantFacet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag.records import Trial
    from novarag.runs.journal import Entry
    from novarag.runs.requests import Request

_TEXTS = pl.List(pl.String)
_KINDS: dict[str | None, PassageKind | None] = {None: None, **{k.value: k for k in PassageKind}}
_PROVENANCES: dict[str | None, Provenance | None] = {None: None, **{p.value: p for p in Provenance}}
Columns = dict[str, pl.DataType | type[pl.DataType]]
_PASSAGE: Columns = {
    "text": pl.String, "kind": pl.String, "facet": pl.String, "claim": pl.String,
    "provenance": pl.String, "source": pl.String, "flags": _TEXTS,
}  # fmt: skip
_GROUP: Columns = {
    "group": pl.String, "question": pl.String, "id": pl.String, "answers": _TEXTS,
    "form": pl.String, "order": pl.List(pl.Int64), "flags": _TEXTS,
}  # fmt: skip

TRIALS: Columns = {
    "question": pl.String, "group": pl.String, "kind": pl.String, "strategy": pl.String,
    "model": pl.String, "sample": pl.Int32, "answer": pl.String, "confidence": pl.Float64,
    "correct": pl.Boolean, "abstained": pl.Boolean, "flaw": pl.String, "evidence": pl.String,
    "judgments": _TEXTS, "passages_judged": pl.Int16, "passages_right": pl.Int16,
    "group_judged": pl.Int16, "group_right": pl.Int16, "rule_step": pl.Boolean,
    "reply": pl.String, "reasoning": pl.String, "truncated": pl.Boolean, "request": pl.String,
    "prompt_hash": pl.String, "tokens": _TEXTS, "logprobs": pl.List(pl.Float64),
    "alternatives": pl.List(pl.Struct({"token": pl.String, "logprob": pl.Float64})),
}  # fmt: skip
"""One row a trial; the samples of a group stand together."""

COMPLETION = ("model", "reply", "reasoning", "truncated", "tokens", "logprobs", "alternatives")
"""The columns of a trial that hold what came over the wire."""

ATTEMPTS: Columns = {
    "attempt": pl.String, "request": pl.String, "endpoint": pl.String, "sent": pl.Float64,
    "settled": pl.Float64, "outcome": pl.String, "paid": pl.String, "detail": pl.String,
    "prompt_tokens": pl.Int64, "completion_tokens": pl.Int64,
}  # fmt: skip
"""The ledger: one row for each time a request was put on the wire."""

DEAD: Columns = {
    "request": pl.String, "question": pl.String, "group": pl.String, "first_sample": pl.Int32,
    "samples": pl.Int32, "outcome": pl.String, "detail": pl.String,
}  # fmt: skip
"""Requests that were given up, each with its reason."""


def to_parquet(rows: Iterable[tuple[Any, ...]], schema: Columns) -> bytes:
    """Write rows as Parquet."""
    return frame_bytes(_frame(rows, schema))


def trials_frame(rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """Lay out rows of trials in columns, each row led by its place in the shard."""
    return _frame(rows, {"place": pl.UInt32, **TRIALS})


def in_order(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put the trials of a shard together, in the order of their places and samples."""
    return pl.concat([trials_frame([]), *frames]).sort("place", "sample").drop("place")


def _frame(rows: Iterable[tuple[Any, ...]], schema: Columns) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pl.DataFrame(
        [
            pl.Series(name, values, dtype=dtype)
            for (name, dtype), values in zip(schema.items(), columns, strict=True)
        ]
    )


def frame_bytes(frame: pl.DataFrame) -> bytes:
    """Write a frame as Parquet; the same rows give the same bytes."""
    out = io.BytesIO()
    frame.write_parquet(out, compression="zstd", statistics=True)
    return out.getvalue()


def write_groups(rows: Sequence[tuple[str, PassageGroup]]) -> bytes:
    """Write named groups; passages are laid out flat first, as nested rows are slow."""
    frame = _frame([_group_row(name, group) for name, group in rows], _GROUP)
    flat = _frame(
        [_passage_row(i, p) for i, (_, group) in enumerate(rows) for p in group.passages],
        {"row": pl.UInt32, **_PASSAGE},
    )
    lists = flat.group_by("row", maintain_order=True).agg(passages=pl.struct(*_PASSAGE))
    whole = frame.with_row_index("row").join(lists, on="row", how="left", maintain_order="left")
    empty = pl.lit([], dtype=pl.List(pl.Struct(_PASSAGE)))
    return frame_bytes(whole.with_columns(pl.col("passages").fill_null(empty)).drop("row"))


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


def trial_row(request: Request, trial: Trial) -> tuple[Any, ...]:
    """Turn a trial into a row of `TRIALS`, led by its place."""
    group, response, completion, grade = trial.group, trial.response, trial.completion, trial.grade
    judgment = response.judgment if response is not None else None
    return (
        request.place, group.question.id, group.id, request.kind, trial.strategy, completion.model,
        trial.sample,
        None if response is None else response.answer,
        None if response is None else response.confidence,
        None if grade is None else grade is Grade.RIGHT,
        None if grade is None else grade is Grade.ABSTAINED,
        trial.flaw, judgment and judgment.group,
        judgment and [p.value for p in judgment.passages],
        *check_judgment(judgment, request.kinds, request.state).values(),
        None if response is None else response.rule_step,
        completion.text, completion.reasoning, completion.truncated, request.key,
        request.prompt_hash, list(completion.tokens) or None, list(completion.logprobs) or None,
        [{"token": t, "logprob": v} for t, v in completion.alternatives] or None,
    )  # fmt: skip


def completion_of(cells: Sequence[Any]) -> Completion:
    """Read back the columns of `COMPLETION`: what came over the wire."""
    model, text, reasoning, truncated, tokens, logprobs, alternatives = cells
    return Completion(
        model=model, text=text, reasoning=reasoning, truncated=truncated,
        tokens=tuple(tokens or ()), logprobs=tuple(logprobs or ()),
        alternatives=tuple((a["token"], a["logprob"]) for a in alternatives or ()),
    )  # fmt: skip


def attempt_rows(attempts: dict[str, Entry]) -> list[tuple[Any, ...]]:
    """Turn attempts into rows of `ATTEMPTS`, in the order they were sent."""
    return [
        (
            name, e.key, e.endpoint, e.sent, e.settled, e.outcome, e.outcome.paid, e.detail or None,
            e.prompt_tokens, e.completion_tokens,
        )
        for name, e in attempts.items()
    ]  # fmt: skip
