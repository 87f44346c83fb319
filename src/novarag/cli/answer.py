"""`novarag answer`: one question at a desk."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import bar
from novarag.cli.options import (
    OURS,
    PAPERS,
    Frame,
    KeyEnv,
    MaxTokens,
    Models,
    Seed,
    Temperature,
    Timeout,
)
from novarag.flows.answer import AT_A_DESK
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from novarag.records import PassageGroup, Trial

_MARGIN = 12

_WHY = {
    "conflicting": "passages that bear on the question contradict each other",
    "consistent": "a passage answers the question and none contradicts it",
    "insufficient": "no passage answers the question; the model falls back on what it knows",
}


def answer(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    model: Models,
    passages: Annotated[
        list[Path] | None,
        typer.Option(
            "--passages",
            "-p",
            help="A .txt or .md file is one passage; a .jsonl, .csv or .parquet file with a column"
            " 'text' many. May be repeated.",
        ),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            help=f"{OURS}; {PAPERS}; or package.module:OBJECT. Two are shown side by side."
            "  [default: nova]",
        ),
    ] = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    seed: Seed = None,
    frame: Frame = False,
    timeout: Timeout = AT_A_DESK.timeout,
    key_env: KeyEnv = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
    reply: Annotated[bool, typer.Option("--reply", help="Print the whole replies below.")] = False,
) -> None:
    """Answer one question beside its passages: answer, confidence, evidence, judgments."""
    from dataclasses import replace

    from novarag.calls import Sampling
    from novarag.flows.answer import answer_by_each, make_group
    from novarag.strategies import find_strategy

    found = [find_strategy(name) for name in strategy or ["nova"]]
    group = make_group(question, passages or ())
    sampling = Sampling(temperature=temperature or 0.0, max_tokens=max_tokens, seed=seed)
    access = replace(AT_A_DESK, timeout=timeout, key_env=key_env)
    trials = answer_by_each(group, found, model, sampling=sampling, frame=frame, access=access)
    if as_json:
        print(json.dumps([_facts(trial) for trial in trials], ensure_ascii=False, indent=2))
        return
    closed = {s.name for s in found if "passages" not in s.template.pieces[1::2]}
    for line in screen(
        group, trials, closed=closed, width=shutil.get_terminal_size((100, 40)).columns
    ):
        print(line)
    if reply:
        for trial in trials:
            print(f"\n— {trial.strategy} —")
            for line in trial.completion.text.splitlines():
                print(plain_text(line, longest=10_000))


def _facts(trial: Trial) -> dict[str, object]:
    response = trial.response
    judgment = response.judgment if response is not None else None
    return {
        "strategy": trial.strategy,
        "model": trial.completion.model,
        "answer": response and response.answer,
        "confidence": None if response is None else response.confidence,
        "evidence": judgment and judgment.group,
        "judgments": judgment and judgment.passages,
        "flaw": trial.flaw,
        "reply": trial.completion.text,
        "reasoning": trial.completion.reasoning,
    }


def screen(
    group: PassageGroup, trials: Sequence[Trial], *, width: int, closed: Collection[str] = ()
) -> list[str]:
    """Lay out trials of one group side by side; `closed` strategies show no passages."""
    width = min(max(width, 40), 160)
    column = max((width - _MARGIN) // len(trials), 20)
    rows = [
        *_row("", [trial.strategy for trial in trials], column),
        *_row("Answer", [_answer(trial) for trial in trials], column),
        *_row("Confidence", [_confidence(trial) for trial in trials], column),
        *_row("Evidence", [_evidence(trial) for trial in trials], column),
    ]
    asked = plain_text(group.question.text, longest=1000)
    lines = [*_row("Question", [asked], width - _MARGIN), "", *rows]
    for number, passage in enumerate(group.passages):
        hidden = "not shown to the model"
        said = [hidden if t.strategy in closed else _judged(t, number) for t in trials]
        lines += ["", *_row(f"Passage {number + 1}", said, column)]
        source = f"{plain_text(passage.source, longest=60)}: " if passage.source else ""
        text = source + plain_text(" ".join(passage.text.split()), longest=1000)
        lines += _row("", [plain_text(text, longest=2 * (width - _MARGIN - 4))], width - _MARGIN)
    return [line.rstrip() for line in lines]


def _row(name: str, cells: Sequence[str], width: int) -> list[str]:
    wrapped = [textwrap.wrap(cell, width - 2) or [""] for cell in cells]
    deep = max(len(cell) for cell in wrapped)
    shown = [[*cell, *[""] * (deep - len(cell))] for cell in wrapped]
    return [
        f"{name if i == 0 else '':<{_MARGIN}}" + "".join(f"{cell[i]:<{width}}" for cell in shown)
        for i in range(deep)
    ]


def _answer(trial: Trial) -> str:
    if trial.response is None:
        ending = plain_text(" ".join(trial.completion.text.split())[-120:])
        return f"(could not be read: {trial.flaw}) … {ending}"
    return plain_text(trial.response.answer, longest=400)


def _confidence(trial: Trial) -> str:
    if trial.response is None:
        return "—"
    return f"{trial.response.confidence:.0%} {bar(trial.response.confidence, 10)}"


def _evidence(trial: Trial) -> str:
    judgment = trial.response.judgment if trial.response is not None else None
    if judgment is None or judgment.group is None:
        return "not stated"
    return f"{judgment.group}: {_WHY[judgment.group]}"


def _judged(trial: Trial, number: int) -> str:
    judgment = trial.response.judgment if trial.response is not None else None
    if judgment is None or number >= len(judgment.passages):
        return "not judged"
    return str(judgment.passages[number])
