"""Make tables and figures of the NOVA paper again, or a table of one's own, as one page."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.config.asking import ReplySettings
from novarag.config.grid import BASE, EXPERIMENTS, LABELS, OWN, TUNED, load_grid
from novarag.defaults import TABLE
from novarag.errors import DataError, UnknownNameError
from novarag.flows.events import Note, silent
from novarag.flows.sync import synchronous
from novarag.runner.access import reach, reach_endpoints
from novarag.runner.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.config.grid import TableGrid
    from novarag.flows.events import EventListener
    from novarag.flows.reproduce.bench import Bench
    from novarag.flows.reproduce.page import TableResult
    from novarag.runner.access import Access, Model

ALL = "all"

_SIMULATED = (
    "**Simulated: not a result.** The respondent is a program with known skill and known faults."
    " This page shows that every table runs and measures what was put in; it says nothing of any"
    " language model."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionProfile:
    """How much is asked, and how closely it is measured; `shows` ends the title of the page."""

    questions: int | None = None
    replicates: int = TABLE.replicates
    min_rows: int = TABLE.min_rows
    replies: ReplySettings = field(default_factory=ReplySettings)
    says: str = ""
    shows: str = ""
    notes: tuple[str, ...] = ()
    wording: str = OWN


PROFILES = {
    "full": ReproductionProfile(
        replies=ReplySettings(max_tokens=TABLE.reply_tokens),
        says="Every question of every set was asked; replies were not held to a form.",
    ),
    "smoke": ReproductionProfile(
        questions=20,
        replicates=500,
        min_rows=10,
        replies=ReplySettings(structured=True, max_tokens=200, step_length=60),
        says="A smoke run: 20 questions a cell, one group each, replies held to their form. It"
        " shows that every table runs; its figures say little of the model.",
        shows=": a smoke run, which shows only that tables run",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """The page that was written, its tables, and how many answers their requests failed to get.

    `left_out` names the tables of "all" that want something which is not at hand, and the
    parameters that would bring it.
    """

    page: Path
    tables: tuple[TableResult, ...]
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Show the page and its tables."""
        names = ", ".join(f"{table.name} ({len(table.cells):,} rows)" for table in self.tables)
        shown = f"Reproduction({str(self.page)!r}: {self.failed:,} answers missing;\n  {names}"
        if self.left_out:
            shown += f";\n  left out: {', '.join(self.left_out)}"
        return f"{shown})"

    @property
    def failed(self) -> int:
        """How many answers are missing because their requests failed."""
        return sum(cell.failed for table in self.tables for cell in table.cells)


