"""The tables of a shard beside its groups: trials, attempts and dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from novarag.rows import TRIALS, lay_out, to_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from novarag.records import Trial
    from novarag.rows import ColumnTypes
    from novarag.runs.journal import Entry
    from novarag.runs.requests import Request

ATTEMPTS: ColumnTypes = {
    "attempt": pl.String, "request": pl.String, "endpoint": pl.String, "sent": pl.Float64,
    "settled": pl.Float64, "outcome": pl.String, "paid": pl.String, "detail": pl.String,
    "prompt_tokens": pl.Int64, "completion_tokens": pl.Int64,
}  # fmt: skip
"""The ledger: one row for each time a request was put on the wire."""

DEAD: ColumnTypes = {
    "request": pl.String, "question": pl.String, "group": pl.String, "first_sample": pl.Int32,
    "samples": pl.Int32, "outcome": pl.String, "detail": pl.String,
}  # fmt: skip
"""Requests that were given up, each with its reason."""


def trial_row(request: Request, trial: Trial) -> tuple[Any, ...]:
    """Turn a trial into a row of `TRIALS`, led by its place in the shard."""
    return request.place, *to_row(
        trial, truth=request.truth, request=request.key, prompt_hash=request.prompt_hash
    )


def trials_frame(rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    """Lay out rows of trials in columns, each row led by its place in the shard."""
    return lay_out(rows, {"place": pl.UInt32, **TRIALS})


def in_order(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put the trials of a shard together, in the order of their places and samples."""
    return pl.concat([trials_frame([]), *frames]).sort("place", "sample").drop("place")


def attempt_rows(attempts: dict[str, Entry]) -> list[tuple[Any, ...]]:
    """Turn attempts into rows of `ATTEMPTS`, in the order they were sent."""
    return [
        (
            name, e.key, e.endpoint, e.sent, e.settled, e.outcome, e.outcome.paid, e.detail or None,
            e.prompt_tokens, e.completion_tokens,
        )
        for name, e in attempts.items()
    ]  # fmt: skip
