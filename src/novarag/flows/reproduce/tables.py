"""From what came back to a table of the page: measured, filtered or rated."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.answers.opening.beside import with_overlap
from novarag.flows.reproduce.bench import SAMPLED
from novarag.flows.reproduce.cells import CellInput, measure_ablation, measure_grid
from novarag.flows.reproduce.page import TableResult
from novarag.report.study import chance, number
from novarag.report.words import figure_span
from novarag.texts import escape_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.config.grid import TableGrid
    from novarag.flows.reproduce.bench import Bench
    from novarag.flows.reproduce.cells import MeasuredCells, Precision, TableCell
    from novarag.records import Trial
    from novarag.study import RatingSheet, StudyReport

RATED = 40
"""Questions on a rating sheet, as many as in the paper: ten of each of its four sets."""


def make_table(
    name: str, grid: TableGrid, command: str, bench: Bench, how: Precision
) -> TableResult:
    """Make one table of replies that were asked for before."""
    shown = replace(grid, systems=tuple(bench.named(system) for system in grid.systems))
    made = TableResult(name=name, grid=shown, command=command)
    match grid.table:
        case "retention":
            return replace(made, lines=_retention(shown, bench))
        case "study":
            return _study(made, bench)
        case "ablation":
            (setting,), system = grid.settings, grid.systems[0]
            groups = {d: bench.named_groups(setting, d, system) for d in grid.datasets}
            found = measure_ablation(shown, _asked(shown, bench), groups, how)
            return replace(made, cells=found.cells)
        case _:
            found = measure_grid(shown, _asked(shown, bench), how)
            return replace(made, cells=found.cells, pictures=_pictures(made, found, _mark(bench)))


def _asked(grid: TableGrid, bench: Bench) -> list[CellInput]:
    rows = []
    for setting, dataset, system in grid.cells():
        table, cost = bench.estimates(setting, dataset, system)
        groups = bench.named_groups(setting, dataset, system)
        row = CellInput(
            setting=setting,
            dataset=dataset,
            system=system,
            table=with_overlap(table, groups),
            cost=cost,
            failed=len(groups) - table.height,
        )
        rows.append(row)
    return rows


def _mark(bench: Bench) -> str:
    """Return what every picture of simulated answers is marked with."""
    return "simulated" if bench.simulated else ""


def _pictures(made: TableResult, found: MeasuredCells, mark: str) -> dict[str, str]:
    from novarag.report.forest import ForestLine, diagrams, forest, standalone

    grid = made.grid
    if grid.picture == "reliability":
        panels = [(asked.system.name, panel) for asked, panel in found.panels]
        return {f"{made.name}.svg": standalone(diagrams(panels, label=grid.title), mark=mark)}
    if grid.picture == "forest":
        drawn = {}
        for dataset in grid.datasets:
            cells = [cell for cell in found.cells if cell.dataset == dataset]
            named = zip(_names(cells), cells, strict=True)
            lines = [ForestLine(name=name, figures=cell.figures) for name, cell in named]
            picture = forest(lines, grid.metrics, label=f"{grid.title}, {dataset}")
            drawn[f"{made.name}-{dataset}.svg"] = standalone(picture, mark=mark)
        return drawn
    return {}


def _names(cells: Sequence[TableCell]) -> list[str]:
    """Name the lines of a picture by what they differ in: their setting, their system, or both."""
    settings, systems = ({getattr(c, part) for c in cells} for part in ("setting", "system"))
    if len(systems) == 1:
        return [cell.setting for cell in cells]
    if len(settings) == 1:
        return [cell.system for cell in cells]
    return [f"{cell.system}, {cell.setting}" for cell in cells]


def _retention(grid: TableGrid, bench: Bench) -> list[str]:
    """Filter the samples, and put the paper's shares beside what is left."""
    from tempfile import TemporaryDirectory

    from novarag.flows.filter import filter_trials
    from novarag.report.funnel import stage_rows

    setting, dataset, system = next(grid.cells())
    run = bench.run(setting, dataset, system, SAMPLED)
    cost = run.cost
    with TemporaryDirectory() as folder:
        tally = filter_trials([run], Path(folder) / "kept", seed=bench.seed).tally
    model = tally["runs"][0]["model"]
    lines = [
        f"{tally['runs'][0]['trials']:,} replies by {system.name}, sixteen a group; they took"
        f" {cost.calls:,} calls, {cost.prompt_tokens:,} tokens in and {cost.completion_tokens:,}"
        " out.",
        "",
        "| stage | kept | share of all | share of the stage before | the paper's share of all |",
        "|---|---|---|---|---|",
    ]
    for row in stage_rows(tally, model):
        kept = "skipped" if row["skipped"] else f"{row['kept']:,}"
        lines.append(
            f"| {row['stage']} | {kept} | {row['share']} | {row['step']} | {row['paper']} |"
        )
    return lines


