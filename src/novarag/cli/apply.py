"""`novarag apply`: what a calibration or a gate makes of new answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.options import OtherSource, PromptName, ReaderName, SourceName
from novarag.cli.tables import TABLES, given_tables, reads_tables

if TYPE_CHECKING:
    from novarag.answers.opening.columns import Columns


@reads_tables()
def apply(
    file: Annotated[
        Path,
        typer.Argument(help="What `novarag calibrate` or `novarag gate` wrote (.json)."),
    ],
    answers: Annotated[
        list[str], typer.Argument(metavar="ROWS", help=f"Answers, graded or not: {TABLES}")
    ],
    out: Annotated[
        Path, typer.Option(help="File of the table (.csv, .parquet or .jsonl), with new columns.")
    ],
    columns: Columns,
    calibration: Annotated[
        Path | None,
        typer.Option(help="For a gate: the calibration that it was set with, if there was one."),
    ] = None,
    source: SourceName = None,
    prompt: PromptName = None,
    reader: ReaderName = "nova",
    other_source: OtherSource = False,
) -> None:
    """Apply a calibration or a gate to new answers, which need not be graded."""
    from novarag.calibration.graded_answers import AnswerSource
    from novarag.errors import UsageError
    from novarag.flows.apply_gate import apply_gate, is_gate_file
    from novarag.flows.calibrate import apply_calibration

    tables = given_tables(answers)
    with screen() as on_event:
        if is_gate_file(file):
            apply_gate(
                tables, file, calibration=calibration, columns=columns, reader=reader,
                source=AnswerSource.named(source, prompt), other_source=other_source,
                out=out, on_event=on_event,
            )  # fmt: skip
            return
        if calibration is not None:
            raise UsageError.saying("`calibration` goes with a gate, and {} is none", file)
        apply_calibration(
            tables, file, columns=columns, reader=reader, source=AnswerSource.named(source, prompt),
            other_source=other_source, out=out, on_event=on_event,
        )  # fmt: skip
