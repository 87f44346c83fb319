"""The verb that prints a prompt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from novarag.cli.options import StrategyName


def render(
    group: Annotated[
        Path | None,
        typer.Argument(
            help="Question and passages: one in .json, many in .jsonl, .parquet or .csv; left"
            " out, an example."
        ),
    ] = None,
    strategy: StrategyName = "nova",
    show_hash: Annotated[
        bool, typer.Option("--hash", help="Print the hashes of template and prompt to stderr.")
    ] = False,
) -> None:
    """Print the prompt that a strategy makes of a question and its passages."""
    from novarag.flows.render import render as rendered

    for prompt in rendered(group, strategy):
        sys.stdout.write(prompt.text)
        if show_hash:
            print(f"template {prompt.template_hash}\nprompt   {prompt.hash}", file=sys.stderr)
