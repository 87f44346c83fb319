"""`novarag measure`: how honest are stated confidences?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.options import ReaderName, ScaleName
from novarag.flows.measure import REPLICATES, TITLE
from novarag.texts import plain_text


def measure(
    files: Annotated[
        list[Path],
        typer.Argument(help="Tables of answers: JSONL, Parquet or CSV; or folders of runs."),
    ],
    confidence: Annotated[
        str, typer.Option(help="Column with the confidence, 0 to 1; empty where unread.")
    ] = "confidence",
    correct: Annotated[
        str, typer.Option(help="Column that says whether the answer is right: true/false or 1/0.")
    ] = "correct",
    question: Annotated[
        str | None,
        typer.Option(
            help="Column that names the question; default 'question', else each row is its own."
        ),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Column to group by; may be given more than once.")
    ] = None,
    percent: Annotated[
        bool, typer.Option("--percent", help="The confidence column holds 0 to 100.")
    ] = False,
    unread: Annotated[
        list[float] | None,
        typer.Option(help="Value that marks an unread reply, such as -1; may be repeated."),
    ] = None,
    reply: Annotated[
        str | None,
        typer.Option(help="Column with raw replies, read with --strategy instead of --confidence."),
    ] = None,
    strategy: ReaderName = "nova",
    scale: ScaleName = None,
    gold: Annotated[
        str | None,
        typer.Option(help="Column with accepted answers, graded instead of --correct."),
    ] = None,
    answer: Annotated[
        str, typer.Option(help="Column with the answer, for --gold without --reply.")
    ] = "answer",
    out: Annotated[
        Path | None, typer.Option(help="Folder for report.html, report.md and report.json.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures as JSON on standard output.")
    ] = False,
    title: Annotated[str, typer.Option(help="Title of the report.")] = TITLE,
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = REPLICATES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    mix: Annotated[
        Path | None,
        typer.Option(
            help="profile.json of `novarag annotate`: weigh the answers to that mix of groups too."
        ),
    ] = None,
) -> None:
    """Measure how honest stated confidences are, and write a report."""
    from novarag.datasets import Columns
    from novarag.flows.measure import make_heading
    from novarag.flows.measure import measure as flow
    from novarag.report import summary, to_json

    columns = Columns(
        confidence=confidence, correct=correct, question=question, percent=percent,
        unread=tuple(unread or ()), reply=reply, answer=answer, gold=gold,
    )  # fmt: skip
    with screen() as tell:
        found = flow(
            files, by=by or (), columns=columns, strategy=strategy, scale=scale, mix=mix, out=out,
            title=title, replicates=replicates, seed=seed, tell=tell,
        )  # fmt: skip
    if as_json:
        heading = make_heading(title, sources=found.sources, notes=found.notes)
        print(to_json(found, heading))
        return
    for line in [*summary(found), *found.notes]:
        print(f"- {plain_text(line, longest=1000)}")
