"""`novarag grading judge`: what a judge's marks are worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import print_notes, screen
from novarag.cli.tables import TABLES, given_tables, reads_tables

if TYPE_CHECKING:
    from novarag.answers.opening.columns import Columns

_UNUSED = frozenset({
    "confidence", "percent", "out_of", "mixed", "values", "unread", "reply", "scale", "gold",
    "answer", "state", "signal", "weight",
})  # fmt: skip


@reads_tables(without=_UNUSED)
def judge(
    answers: Annotated[
        list[str], typer.Argument(help=f"Marked answers, labelled in part: {TABLES}")
    ],
    mark: Annotated[
        str, typer.Option(help="Column with the judge's marks, which mean right or wrong.")
    ],
    columns: Columns,
    repeats: Annotated[
        list[str] | None,
        typer.Option(
            "--repeat", help="Column with marks of the same judge asked again; may be repeated."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Column whose groups are measured by themselves, too; may be repeated."),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="Also write a page (.html).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
) -> None:
    """Hold a judge's marks against people's labels: what they are worth, and the true rate."""
    from novarag.flows.measure_judge import measure_judge
    from novarag.report.judge import judge_notes

    with screen() as on_event:
        found = measure_judge(
            given_tables(answers), mark=mark, repeats=repeats or (), by=by or (), columns=columns,
            page=page, seed=seed, on_event=on_event,
        )  # fmt: skip
    print_notes(judge_notes(found))
