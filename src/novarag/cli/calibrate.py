"""`novarag calibrate`: from stated confidence to a probability, fitted or applied."""

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


def calibrate(
    answers: Annotated[
        list[str], typer.Argument(help="Graded answers: JSONL, Parquet or CSV, or folders of runs.")
    ],
    out: Annotated[
        Path,
        typer.Option(help="File of the calibration (.json); with --apply the table to write."),
    ],
    apply: Annotated[
        Path | None,
        typer.Option(help="Apply this calibration to the answers, which need not be graded."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Also write a page (.html) that shows what it does.")
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
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds.")] = 0,
) -> None:
    """Fit a calibration on graded answers, or apply one: a probability with an interval."""
    from novarag.datasets import Columns
    from novarag.flows.calibrate import apply_calibration, fit_calibration
    from novarag.report.calibration import calibration_notes

    columns = Columns(
        confidence=confidence, correct=correct, question=question, percent=percent,
        unread=tuple(unread or ()), reply=reply, answer=answer, gold=gold, state=state,
        signal=signal, weight=weight,
    )  # fmt: skip
    with screen() as tell:
        if apply is not None:
            apply_calibration(
                answers, apply, columns=columns, strategy=strategy, scale=scale, model=model,
                prompt=prompt, other_source=other_source, out=out, tell=tell,
            )  # fmt: skip
            return
        made = fit_calibration(
            answers, columns=columns, strategy=strategy, scale=scale, model=model, prompt=prompt,
            out=out, page=page, seed=seed, tell=tell,
        )  # fmt: skip
    for line in calibration_notes(made):
        print(f"- {plain_text(line, longest=1000)}")
