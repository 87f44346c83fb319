"""`novarag measure`: how honest are stated confidences?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.options import (
    AnswerColumn,
    ConfidenceColumn,
    CorrectColumn,
    GoldColumn,
    OtherSource,
    Percent,
    QuestionColumn,
    ReaderName,
    ReplyColumn,
    ScaleName,
    SignalColumn,
    StateColumn,
    Unread,
)
from novarag.flows.measure import REPLICATES, TITLE
from novarag.texts import plain_text


def measure(
    files: Annotated[
        list[Path],
        typer.Argument(help="Tables of answers: JSONL, Parquet or CSV; or folders of runs."),
    ],
    confidence: ConfidenceColumn = "confidence",
    correct: CorrectColumn = "correct",
    question: QuestionColumn = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Column to group by; may be given more than once.")
    ] = None,
    percent: Percent = False,
    unread: Unread = None,
    reply: ReplyColumn = None,
    strategy: ReaderName = "nova",
    scale: ScaleName = None,
    gold: GoldColumn = None,
    answer: AnswerColumn = "answer",
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
    state: StateColumn = None,
    signal: SignalColumn = None,
    other_source: OtherSource = False,
) -> None:
    """Measure how honest stated confidences are, and write a report."""
    from novarag.datasets import Columns
    from novarag.flows.measure import make_heading
    from novarag.flows.measure import measure as flow
    from novarag.report import rivals, summary, to_json

    columns = Columns(
        confidence=confidence, correct=correct, question=question, percent=percent,
        unread=tuple(unread or ()), reply=reply, answer=answer, gold=gold, state=state,
        signal=signal,
    )  # fmt: skip
    with screen() as tell:
        found = flow(
            files, by=by or (), columns=columns, strategy=strategy, scale=scale, mix=mix, out=out,
            title=title, replicates=replicates, seed=seed, calibration=calibration,
            calibrate=calibrate, other_source=other_source, tell=tell,
        )  # fmt: skip
    if as_json:
        heading = make_heading(title, sources=found.sources, notes=found.notes)
        print(to_json(found, heading))
        return
    words = rivals if calibrate or calibration else summary
    for line in [*words(found), *found.notes]:
        print(f"- {plain_text(line, longest=1000)}")