async def reproduce_async(
    tables: str | Sequence[str],
    model: Model,
    out: str | Path,
    *,
    tuned: Model | None = None,
    label_tuned: Model | None = None,
    extent: str = "full",
    data: str | Path | None = None,
    index: str | None = None,
    encoder: str | None = None,
    page: str | Path | None = None,
    notes: Sequence[str] = (),
    seed: int = 0,
    max_tokens: int | None = None,
    method_strategy: str = TABLE.method_strategy,
    wording: str = OWN,
    access: Access | None = None,
    on_event: EventListener = silent,
    stop: Stop | None = None,
) -> Reproduction:
    """Make tables and figures of the paper again, with the models at hand.

    Args:
        tables: Names of shipped tables, one or several, or "all": then those that need an index, or
            its encoder, are left out and named where there is none.
        model: The model to ask: `URL=NAME` (or a list of them, for replicas), `simulated:NAME`, an
            `Endpoint`, an `LLM`, or a function that opens one. It is the base that the trained
            models began from.
        out: A folder for groups, replies and the page, where the same call goes on after it was cut
            off; `UnfinishedError` says that it was.
        tuned: The model trained by NOVA, given as `model` is; with None the base answers for it,
            prompted, and the table says so.
        label_tuned: The model trained on labels only, given as `model` is; with None the base
            answers for it, likewise.
        extent: "full" asks all questions; "smoke" asks 20 in every cell, to see that tables run.
        data: The folder that holds naacl/; None takes it from the variable NOVARAG_DATA.
        index: An index of a corpus, a file or the address of a server, for tables with real
            retrieval.
        encoder: Name of the encoder that the index was made with, for tables with dense retrieval:
            a folder, a model of the hub, or `URL=NAME` of a server.
        page: A file for the page, with its pictures beside it; None is page.md in `out`.
        notes: Notes on the models for the page, such as their size.
        seed: Seed of the groups that are drawn, of the questions of a smoke run, and of the
            bootstrap.
        max_tokens: Longest reply, in tokens; None is 2,048, as in the paper, and 200 in a smoke
            run.
        method_strategy: The strategy that asks for Ensemble, P(True) and the sampling methods; the
            paper's is CoT.
        wording: "own" asks prompts in our words, "paper" in the paper's own, where it prints them.
        access: How servers are reached: time-outs, concurrency, retries, keys.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
        stop: A `Stop` that ends the call early; what was answered is kept.
    """
    from novarag.flows.reproduce.bench import Bench
    from novarag.strategies import find_strategy

    wanted = [tables] if isinstance(tables, str) else list(tables)
    names = list(EXPERIMENTS) if ALL in wanted else wanted
    for name in names:
        if name not in EXPERIMENTS:
            raise UnknownNameError(name, [ALL, *EXPERIMENTS])
    if extent not in PROFILES:
        raise UnknownNameError(extent, PROFILES)
    how = replace(PROFILES[extent], notes=tuple(notes), wording=wording)
    if max_tokens is not None:
        how = replace(how, replies=replace(how.replies, max_tokens=max_tokens))
    roles = {BASE: model, TUNED: tuned, LABELS: label_tuned}
    bench = Bench(
        out=Path(out),
        models={role: reach(m, access) for role, m in roles.items() if m},
        replies=how.replies,
        questions=how.questions,
        data=None if data is None else Path(data),
        index=index,
        encoder=encoder,
        seed=seed,
        on_event=on_event,
    )
    find_strategy(method_strategy)
    grids = {name: load_grid(name).asked_by(method_strategy).worded(wording) for name in names}
    left_out = {}
    if ALL in wanted:
        left_out = {name: lacks for name, grid in grids.items() if (lacks := bench.lacking(grid))}
        grids = {name: grid for name, grid in grids.items() if name not in left_out}
    more = {"--seed": seed or None, "--extent": extent if extent != "full" else None}
    other = method_strategy if method_strategy != TABLE.method_strategy else None
    more |= {"--method-strategy": other, "--max-tokens": max_tokens}
    more |= {"--wording": wording if wording != OWN else None}
    more |= {"--index": index, "--encoder": encoder}
    commands = {name: _command(name, grid, roles, more) for name, grid in grids.items()}
    file = Path(out) / "page.md" if page is None else Path(page)
    made = await _make_page(bench, grids, commands, how, file, stop or Stop(), left_out=left_out)
    return replace(made, left_out=left_out)


reproduce = synchronous(reproduce_async)


def _command(
    name: str,
    grid: TableGrid,
    roles: Mapping[str, object],
    more: Mapping[str, object],
) -> str:
    """Say by which command a table is made again; an index is named where it is searched."""
    options = {BASE: "--model", TUNED: "--tuned", LABELS: "--label-tuned"}
    said = [f"{options[role]} {m}" for role, models in roles.items() for m in _addresses(models)]
    searched = any(setting.groups == "retrieved" for setting in grid.settings)
    for option, value in more.items():
        if value is not None and (searched or option not in {"--index", "--encoder"}):
            said.append(f"{option} {value}")
    return " ".join(["novarag paper reproduce", name, *said, "--out out"])


def _addresses(models: object) -> list[str]:
    """Name a model as on the command line; an object that was handed in has no address."""
    if isinstance(models, str):
        return [models]
    if isinstance(models, (list, tuple)):
        return [str(model) for model in models]
    return [] if models is None else ["URL=NAME"]


