"""`novarag answer`: one question at a desk."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import bar, interval_bar
from novarag.cli.next_step import print_next_step
from novarag.cli.options import (
    OURS,
    PAPERS,
    KeyEnv,
    LabelFrame,
    MaxTokens,
    OtherSource,
    Seed,
    Servers,
    StructuredReply,
    Temperature,
    Timeout,
)
from novarag.cli.translate import said
from novarag.formatting import span, whole_percent
from novarag.runner.access import INTERACTIVE_ACCESS
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from novarag.records import PassageGroup
    from novarag.scoring import Answer

_MARGIN = 12  # characters of the names of rows, of which Confidence is the longest

_WHY = {
    "conflicting": "passages that bear on the question contradict each other",
    "consistent": "a passage answers the question and none contradicts it",
    "insufficient": "no passage answers the question; the model falls back on what it knows",
}


def answer(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    model: Servers,
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
            " By default nova.",
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="What `novarag calibrate` wrote: the confidence becomes a probability with an"
            " interval."
        ),
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(help="What `novarag gate` wrote: decides whether the answer may be given."),
    ] = None,
    other_source: OtherSource = False,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    seed: Seed = None,
    frame: LabelFrame = False,
    structured: StructuredReply = True,
    timeout: Timeout = INTERACTIVE_ACCESS.timeout,
    key_env: KeyEnv = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
    show_reply: Annotated[
        bool, typer.Option("--show-reply", help="Print the whole replies below.")
    ] = False,
) -> None:
    """Answer one question beside its passages: answer, confidence, evidence, decision."""
    from dataclasses import replace

    from novarag.calls import Sampling
    from novarag.flows.answer import answer_by_each
    from novarag.flows.answerer import make_group
    from novarag.strategies import find_strategy

    found = [find_strategy(name) for name in strategy or ["nova"]]
    group = make_group(question, passages or ())
    answers = answer_by_each(
        group,
        found,
        model,
        calibration=calibration,
        gate=gate,
        sampling=Sampling(temperature=temperature or 0.0, max_tokens=max_tokens, seed=seed),
        frame=frame,
        structured=structured,
        other_source=other_source,
        access=replace(INTERACTIVE_ACCESS, timeout=timeout, key_env=key_env),
    )
    if as_json:
        print(json.dumps([_facts(one) for one in answers], ensure_ascii=False, indent=2))
        return
    closed = {s.name for s in found if "passages" not in s.template.pieces[1::2]}
    for line in screen(
        group, answers, closed=closed, width=shutil.get_terminal_size((100, 40)).columns
    ):
        print(line)
    if show_reply:
        for one in answers:
            print(f"\n— {one.trial.strategy} —")
            for line in one.trial.completion.text.splitlines():
                print(plain_text(line, longest=10_000))
    _lead_on(calibration, gate)


def _lead_on(calibration: Path | None, gate: Path | None) -> None:
    """Say what would make this answer one to act on, or how an app asks the same."""
    kept = (
        f" --calibration {quote(str(calibration))}" if calibration else " --split calibration.json"
    )
    if gate is None:
        print_next_step(
            f"novarag gate GRADED.csv --risk 10%{kept} --out gate.json",
            "from answers that were graded: when such an answer may be given",
        )
        return
    parts = {"calibration": calibration, "gate": gate}
    named = "".join(f", {name}={str(path)!r}" for name, path in parts.items() if path)
    print_next_step(f"from Python: novarag.answer(question, passages, model{named})")


def _facts(answer: Answer) -> dict[str, object]:
    completion = answer.trial.completion
    return {
        "strategy": answer.trial.strategy,
        "model": completion.model,
        "question": answer.question,
        **answer.to_dict(),
        "reason": said(answer.reason),
        "notes": [said(note) for note in answer.notes],
        "reply": completion.text,
        "reasoning": completion.reasoning,
    }


def screen(
    group: PassageGroup, answers: Sequence[Answer], *, width: int, closed: Collection[str] = ()
) -> list[str]:
    """Lay out answers to one group side by side; `closed` strategies show no passages."""
    width = min(max(width, 40), 160)
    column = max((width - _MARGIN) // len(answers), 20)
    asked = plain_text(group.question.text, longest=1000)
    lines = [*_row("Question", [asked], width - _MARGIN), ""]
    lines += _row("", [one.trial.strategy for one in answers], column)
    for name, cell in _ROWS.items():
        cells = [cell(one) for one in answers]
        lines += _row(name, [text or "—" for text in cells], column) if any(cells) else []
    for number, passage in enumerate(group.passages):
        hidden = "not shown to the model"
        judged = [hidden if a.trial.strategy in closed else _judged(a, number) for a in answers]
        lines += ["", *_row(f"Passage {number + 1}", judged, column)]
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


def _answer(answer: Answer) -> str:
    if answer.answer is None:
        ending = plain_text(" ".join(answer.trial.completion.text.split())[-120:])
        return f"(could not be read: {answer.flaw}) … {ending}"
    return plain_text(answer.answer, longest=400)


def _stated(answer: Answer) -> str:
    if not answer.calibrated or answer.stated is None:
        return ""
    return f"{whole_percent(answer.stated)} {bar(answer.stated, 10)}"


def _confidence(answer: Answer) -> str:
    if answer.confidence is None:
        return "—"
    if answer.interval is None:
        return f"{whole_percent(answer.confidence)} {bar(answer.confidence, 10)}"
    low, high = answer.interval
    drawn = interval_bar(answer.confidence, low, high)
    ends = span(low, high, whole_percent)
    return f"{whole_percent(answer.confidence)} {drawn} {ends}, calibrated"


def _evidence(answer: Answer) -> str:
    if answer.evidence is None:
        return "not stated"
    return f"{answer.evidence}: {_WHY[answer.evidence]}"


def _decision(answer: Answer) -> str:
    if answer.decision is None:
        return ""
    return f"{answer.decision}: {plain_text(said(answer.reason), longest=400)}"


def _notes(answer: Answer) -> str:
    return "; ".join(plain_text(said(note), longest=300) for note in answer.notes)


_ROWS: dict[str, Callable[[Answer], str]] = {
    "Answer": _answer,
    "Stated": _stated,
    "Confidence": _confidence,
    "Evidence": _evidence,
    "Decision": _decision,
    "Note": _notes,
}
"""The rows of the screen; one that is empty for every answer is left out."""


def _judged(answer: Answer, number: int) -> str:
    if answer.judgments is None or number >= len(answer.judgments):
        return "not judged"
    return str(answer.judgments[number])
