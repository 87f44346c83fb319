"""The verb that makes the paper's tables again, and the one way in which tables are run."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from novarag.atomic import write_whole
from novarag.cli.models import (  # noqa: TC001 - typer looks at them
    Attempts,
    Concurrency,
    KeyEnv,
    Models,
    RetryFailed,
    Timeout,
)
from novarag.cli.options import EncoderSpec  # noqa: TC001 - likewise
from novarag.cli.running import Means, means_of
from novarag.config.asking import Replies
from novarag.config.grid import BASE, EXPERIMENTS, LABELS, TUNED, load_grid
from novarag.errors import DataError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.cli.bench import Bench
    from novarag.config.grid import Grid

ALL = "all"


_SIMULATED = (
    "**Simulated: not a result.** The respondent is a program with known skill and known faults."
    " This page shows that every table runs and measures what was put in; it says nothing of any"
    " language model."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How much is asked, and how closely it is measured."""

    questions: int | None = None
    replicates: int = 1000
    least: int = 50
    replies: Replies = field(default_factory=Replies)
    says: str = ""
    notes: tuple[str, ...] = ()


PROFILES = {
    "full": Profile(says="Every question of every set was asked; replies were not held to a form."),
    "smoke": Profile(
        questions=20,
        replicates=500,
        least=10,
        replies=Replies(structured=True, max_tokens=200, step_length=60),
        says="A smoke run: 20 questions a cell, one group each, replies held to their form. It"
        " shows that every table runs; its figures say little of the model.",
    ),
}


def reproduce(
    tables: Annotated[
        list[str], typer.Argument(help=f"{ALL}, or some of: {', '.join(EXPERIMENTS)}.")
    ],
    model: Models,
    out: Annotated[Path, typer.Option(help="Folder; one that was begun goes on.")],
    tuned: Annotated[
        list[str] | None,
        typer.Option(help="The model trained by NOVA, as --model; default: the base, prompted."),
    ] = None,
    label_only: Annotated[
        list[str] | None,
        typer.Option(help="The model trained on labels only, as --model. Default: likewise."),
    ] = None,
    profile: Annotated[
        Literal["full", "smoke"], typer.Option(help="All questions, or 20 in every cell.")
    ] = "full",
    data: Annotated[
        Path | None, typer.Option(help="Folder that holds naacl/; default: NOVARAG_DATA.")
    ] = None,
    index: Annotated[
        str | None, typer.Option(help="Index of a corpus (file or URI), for real retrieval.")
    ] = None,
    encoder: EncoderSpec = None,
    page: Annotated[
        Path | None, typer.Option(help="Where the page goes; default: page.md in --out.")
    ] = None,
    note: Annotated[
        list[str] | None,
        typer.Option(help="What the page should say of the models, such as their size."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of groups and intervals.")] = 0,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Longest reply, in tokens.")] = None,
    concurrency: Concurrency = 64,
    timeout: Timeout = 600.0,
    attempts: Attempts = 8,
    key_env: KeyEnv = None,
    retry_failed: RetryFailed = False,
) -> None:
    """Make tables and figures of the NOVA paper again, with the models at hand."""
    from novarag.cli.bench import Bench

    names = list(EXPERIMENTS) if ALL in tables else tables
    for name in names:
        if name not in EXPERIMENTS:
            raise UnknownName(name, [ALL, *EXPERIMENTS])
    reach = partial(
        Means, key_env=key_env, concurrency=concurrency, timeout=timeout, attempts=attempts,
        retry_failed=retry_failed,
    )  # fmt: skip
    roles = {BASE: model, TUNED: tuned, LABELS: label_only}
    told = replace(PROFILES[profile], notes=tuple(note or ()))
    if max_tokens is not None:
        told = replace(told, replies=replace(told.replies, max_tokens=max_tokens))
    bench = Bench(
        out=out,
        means={role: reach(models=named) for role, named in roles.items() if named},
        replies=told.replies,
        questions=told.questions,
        data=data,
        index=index,
        encoder=encoder,
        seed=seed,
    )
    grids = {name: load_grid(name) for name in names}
    said: dict[str, object] = {"--seed": seed or None}
    said |= {"--profile": profile if profile != "full" else None}
    said |= {"--max-tokens": max_tokens, "--index": index, "--encoder": encoder}
    commands = {name: _command(name, grid, roles, said) for name, grid in grids.items()}
    make_page(bench, grids, commands, told, page or out / "page.md")