async def run_table_async(
    sources: Sequence[str | Path],
    *,
    access: Access | None = None,
    on_event: EventListener = silent,
    stop: Stop | None = None,
) -> Reproduction:
    """Make one table that files describe, with the models they name.

    Args:
        sources: TOML files or names of shipped tables; later ones override earlier ones, key by
            key. The models and the folder of the table stand there, too.
        access: How servers are reached: time-outs, concurrency, retries, keys. Those four are taken
            from the files, so that only the rest of it counts.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
        stop: A `Stop` that ends the call early; what was answered is kept.
    """
    from novarag.flows.reproduce.bench import Bench

    grid = load_grid(*sources)
    if grid.model is None:
        hint = 'write [model] and endpoints = ["http://localhost:8000/v1=llama"].'
        names = " + ".join(map(str, sources))
        raise DataError("the key 'model' is missing.", hint=hint, source=names)
    roles = {BASE: grid.model, TUNED: grid.tuned, LABELS: grid.label_only}
    bench = Bench(
        out=Path(grid.out),
        models={role: reach_endpoints(m, access) for role, m in roles.items() if m is not None},
        replies=grid.ask,
        questions=grid.questions,
        index=grid.index,
        encoder=grid.encoder,
        seed=grid.seed,
        on_event=on_event,
    )
    profile = ReproductionProfile(replicates=grid.replicates, min_rows=grid.min_rows)
    name = Path(sources[0]).stem
    command = f"novarag run experiment {' '.join(map(str, sources))}"
    file = Path(grid.out) / f"{name}.md"
    return await _make_page(bench, {name: grid}, {name: command}, profile, file, stop or Stop())


run_table = synchronous(run_table_async)


async def _make_page(
    bench: Bench,
    grids: Mapping[str, TableGrid],
    commands: Mapping[str, str],
    profile: ReproductionProfile,
    file: Path,
    stop: Stop,
    *,
    left_out: Mapping[str, tuple[str, ...]] | None = None,
) -> Reproduction:
    """Ask, measure, and write the page with its pictures beside it."""
    from novarag.atomic import write_whole
    from novarag.flows.reproduce.cells import Precision
    from novarag.flows.reproduce.page import PageHeader, page
    from novarag.flows.reproduce.tables import make_table
    from novarag.report.tables_page import tables_html

    await bench.ask(list(grids.values()), stop)
    how = Precision(replicates=profile.replicates, min_rows=profile.min_rows, seed=bench.seed)
    made = []
    for number, (name, grid) in enumerate(grids.items(), start=1):
        bench.on_event(Note(f"measuring {number} of {len(grids)}: {name}"))
        table = make_table(name, grid, commands[name], bench, how)
        named = {f"{file.stem}-{name}": picture for name, picture in table.pictures.items()}
        made.append(replace(table, pictures=named))
    header = PageHeader(
        title=_title(list(grids.values()), simulated=bench.simulated) + profile.shows,
        banner=_SIMULATED if bench.simulated else profile.says,
        machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        models=bench.names,
        wording=profile.wording,
        notes=[*([profile.says] if bench.simulated else []), *profile.notes],
        left_out=left_out or {},
    )
    for table in made:
        for picture, content in table.pictures.items():
            write_whole(file.parent / picture, content.encode())
    text = page(made, header)
    pictures = {name: content for table in made for name, content in table.pictures.items()}
    write_whole(file.with_suffix(".html"), tables_html(text, pictures).encode())
    write_whole(file, text.encode())
    return Reproduction(page=file, tables=tuple(made))


def _title(grids: Sequence[TableGrid], *, simulated: bool) -> str:
    papers = any(grid.paper or grid.quotes for grid in grids)
    title = "The paper's tables" if papers else grids[0].title
    return f"{title}, on a simulated respondent" if simulated else title
