"""`novarag gate`: a threshold with a promise, or an honest no."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from novarag.cli.console import screen
from novarag.cli.exit_codes import ExitCode
from novarag.cli.options import (
    AnswerColumn,
    ConfidenceColumn,
    CorrectColumn,
    GoldColumn,
    ModelName,
    OtherSource,
    Percent,
    PromptName,
    QuestionColumn,
    ReaderName,
    ReplyColumn,
    ScaleName,
    SignalColumn,
    StateColumn,
    Unread,
    WeightColumn,
)
from novarag.texts import plain_text

_SHARE = re.compile(r"(\d{1,3}(?:\.\d{0,9})?|\.\d{1,9})\s{0,3}(%?)", re.ASCII)


def parse_share(text: str) -> float:
    """Read a share: 10%, 10 % or 0.1; a bare 10 could be either, and is refused.

    >>> parse_share("10 %"), parse_share("0.1")
    (0.1, 0.1)
    """
    found = _SHARE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no share; write 10% or 0.1.")
    value = float(found[1]) / (100 if found[2] else 1)
    if not found[2] and value >= 1:
        raise typer.BadParameter(f"{text.strip()} is over a whole; for percent write {found[1]}%.")
    if not 0 < value < 1:
        raise typer.BadParameter(f"{text.strip()} is not between 0 % and 100 %.")
    return value


def gate(
    answers: Annotated[
        list[str], typer.Argument(help="Graded answers: JSONL, Parquet or CSV, or folders of runs.")
    ],
    risk: Annotated[
        float,
        typer.Option(
            parser=parse_share,
            metavar="<share>",
            help="The most of the answers given that may be wrong: 10% or 0.1.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="File of the gate (.json).")],
    sure: Annotated[
        float,
        typer.Option(
            parser=parse_share,
            metavar="<share>",
            help="The probability of the promise over the graded rows: 90% or 0.9.",
        ),
    ] = "90%",  # type: ignore[assignment]
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
    confidence: ConfidenceColumn = "confidence",
    correct: CorrectColumn = "correct",
    question: QuestionColumn = None,
    state: StateColumn = None,
    signal: SignalColumn = None,
    weight: WeightColumn = None,
    model: ModelName = None,
    prompt: PromptName = None,
    percent: Percent = False,
    unread: Unread = None,
    reply: ReplyColumn = None,
    strategy: ReaderName = "nova",
    scale: ScaleName = None,
    gold: GoldColumn = None,
    answer: AnswerColumn = "answer",
    other_source: OtherSource = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw of rows.")] = 0,
) -> None:
    """Set a confidence threshold with a promised risk of error, or say what it would take."""
    from novarag.datasets import Columns
    from novarag.flows.gate import set_gate
    from novarag.report.gate import gate_notes

    columns = Columns(
        confidence=confidence, correct=correct, question=question, percent=percent,
        unread=tuple(unread or ()), reply=reply, answer=answer, gold=gold, state=state,
        signal=signal, weight=weight,
    )  # fmt: skip
    with screen() as tell:
        made = set_gate(
            answers, risk=risk, sure=sure, by_state=by_state, calibration=calibration, split=split,
            rows=rows, columns=columns, strategy=strategy, scale=scale, model=model,
            prompt=prompt, other_source=other_source, out=out, page=page, seed=seed, tell=tell,
        )  # fmt: skip
    for line in gate_notes(made):
        print(f"- {plain_text(line, longest=1000)}")
    if made.threshold is None:
        raise typer.Exit(ExitCode.LEFT)
