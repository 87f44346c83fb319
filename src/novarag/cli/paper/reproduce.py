"""`novarag paper reproduce`: tables and figures of the paper, made again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from novarag.cli.access import ONE_PROCESS, reaches_models
from novarag.cli.console import asking, printing
from novarag.cli.exit_codes import ExitCode, code_of
from novarag.cli.options import (
    EncoderSpec,
    Models,
)
from novarag.cli.translate import flag_of
from novarag.config.grid import EXPERIMENTS
from novarag.defaults import TABLE
from novarag.errors import UnfinishedError

if TYPE_CHECKING:
    from novarag.flows.reproduce.reproduce import Reproduction
    from novarag.runner.access import Access

ALL = "all"


@reaches_models(without=ONE_PROCESS)
def reproduce(
    tables: Annotated[
        list[str],
        typer.Argument(
            help=f"{ALL} (without an index: all that need none), or some of:"
            f" {', '.join(EXPERIMENTS)}."
        ),
    ],
    model: Models,
    out: Annotated[Path, typer.Option(help="Folder; one that was begun goes on.")],
    access: Access,
    tuned: Annotated[
        list[str] | None,
        typer.Option(help="The model trained by NOVA, as --model; default: the base, prompted."),
    ] = None,
    label_tuned: Annotated[
        list[str] | None,
        typer.Option(help="The model trained on labels only, as --model. Default: likewise."),
    ] = None,
    extent: Annotated[
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
        typer.Option(help="Note on the models for the page, such as their size."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of groups and intervals.")] = 0,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Longest reply, in tokens; default: {TABLE.reply_tokens}, as in the paper, and"
            " 200 in a smoke run.",
        ),
    ] = None,
    method_strategy: Annotated[
        str,
        typer.Option(
            help="The prompt behind Ensemble, P(True) and the sampling methods: cot as in the"
            " paper, or another such as vanilla."
        ),
    ] = TABLE.method_strategy,
    wording: Annotated[
        Literal["own", "paper"],
        typer.Option(help="Prompts in our words, or in the paper's (strategies `*-paper`)."),
    ] = "own",
) -> None:
    """Make tables and figures of the NOVA paper again, with the models at hand."""
    from novarag.flows.reproduce.reproduce import reproduce as flow

    with asking() as (on_event, stop):
        try:
            made = flow(
                tables, model, out, tuned=tuned, label_tuned=label_tuned, extent=extent, data=data,
                index=index, encoder=encoder, page=page, notes=note or (), seed=seed,
                max_tokens=max_tokens, method_strategy=method_strategy, wording=wording,
                access=access, on_event=printing(on_event, None), stop=stop,
            )  # fmt: skip
        except UnfinishedError as error:
            sys.exit(code_of(error))
    print_page(made)


def print_page(made: Reproduction) -> None:
    """Say where the page is, and what is missing in it; fail where something is."""
    count = len(made.tables)
    print(f"wrote {made.page}: {count} table{'s' if count > 1 else ''}")
    for name, wants in made.left_out.items():
        print(f"left out {name}: it needs {' and '.join(map(flag_of, wants))}")
    if made.failed:
        again = "add --retry-failed to ask them again"
        print(f"{made.failed:,} answers of the tables are missing: their requests failed; {again}")
    if made.failed or made.left_out:
        sys.exit(ExitCode.INCOMPLETE)
