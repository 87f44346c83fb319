"""`novarag run reread`: read and grade stored replies again."""

from __future__ import annotations

from typing import Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.options import ForeignStrategy, RunArgument
from novarag.cli.translate import said


def reread(
    run: RunArgument,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes at work. Default: one for each core.")
    ] = None,
    strategy: ForeignStrategy = None,
) -> None:
    """Read and grade every stored reply again, after the reader has changed. Nothing is asked."""
    from novarag.flows.runs import reread as flow

    with screen() as on_event:
        total = flow(run, workers=workers, strategy=strategy, on_event=on_event)
    for line in total.mended:
        print(f"found: {said(line)}")
    print(f"{total.trials:,} trials were read again, {total.changed:,} of them changed")
    for name, count in total.columns.most_common():
        print(f"  {name:<16} {count:,}")
    if total.missing:
        print(
            f"{total.missing:,} shards are not finished; they are read as they are when they go on"
        )
