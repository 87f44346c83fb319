"""`novarag gate`: a threshold with a promise, or an honest no."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from novarag.cli.console import print_notes, screen
from novarag.cli.exit_codes import ExitCode
from novarag.cli.next_step import ASKED, pick_more, print_next_step
from novarag.cli.options import (
    ConfidenceLevel,
    OtherSource,
    PromptName,
    ReaderName,
    SourceName,
)
from novarag.cli.shares import parse_share
from novarag.cli.tables import TABLES, given_tables, reads_tables

if TYPE_CHECKING:
    from novarag.answers.opening.columns import Columns


@reads_tables()
def gate(
    answers: Annotated[list[str], typer.Argument(help=f"Graded answers: {TABLES}")],
    risk: Annotated[
        float,
        typer.Option(
            parser=parse_share,
            metavar="<share>",
            help="The most of the answers given that may be wrong: 10% or 0.1.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="File of the gate (.json).")],
    columns: Columns,
    confidence_level: ConfidenceLevel = "90%",  # type: ignore[assignment]
    by_state: Annotated[
        bool,
        typer.Option("--by-state", help="Also try answers beside consistent evidence alone."),
    ] = False,
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="Set the gate on the confidences of this calibration; it must not have"
            " seen these questions."
        ),
    ] = None,
    split: Annotated[
        Path | None,
        typer.Option(
            help="Fit a calibration on half of the questions, write it to this file, and"
            " set the gate on the other half."
        ),
    ] = None,
    rows: Annotated[
        Literal["one", "all"],
        typer.Option(help="One row a question, drawn by seed; or all of them, approximately."),
    ] = "one",
    page: Annotated[
        Path | None, typer.Option(help="Also write a page (.html) with the path of its tests.")
    ] = None,
    source: SourceName = None,
    prompt: PromptName = None,
    reader: ReaderName = "nova",
    other_source: OtherSource = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw of rows.")] = 0,
) -> None:
    """Set a confidence threshold with a promised risk of error, or say what it would take."""
    from novarag.calibration.graded_answers import AnswerSource
    from novarag.flows.gate import gate as flow
    from novarag.report.gate import gate_notes

    tables = given_tables(answers)
    with screen() as on_event:
        made = flow(
            tables, risk=risk, confidence_level=confidence_level, by_state=by_state,
            calibration=calibration, split=split,
            rows=rows, columns=columns, reader=reader, source=AnswerSource.named(source, prompt),
            other_source=other_source, out=out, page=page, seed=seed,
            on_event=on_event,
        )  # fmt: skip
    print_notes(gate_notes(made))
    if made.threshold is None:
        pick_more(answers, columns, reader=reader)
        raise typer.Exit(ExitCode.INCOMPLETE)
    kept = split or calibration
    if columns.scores:
        by = f" --calibration {quote(str(kept))}"
        print_next_step(
            f"novarag apply {quote(str(out))} NEW_ROWS{by} --out decided.csv",
            "says of new rows which may be given",
        )
        return
    by = f" --calibration {quote(str(kept))}" if kept else ""
    print_next_step(
        f"novarag answer {ASKED}{by} --gate {quote(str(out))}", "answers, or keeps silent"
    )
