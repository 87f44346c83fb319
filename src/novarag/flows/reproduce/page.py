"""A page of tables: what the paper prints, what we measured, how, on what, and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from novarag.config.grid import OWN
from novarag.flows.reproduce.papers import AVERAGE, paper_notes, quoted
from novarag.report.words import each, number, span, title_of
from novarag.texts import escape_markdown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.config.grid import TableGrid
    from novarag.flows.reproduce.cells import Printed, TableCell

_NONE = "\u2013"
_DATASETS = {AVERAGE: "macro average"}


_PAPER = (
    " and where a table says so to other groups: none is a target, and no row merges two settings."
    " Several figures in one place are the paper's models in the order named above the table."
)
_FIGURES = {
    "own": "The paper's figures stand beside ours for orientation. They belong to other models and"
    " other prompts (ours ask in one wording throughout; `wording='paper'` asks in the paper's),"
    + _PAPER,
    "paper": "The paper's figures stand beside ours for orientation. They belong to other models;"
    " prompts are in the paper's own wording (the `*-paper` strategies), but for those that it does"
    " not print," + _PAPER,
}
_READING = (
    "Intervals are 95 %, by a bootstrap of whole questions. Each ECE stands beside its noise floor,"
    " the line a perfectly calibrated system stays under, and each Brier score beside that of a"
    " constant; Brier and AUROC beside those of word overlap, which sees how many of the question's"
    " words the passages hold, fitted on other questions. Calls and tokens are an answer's, as if"
    " its method were run alone; failed counts groups without an answer, as a request of theirs was"
    " given up."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableResult:
    """One table as it was made: its cells, or lines of its own, and its pictures by file name."""

    name: str
    grid: TableGrid
    command: str
    cells: Sequence[TableCell] = ()
    lines: Sequence[str] = ()
    pictures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHeader:
    """What a page says of itself."""

    title: str
    banner: str
    machine: str
    date: str
    models: dict[str, str]
    notes: Sequence[str] = ()
    wording: str = OWN
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def page(tables: Sequence[TableResult], header: PageHeader) -> str:
    """Write the page as Markdown."""
    roles = [f"- {role}: `{name}`" for role, name in header.models.items()]
    lines = [
        f"# {header.title}", "", header.banner, "",
        f"Made on {header.date}: {header.machine}. Models asked:", "", *roles, "",
        *(f"{note}\n" for note in header.notes),
        *([_FIGURES[header.wording], ""] if _is_beside_the_paper(tables) else []),
        _READING, "",
        *_overview(tables, header.date),
        *_left_out(header.left_out),
    ]  # fmt: skip
    for table in tables:
        lines += ["", *_section(table)]
    return "\n".join(lines).rstrip() + "\n"


def _is_beside_the_paper(tables: Sequence[TableResult]) -> bool:
    return any(table.grid.paper or table.grid.quotes for table in tables)


def _overview(tables: Sequence[TableResult], date: str) -> list[str]:
    lines = [
        "| table | command | figure | the paper | ours | 95 % interval | date |",
        "|---|---|---|---|---|---|---|",
    ]
    for table in tables:
        name = f"[{table.grid.title}](#{table.name})"
        cell = _headline(table)
        if cell is None:
            lines.append(f"| {name} | `{table.command}` | see there | | | | {date} |")
            continue
        metric = table.grid.metrics[0]
        figure = cell.figures[metric]
        what = f"{title_of(metric)}, {escape_markdown(cell.system)}, {cell.dataset}"
        if cell.setting and len(table.grid.settings) > 1:
            what += f", {escape_markdown(cell.setting)}"
        lines.append(
            f"| {name} | `{table.command}` | {what} | {_beside(cell.paper.get(metric, ()), metric)}"
            f" | {number(metric, figure.value)} | {span(metric, figure)} | {date} |"
        )
    return lines


def _left_out(names: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Name the tables that could not be made, and the options that each needs."""
    if not names:
        return []
    needs = [f"`{n}` needs {' and '.join(f'`--{p}`' for p in wants)}" for n, wants in names.items()]
    return ["", f"Left out, for want of what they need: {'; '.join(needs)}."]


