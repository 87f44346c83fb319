"""The verb that rebuilds the benchmark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.exit_codes import ExitCode
from novarag.flows.events import StepResult

if TYPE_CHECKING:
    from novarag.flows.events import Event


def nova_clean(
    out: Annotated[Path, typer.Option(help="Folder for the groups, the card and the checksums.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder that holds naacl/; default: NOVARAG_DATA."),
    ] = None,
    audited: Annotated[
        bool, typer.Option("--audit/--no-audit", help="Look for shortcuts in every file.")
    ] = True,
    retrieved: Annotated[
        bool,
        typer.Option(help="Make groups from real retrieval too; needs retrieval/ and Milvus."),
    ] = False,
) -> None:
    """Rebuild the NOVA benchmark without its shortcuts, from the released files."""
    from novarag.flows.benchmark import rebuild_benchmark

    with screen() as show:

        def on_event(event: Event) -> None:
            if isinstance(event, StepResult):
                print(event.result, flush=True)
            else:
                show(event)

        made = rebuild_benchmark(
            out, data=data, audit=audited, retrieved=retrieved, on_event=on_event
        )
    for name in made.unlike:
        print(f"{name} is not the file of the recipe", file=sys.stderr)
    files, beyond = len(made.files), len(made.with_shortcut)
    print(f"wrote {out}/README.md: {files} files, {beyond} with a shortcut")
    sys.exit(ExitCode.INCOMPLETE if made.unlike else ExitCode.DONE)
