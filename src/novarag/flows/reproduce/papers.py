"""Which printed figures of the paper stand beside a cell of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from novarag.config.grid import OF_THE_PAPER
from novarag.presets import paper_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.config.grid import GridSetting, TableGrid, TableSystem

AVERAGE = "average"
_RETRIEVERS = {"bm25": "bm25", "dense": "contriever"}


def printed(
    grid: TableGrid, setting: GridSetting, system: TableSystem, dataset: str, metric: str
) -> tuple[tuple[str, float], ...]:
    """Return the paper's value for each of its models; nothing where it prints none."""
    rows = _tables(grid).filter(dataset=dataset, metric=metric)
    rows = rows.filter(
        _same("method", system.method if system.method != "verbal" else _prompt(system)),
        _same("retriever", _RETRIEVERS.get(setting.search or "")),
        _same("position", setting.gold_at),
        pl.col("setting").is_null() | pl.col("setting").is_in([setting.mix, system.model]),
    )
    return tuple(rows.select("model", "value").unique(maintain_order=True).iter_rows())


def _prompt(system: TableSystem) -> str:
    """Name a prompt as the paper's tables do, whoever worded it."""
    return system.strategy.removesuffix(OF_THE_PAPER)


def printed_swap(
    grid: TableGrid, system: str, dataset: str, metric: str
) -> tuple[tuple[str, float], ...]:
    """Return the paper's value for a row of the rule ablation."""
    method, part = {"base": ("vanilla", None), "tuned": ("nova", None)}.get(
        system, ("swap", system.partition(" -> ")[0])
    )
    rows = _tables(grid).filter(
        _same("method", method), _same("setting", part), dataset=dataset, metric=metric
    )
    return tuple(rows.select("model", "value").iter_rows())


def paper_notes(grid: TableGrid) -> list[str]:
    """Say what one should know of the figures that stand beside ours, such as misprints."""
    rows = _tables(grid).drop_nulls("note")
    notes = rows.group_by("note", maintain_order=True).agg(pl.col("line").min())
    return [f"{note} (L{line})" for note, line in notes.iter_rows()]


def quoted(metrics: Sequence[str]) -> list[str]:
    """Say what the paper's text states of some figures, each with its line."""
    rows = paper_figures("text").filter(pl.col("metric").is_in(metrics))
    lines = []
    for row in rows.iter_rows(named=True):
        of = ", ".join(str(row[c]) for c in ("model", "method", "setting", "dataset") if row[c])
        what = row["metric"].replace("_", " ")
        said = f"- The paper's text, L{row['line']}: {what} {row['value']:g}"
        said += f" ({of})" if of else ""
        lines.append(said + (f". {row['note']}" if row["note"] else ""))
    return lines


def _tables(grid: TableGrid) -> pl.DataFrame:
    labels = [name.rpartition(":")[2] for name in grid.paper]
    return paper_figures().filter(pl.col("table").is_in(labels))


def _same(column: str, value: object) -> pl.Expr:
    return pl.col(column).is_null() if value is None else pl.col(column).eq_missing(pl.lit(value))
