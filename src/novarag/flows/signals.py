"""Signals that a run holds beside the stated confidence, computed where a table has no column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from novarag.uncertainty.signals import TOKEN_SIGNALS, token_signal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars import DataFrame

    from novarag.records import Trial


def add_signal(table: DataFrame, answers: object, name: str | None) -> DataFrame:
    """Add the column of a signal made from tokens, where `answers` are runs and it is missing."""
    import polars as pl

    if name is None or name not in TOKEN_SIGNALS or name in table.columns:
        return table
    found = {
        (trial.group.id, trial.sample): token_signal(name, trial) for trial in _run_trials(answers)
    }
    if not found:
        return table
    keys = table.select("group", "sample").iter_rows()
    return table.with_columns(pl.Series(name, [found.get(key) for key in keys], dtype=pl.Float64))


def _run_trials(answers: object) -> Iterator[Trial]:
    from novarag.runs import Run, open_run

    given = answers if isinstance(answers, (list, tuple)) else [answers]
    for one in given:
        if isinstance(one, (str, Path)) and (Path(one) / "manifest.json").is_file():
            yield from open_run(one)
        elif isinstance(one, Run):
            yield from one
