"""`novarag grading pick`: which answers of a log to grade next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.options import (
    ReaderName,
)
from novarag.cli.tables import GRADES, TABLES, given_tables, reads_tables
from novarag.defaults import PICK
from novarag.formatting import span, whole_percent
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.answers.opening.columns import Columns
    from novarag.flows.pick import PickedAnswers


_AnswerToGrade = Annotated[
    str, typer.Option(help="Column with the answer to grade, without --reply.")
]


@reads_tables(without=GRADES, answer=_AnswerToGrade)
def pick(
    log: Annotated[
        list[str],
        typer.Argument(help=f"Answers, graded or not: {TABLES}"),
    ],
    out: Annotated[Path, typer.Option(help="Folder for sheet.html and picked.json.")],
    columns: Columns,
    n: Annotated[int, typer.Option("--n", min=1, help="How many answers to pick.")] = PICK.rows,
    reader: ReaderName = "nova",
    show: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that graders see too, such as the context; may be repeated. Default:"
            " 'passages' where there is one."
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(help="Leave out the questions that this calibration was fitted on."),
    ] = None,
    spread: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Part of the picks that goes to rare and common evidence states alike; 0 draws all"
            " at one rate, which is best for a gate alone.",
        ),
    ] = PICK.spread,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
) -> None:
    """Pick answers of a log to grade, by state and confidence, and write a sheet to grade them."""
    from novarag.flows.pick import PAGE, pick_answers

    with screen() as on_event:
        made = pick_answers(
            given_tables(log), out, n=n, columns=columns,
            reader=reader, show=show, calibration=calibration, spread=spread, seed=seed,
            on_event=on_event,
        )  # fmt: skip
    _print_strata(made)
    print(f"next: open {out / PAGE} in a browser, or send it to who grades; then")
    print(f"      novarag grading grades {out} RATINGS.json … --out graded.csv")


def _print_strata(made: PickedAnswers) -> None:
    print(f"{'state':16}{'confidence':>14}{'questions':>12}{'picked':>8}{'weight':>9}")
    for one in made.strata:
        name = plain_text(made.states[one.state], longest=15) if one.state >= 0 else ""
        band = span(one.least, one.most, whole_percent)
        weight = one.questions / one.picked
        print(f"{name:16}{band:>14}{one.questions:12,}{one.picked:8,}{weight:9.1f}")
    print(f"{made.picked:,} answers of {made.questions:,} questions to grade")
    if made.unread:
        print(f"{made.unread:,} replies could not be read: not on the sheet, kept with their share")
    if made.skipped:
        print(f"{made.skipped:,} questions left out: the calibration was fitted on them")
