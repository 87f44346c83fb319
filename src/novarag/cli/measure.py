"""`novarag measure`: how honest are stated confidences?"""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.next_step import pick_more, print_next_step, table_words
from novarag.cli.options import (
    OtherSource,
    ReaderName,
)
from novarag.cli.tables import TABLES, given_tables, reads_tables
from novarag.cli.translate import said
from novarag.flows.measure import REPLICATES, TITLE
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.answers.opening.columns import Columns
    from novarag.metrics import Measurement


@reads_tables(without=frozenset({"weight"}))
def measure(
    files: Annotated[
        list[Path],
        typer.Argument(help=f"Tables of answers: {TABLES}"),
    ],
    columns: Columns,
    by: Annotated[
        list[str] | None, typer.Option(help="Column to group by; may be given more than once.")
    ] = None,
    reader: ReaderName = "nova",
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.html, report.md and report.json.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON on standard output.")
    ] = False,
    title: Annotated[str, typer.Option(help="Title of the report.")] = TITLE,
    texts: Annotated[
        bool,
        typer.Option(
            "--text/--no-text",
            help="Show some questions and answers in the report; --no-text for one to be shared.",
        ),
    ] = True,
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = REPLICATES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    kind_shares: Annotated[
        Path | None,
        typer.Option(
            help="profile.json of `novarag retrieval annotate`: weigh the answers to that mix of"
            " groups too."
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="Set the confidences of this calibration beside the stated ones; it must not have"
            " seen these questions."
        ),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate", help="Set calibrated confidences beside the stated ones, cross-fitted."
        ),
    ] = False,
    other_source: OtherSource = False,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="A metric of your own: package.module:OBJECT; may be repeated."),
    ] = None,
) -> None:
    """Measure how honest stated confidences are, and write a report."""
    from novarag.flows.measure import make_heading
    from novarag.flows.measure import measure as flow
    from novarag.report import answer_first, to_json

    tables = given_tables(files)
    with screen() as on_event:
        found = flow(
            tables, by=by or (), columns=columns, reader=reader, kind_shares=kind_shares, out=out,
            title=title, texts=texts, replicates=replicates, seed=seed, calibration=calibration,
            calibrate=calibrate, other_source=other_source, metrics=metric or (), on_event=on_event,
        )  # fmt: skip
    if as_json:
        heading = make_heading(title, sources=found.sources, notes=found.notes)
        print(to_json(found, heading))
        return
    for line in [*answer_first(found), *found.notes]:
        print(f"- {plain_text(said(line), longest=1000)}")
    _lead_on(found, files, columns, reader=reader, by=by or (), out=out)


def _lead_on(
    found: Measurement,
    files: Sequence[Path],
    columns: Columns,
    *,
    reader: str,
    by: Sequence[str],
    out: Path | None,
) -> None:
    """Say what to type next: a page, more grades, or a threshold with a promise."""
    words = table_words(files, columns, reader=reader)
    if words is None:
        return
    groups = "".join(f" --by {quote(name)}" for name in by)
    if by and out is None:
        print_next_step(
            f"novarag measure {words}{groups} --out report", "writes a page with pictures"
        )
    elif by:
        print_next_step(f"open {quote(str(out))}/report.html in a browser")
    elif found.overall.refusal:
        pick_more(files, columns, reader=reader)
    else:
        print_next_step(
            f"novarag gate {words} --risk 10% --split calibration.json --out gate.json",
            "calibrates, and sets a threshold that keeps a promise; put your own risk for 10%",
        )