def _command(
    name: str,
    grid: Grid,
    roles: Mapping[str, Sequence[str] | None],
    more: Mapping[str, object],
) -> str:
    """Say by which command a table is made again; an index is named where it is searched."""
    options = {BASE: "--model", TUNED: "--tuned", LABELS: "--label-only"}
    said = [f"{options[role]} {m}" for role, models in roles.items() for m in models or ()]
    searched = any(setting.groups == "retrieved" for setting in grid.settings)
    for option, value in more.items():
        if value is not None and (searched or option not in {"--index", "--encoder"}):
            said.append(f"{option} {value}")
    return " ".join(["novarag reproduce", name, *said, "--out out"])


def run_table(sources: Sequence[str], **how: Any) -> None:  # noqa: ANN401 - fields of `Means`
    """Make one table that files describe, with the models they name."""
    from novarag.cli.bench import Bench

    grid = load_grid(*sources)
    if grid.model is None:
        mend = 'write [model] and endpoints = ["http://localhost:8000/v1=llama"].'
        raise DataError("the key 'model' is missing.", mend=mend, source=" + ".join(sources))
    roles = {BASE: grid.model, TUNED: grid.tuned, LABELS: grid.label_only}
    bench = Bench(
        out=Path(grid.out),
        means={role: means_of(told, **how) for role, told in roles.items() if told is not None},
        replies=grid.ask,
        questions=grid.questions,
        index=grid.index,
        encoder=grid.encoder,
        seed=grid.seed,
    )
    profile = Profile(replicates=grid.replicates, least=grid.least)
    name = Path(sources[0]).stem
    command = f"novarag run {' '.join(sources)}"
    make_page(bench, {name: grid}, {name: command}, profile, Path(grid.out) / f"{name}.md")


def _title(grids: Sequence[Grid], *, simulated: bool) -> str:
    papers = any(grid.paper or grid.quotes for grid in grids)
    title = "The paper's tables" if papers else grids[0].title
    return f"{title}, on a simulated respondent" if simulated else title


def make_page(
    bench: Bench,
    grids: Mapping[str, Grid],
    commands: Mapping[str, str],
    profile: Profile,
    file: Path,
) -> None:
    """Ask, measure, and write the page with its pictures beside it."""
    from novarag.cli.tabling import make_table
    from novarag.reproduction.cells import Precision
    from novarag.reproduction.page import Told, page

    code = bench.ask(list(grids.values()))
    if code:
        sys.exit(code)
    how = Precision(replicates=profile.replicates, least=profile.least, seed=bench.seed)
    made = []
    for number, (name, grid) in enumerate(grids.items(), start=1):
        print(f"measuring {number} of {len(grids)}: {name}", file=sys.stderr)
        table = make_table(name, grid, commands[name], bench, how)
        named = {f"{file.stem}-{name}": picture for name, picture in table.pictures.items()}
        made.append(replace(table, pictures=named))
    told = Told(
        title=_title(list(grids.values()), simulated=bench.simulated),
        banner=_SIMULATED if bench.simulated else profile.says,
        machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        models=bench.models,
        notes=[*([profile.says] if bench.simulated else []), *profile.notes],
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    for table in made:
        for picture, content in table.pictures.items():
            write_whole(file.parent / picture, content.encode("utf-8"))
    write_whole(file, page(made, told).encode("utf-8"))
    print(f"wrote {file}: {len(made)} table{'s' if len(made) > 1 else ''}")
    failed = sum(cell.failed for table in made for cell in table.cells)
    if failed:
        again = "add --retry-failed to ask them again"
        print(f"{failed:,} answers of the tables are missing: their requests failed; {again}")
        sys.exit(1)