def _study(made: TableResult, bench: Bench) -> TableResult:
    """Write the sheet; show what raters saved beside it, or what simulated raters would have."""
    from novarag.report.forest import standalone
    from novarag.report.rating_pictures import draw_bars, draw_radar
    from novarag.report.study import write_sheet
    from novarag.study import analyse, make_sheet, read_key, read_ratings, simulated_ratings

    trials: dict[str, list[Trial]] = defaultdict(list)
    parts: dict[str, str] = {}
    for setting, dataset, system in made.grid.cells():
        for found in bench.greedy(setting, dataset, system).values():
            trials[system.name] += found
            parts |= {t.group.question.id: dataset for t in found}
    shared = set.intersection(*({t.group.id for t in found} for found in trials.values()))
    every = (t.group for found in trials.values() for t in found)
    asked = len({group.question.id for group in every if group.id in shared})
    sheet = make_sheet(trials, questions=min(RATED, asked), seed=bench.seed, parts=parts)
    folder, lines = bench.out / "study", list[str]()
    folder.mkdir(exist_ok=True)
    if not (folder / "key.json").is_file():  # ratings need the key of the sheet they rate
        write_sheet(sheet, folder)
    key = read_key((folder / "key.json").read_text("utf-8"))
    texts = {file.name: file.read_text("utf-8") for file in sorted(folder.glob("ratings*.json"))}
    if not texts and not bench.simulated:
        return replace(made, lines=no_ratings(sheet))
    if texts:
        report = analyse(read_ratings(key, texts), seed=bench.seed)
    else:
        means = {name: 2.0 + 2.5 * i / (len(trials) - 1) for i, name in enumerate(trials)}
        report = analyse(simulated_ratings(sheet, means, seed=bench.seed), seed=bench.seed)
        lines = [
            f"Their means were put in: from {min(means.values()):g} for the first system to"
            f" {max(means.values()):g} for the last.",
            "",
        ]
    pictures = {
        f"{made.name}-{name}.svg": standalone(draw(report), mark=_mark(bench))
        for name, draw in (("bars", draw_bars), ("radar", draw_radar))
    }
    return replace(made, lines=[*lines, *rated_lines(report)], pictures=pictures)


def no_ratings(sheet: RatingSheet) -> list[str]:
    """Say that the sheet waits for people."""
    return [
        f"Nobody has rated yet. The blind sheet has {len(sheet.entries)} questions and"
        f" {len(sheet.key.systems)} systems: send `study/sheet.html` to raters, put what they save"
        " beside it as `ratings-NAME.json`, and run the same command again.",
    ]


def rated_lines(report: StudyReport) -> list[str]:
    """Say how much raters agree, and what each system was given on each criterion."""
    who = "simulated raters, who are nobody" if report.simulated else "raters"
    agreed = report.agreement
    lines = [
        f"{len(report.raters)} {who}, {report.questions} questions, ratings from 1 to"
        f" {report.points}. Krippendorff's alpha {number(agreed.ordinal.value)} (ordinal,"
        f" {figure_span(agreed.ordinal, number)}), mean pairwise kappa {number(agreed.kappa)}"
        f" (quadratic weights {number(agreed.quadratic)}). In pictures R1 is the first of the"
        " table, and so on.",
        "",
        "| criterion | "
        + " | ".join(map(escape_markdown, report.systems))
        + " | Kruskal\u2013Wallis p | Friedman p |",
        "|---" * (len(report.systems) + 3) + "|",
    ]
    for row in report.criteria:
        means = [f"{number(f.value)} ({figure_span(f, number)})" for f in row.means.values()]
        paired = "\u2013" if row.friedman is None else chance(row.friedman.p)
        title = escape_markdown(row.criterion.title)
        cells = [title, *means, chance(row.kruskal.p), paired]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
