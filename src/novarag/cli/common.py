"""Options that mean the same in several verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from novarag.strategies.confidence import Scale

OURS = "vanilla, cot, multi-step, noise-aware, nova, label-only, closed-book, top-k"
PAPERS = "vanilla-paper, cot-paper, multi-step-paper, noise-aware-paper, nova-paper"
PRESETS = "guess-probability, answer-tags, probability-yes"
StrategyName = Annotated[
    str,
    typer.Option("--strategy", "-s", help=f"{OURS}; {PAPERS}; or package.module:OBJECT."),
]
ReaderName = Annotated[
    str,
    typer.Option(
        "--strategy",
        "-s",
        help=f"How the reply is laid out: {OURS}; other formats: {PRESETS};"
        " or package.module:OBJECT.",
    ),
]
ScaleName = Annotated[
    Scale | None,
    typer.Option(help="What a bare number in a reply means: 0%-100%, 0-100 or 0-1."),
]
