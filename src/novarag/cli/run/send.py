"""`novarag run send`: confidences to where traces are looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.exit_codes import ExitCode
from novarag.cli.tables import GRADES, reads_tables
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.answers.opening.columns import Columns


@reads_tables(without=GRADES | {"answer", "reply", "scale", "state", "scores"})
def send(
    answers: Annotated[
        Path,
        typer.Argument(
            help="Scored answers that name their traces: the folder of a run, or a table with"
            " 'confidence' or a 'novarag' object."
        ),
    ],
    sink: Annotated[
        str,
        typer.Option(
            help="langfuse, mlflow or phoenix; or package.module:CLASS of a sink of your own. Keys"
            " come from LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, or PHOENIX_API_KEY."
        ),
    ],
    columns: Columns,
    trace: Annotated[
        str | None, typer.Option(help="Column with the id of the trace; default 'trace_id'.")
    ] = None,
    span: Annotated[
        str | None,
        typer.Option(help="Column with the id of the span that answered; default 'span_id'."),
    ] = None,
    retriever_span: Annotated[
        str | None,
        typer.Option(
            help="Column with the id of the span that retrieved, whose documents get the judgments"
            " of passages; default 'retriever_span_id'."
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="Where the tool is; default LANGFUSE_BASE_URL, MLFLOW_TRACKING_URI or"
            " PHOENIX_COLLECTOR_ENDPOINT."
        ),
    ] = None,
    sent: Annotated[
        Path | None,
        typer.Option(help="File of what was taken; default the name of ANSWERS with '.sent'."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Send all of it again, under the same ids.")
    ] = False,
) -> None:
    """Send the confidences of answers to the traces they came from, each of them once."""
    from novarag.integrations.send_answers import send_answers

    with screen() as on_event:
        done = send_answers(
            answers, sink, columns=columns, trace=trace, span=span, retriever_span=retriever_span,
            server=server, sent=sent, again=again, on_event=on_event,
        )  # fmt: skip
    for line in done.lines():
        print(plain_text(line, longest=400))
    if done.refused:
        raise typer.Exit(ExitCode.INCOMPLETE)
