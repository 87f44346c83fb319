"""The cells of a table: each a figure with its interval, its rows, its cost, the paper's beside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from novarag.calls import Cost
from novarag.defaults import TABLE
from novarag.flows.reproduce.papers import AVERAGE, printed, printed_swap
from novarag.metrics import measure_table
from novarag.metrics.ablation import SYSTEMS, evidence_set, swap
from novarag.metrics.baselines import WORD_OVERLAP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from novarag.config.grid import GridSetting, TableGrid, TableSystem
    from novarag.metrics import Measurement, Panel
    from novarag.records import PassageGroup
    from novarag.stats.figure import Figure

POOLED = "pooled"

Printed = tuple[tuple[str, float], ...]
"""What the paper prints for a figure: its value for each of its models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One row of a table: who was asked what, and what came of it.

    `failed` counts groups that a failed request left without an answer. `floor` is the ECE that a
    perfectly calibrated system stays under, `constant` the Brier score of the mean accuracy;
    `overlap` has the figures of the word-overlap baseline, where there are passages.
    """

    setting: str
    dataset: str
    system: str
    rows: int = 0
    questions: int = 0
    figures: Mapping[str, Figure] = field(default_factory=dict)
    paper: Mapping[str, Printed] = field(default_factory=dict)
    cost: Cost | None = None
    failed: int = 0
    floor: float | None = None
    constant: float | None = None
    overlap: Mapping[str, Figure] = field(default_factory=dict)
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellInput:
    """What one system made of the groups of one setting and dataset, and how many failed."""

    setting: GridSetting
    dataset: str
    system: TableSystem
    table: pl.DataFrame
    cost: Cost
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """How intervals are made, and from how many rows on there are figures."""

    replicates: int = TABLE.replicates
    min_rows: int = TABLE.min_rows
    seed: int = TABLE.seed


@dataclass(slots=True)
class MeasuredCells:
    """The cells of a table, and the panels that its picture is drawn from."""

    cells: list[TableCell] = field(default_factory=list)
    panels: list[tuple[CellInput, Panel]] = field(default_factory=list)


def measure_grid(grid: TableGrid, asked: Sequence[CellInput], how: Precision) -> MeasuredCells:
    """Measure every system in every setting and dataset, and its average over the datasets."""
    found = MeasuredCells()
    for setting, system in dict.fromkeys((a.setting, a.system) for a in asked):
        mine = [a for a in asked if (a.setting, a.system) == (setting, system)]
        tables = [a.table.with_columns(dataset=pl.lit(a.dataset)) for a in mine]
        whole = _measured(tables, how)
        panels = {panel.name: panel for panel in whole.groups}
        for one in mine:
            panel = panels[one.dataset]
            found.panels.append((one, panel))
            found.cells.append(_accompanied(_cell(grid, one, panel), panel))
        if grid.average and len(mine) == len(grid.datasets) > 1:
            found.cells += _averages(grid, mine, whole)
    return found


def _measured(tables: Sequence[pl.DataFrame], how: Precision) -> Measurement:
    return measure_table(
        pl.concat(tables),
        by="dataset",
        replicates=how.replicates,
        seed=how.seed,
        min_rows=how.min_rows,
    )


def _cell(grid: TableGrid, asked: CellInput, panel: Panel) -> TableCell:
    shown = {metric: panel.figures[metric] for metric in grid.metrics if metric in panel.figures}
    beside = {m: printed(grid, asked.setting, asked.system, asked.dataset, m) for m in grid.metrics}
    return TableCell(
        setting=asked.setting.name or asked.setting.label,
        dataset=asked.dataset,
        system=asked.system.name,
        rows=panel.rows,
        questions=panel.questions,
        figures=shown | _unread(panel.figures),
        paper=beside,
        cost=asked.cost,
        failed=asked.failed,
        refusal=panel.refusal,
    )


def _accompanied(cell: TableCell, panel: Panel) -> TableCell:
    """Put beside a cell what no ECE and no Brier score is shown without."""
    if panel.floor is None:
        return cell
    constant = panel.baselines["constant"]["brier"].value
    overlap = panel.baselines.get(WORD_OVERLAP, {})
    return replace(cell, floor=panel.floor.line, constant=constant, overlap=overlap)


def _unread(figures: Mapping[str, Figure]) -> dict[str, Figure]:
    return {"unread": figures["unread"]} if "unread" in figures else {}


def _averages(grid: TableGrid, mine: Sequence[CellInput], whole: Measurement) -> list[TableCell]:
    """Average over the datasets: each counting once, and each answer counting once.

    An average over those that could be measured would not be one over all, so it is left out.
    """
    first = mine[0]
    row = TableCell(
        setting=first.setting.name or first.setting.label,
        dataset=AVERAGE,
        system=first.system.name,
        rows=whole.overall.rows,
        questions=whole.overall.questions,
        cost=sum((a.cost for a in mine), Cost()),
        failed=sum(a.failed for a in mine),
    )
    paper = {m: printed(grid, first.setting, first.system, AVERAGE, m) for m in grid.metrics}
    return _both(grid, row, whole, paper)


def _both(
    grid: TableGrid, row: TableCell, whole: Measurement, paper: Mapping[str, Printed]
) -> list[TableCell]:
    refused = [panel.name for panel in whole.groups if panel.refusal]
    macro = {m: whole.macro[m] for m in grid.metrics if m in whole.macro and not refused}
    why = f"{', '.join(refused)} has too few rows" if refused else None
    pooled = {m: whole.overall.figures[m] for m in grid.metrics if m in whole.overall.figures}
    return [
        replace(row, figures=macro, paper=paper, refusal=why),
        _accompanied(replace(row, dataset=POOLED, figures=pooled), whole.overall),
    ]


def measure_ablation(
    grid: TableGrid,
    asked: Sequence[CellInput],
    groups: Mapping[str, Iterable[PassageGroup]],
    how: Precision,
) -> MeasuredCells:
    """Measure what one set of groups gains when the second system answers it for the first."""
    base, tuned = grid.systems
    roles = {base.name: "base", tuned.name: "tuned"}
    costs = {(roles[a.system.name], a.dataset): a.cost for a in asked}
    stacked: dict[str, list[pl.DataFrame]] = {name: [] for name in SYSTEMS}
    for dataset in grid.datasets:
        tables = {a.system.name: a.table for a in asked if a.dataset == dataset}
        sets = {str(group.id): evidence_set(group) for group in groups[dataset]}
        swapped = swap(*_shared(tables[base.name], tables[tuned.name]), sets)
        for name in SYSTEMS:
            rows = swapped.filter(system=name).with_columns(dataset=pl.lit(dataset))
            stacked[name].append(rows)
    found = MeasuredCells()
    for name, parts in stacked.items():
        whole = _measured(parts, how)
        panels = {panel.name: panel for panel in whole.groups}
        for dataset in grid.datasets:
            cost = costs.get((name, dataset))
            panel = panels[dataset]
            found.cells.append(_accompanied(_swapped(grid, name, dataset, panel, cost), panel))
        if len(grid.datasets) > 1:
            row = TableCell(
                setting="",
                dataset=AVERAGE,
                system=_title(grid, name),
                rows=whole.overall.rows,
                questions=whole.overall.questions,
            )
            paper = {m: printed_swap(grid, name, AVERAGE, m) for m in grid.metrics}
            found.cells += _both(grid, row, whole, paper)
    return found


def _shared(one: pl.DataFrame, other: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keep the groups that both answered: a request of either may have failed."""
    return one.join(other, on="group", how="semi"), other.join(one, on="group", how="semi")


def _swapped(
    grid: TableGrid, name: str, dataset: str, panel: Panel, cost: Cost | None
) -> TableCell:
    return TableCell(
        setting="",
        dataset=dataset,
        system=_title(grid, name),
        rows=panel.rows,
        questions=panel.questions,
        figures={m: panel.figures[m] for m in grid.metrics if m in panel.figures}
        | _unread(panel.figures),
        paper={m: printed_swap(grid, name, dataset, m) for m in grid.metrics},
        cost=cost,
        refusal=panel.refusal,
    )


def _title(grid: TableGrid, name: str) -> str:
    """Say who answers: the words of the table for base and tuned."""
    base, tuned = grid.systems
    swapped = name.replace("-> tuned", f"\u2192 {tuned.name}")
    return {"base": base.name, "tuned": tuned.name}.get(name, swapped)