def _headline(table: TableResult) -> TableCell | None:
    """Pick what the overview shows: the last system's average, or its last cell."""
    if not table.grid.metrics:
        return None
    shown = [c for c in table.cells if table.grid.metrics[0] in c.figures]
    averages = [c for c in shown if c.dataset == AVERAGE]
    return (averages or shown)[-1] if shown else None


def _section(table: TableResult) -> list[str]:
    grid = table.grid
    lines = [f'## {grid.title} <span id="{table.name}"></span>', "", f"`{table.command}`", ""]
    keys = ", ".join(f"`{key}`" for key in dict.fromkeys(s.label for s in grid.settings))
    papers = ", ".join(f"`{label}`" for label in grid.paper)
    where = papers or ("only in its text" if grid.quotes else "nowhere")
    lines.append(f"Groups: {keys}. In the paper: {where}. {grid.note}".rstrip())
    lines += [f"\nOf the paper's figures: {note}" for note in paper_notes(grid)]
    if models := _models(table.cells):
        lines += ["", f"The paper's models, in this order: {', '.join(models)}."]
    if grid.quotes:
        lines += ["", *quoted(grid.quotes)]
    if table.lines:
        lines += ["", *table.lines]
    for name in table.pictures:
        lines += ["", f"![{grid.title}]({name})"]
    if table.cells:
        lines += ["", *_rows(table)]
    return lines


def _models(cells: Sequence[TableCell]) -> list[str]:
    """Name the paper's models once, in the order in which its figures are shown."""
    return list(
        dict.fromkeys(m for c in cells for values in c.paper.values() for m, _ in values if m)
    )


def _rows(table: TableResult) -> list[str]:
    metrics = table.grid.metrics
    several = len({cell.setting for cell in table.cells}) > 1
    head = [*(["setting"] if several else []), "system", "dataset", "rows (questions)", "failed"]
    beside = [m for m in metrics if any(cell.paper.get(m) for cell in table.cells)]
    for metric in metrics:
        head += [f"{title_of(metric)}: paper"] if metric in beside else []
        head += [f"{title_of(metric)}: ours", "95 %"]
    head += ["unread", "calls", "tokens in, out"]
    models = _models(table.cells)
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for cell in table.cells:
        row = [escape_markdown(cell.setting)] if several else []
        row += [escape_markdown(cell.system), _DATASETS.get(cell.dataset, cell.dataset)]
        row += [f"{cell.rows:,} ({cell.questions:,})", f"{cell.failed:,}"]
        for metric in metrics:
            values = _in_order(cell.paper.get(metric, ()), models)
            row += [_beside(values, metric)] if metric in beside else []
            row += _ours(metric, cell)
        lines.append("| " + " | ".join([*row, *_spent(cell)]) + " |")
    return lines


def _in_order(values: Printed, models: Sequence[str]) -> Printed:
    """Leave a gap for a model that has no figure here, so that places keep their meaning."""
    if len(values) <= 1 and len(models) <= 1:
        return values
    known = dict(values)
    return tuple((m, known.get(m, float("nan"))) for m in models) if known else ()


def _beside(values: Printed, metric: str) -> str:
    return " / ".join(number(metric, value) for _, value in values) or _NONE


def _ours(metric: str, cell: TableCell) -> list[str]:
    """Show a figure with what it is read beside: noise floor, constant, word overlap."""
    figure = cell.figures.get(metric)
    if figure is None:
        return [f"refused: {cell.refusal}" if cell.refusal else _NONE, _NONE]
    more = {"ece": ("floor", cell.floor), "brier": ("constant", cell.constant)}.get(metric)
    beside = [f"{more[0]} {more[1]:.3f}"] if more is not None and more[1] is not None else []
    if metric in {"brier", "auroc"} and metric in cell.overlap:
        beside.append(f"word overlap {number(metric, cell.overlap[metric].value)}")
    said = number(metric, figure.value) + (f" ({', '.join(beside)})" if beside else "")
    return [said, span(metric, figure)]


def _spent(cell: TableCell) -> list[str]:
    unread = cell.figures.get("unread")
    said = _NONE if unread is None else number("unread", unread.value)
    if cell.cost is None:
        return [said, _NONE, _NONE]
    rows = cell.rows
    tokens = f"{each(cell.cost.prompt_tokens, rows)}, {each(cell.cost.completion_tokens, rows)}"
    return [said, each(cell.cost.calls, rows), tokens]
