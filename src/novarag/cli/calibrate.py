"""`novarag calibrate`: from stated confidence to a probability."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import print_notes, screen
from novarag.cli.next_step import ASKED, print_next_step
from novarag.cli.options import PromptName, ReaderName, SourceName
from novarag.cli.tables import TABLES, given_tables, reads_tables

if TYPE_CHECKING:
    from novarag.answers.opening.columns import Columns


@reads_tables()
def calibrate(
    answers: Annotated[list[str], typer.Argument(help=f"Graded answers: {TABLES}")],
    out: Annotated[Path, typer.Option(help="File of the calibration (.json).")],
    columns: Columns,
    page: Annotated[
        Path | None, typer.Option(help="Also write a page (.html) that shows what it does.")
    ] = None,
    source: SourceName = None,
    prompt: PromptName = None,
    reader: ReaderName = "nova",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
) -> None:
    """Fit a calibration on graded answers: a probability with an interval."""
    from novarag.calibration.graded_answers import AnswerSource
    from novarag.flows.calibrate import calibrate as flow
    from novarag.report.calibration import calibration_notes

    tables = given_tables(answers)
    with screen() as on_event:
        made = flow(
            tables, columns=columns, reader=reader,
            source=AnswerSource.named(source, prompt), out=out, page=page, seed=seed,
            on_event=on_event,
        )  # fmt: skip
    print_notes(calibration_notes(made))
    if made.fusion is not None:
        print_next_step(
            f"novarag apply {quote(str(out))} NEW_ROWS --out calibrated.csv",
            "gives new rows a probability",
        )
        return
    print_next_step(
        f"novarag answer {ASKED} --calibration {quote(str(out))}", "answers with a probability"
    )
