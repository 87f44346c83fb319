"""The verb that writes something to try the others on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def example(
    file: Annotated[
        Path,
        typer.Argument(
            help="File to write: .csv for answers, .jsonl for pools of passages, questions.jsonl"
            " for questions with their gold passages, .toml for a pipeline, gateway.toml for a"
            " gateway's settings."
        ),
    ] = Path("answers.csv"),
) -> None:
    """Write an example: answers, questions, pools of passages, or settings."""
    from novarag.flows.example import write_example

    made = write_example(file)
    match made.holds:
        case "pipeline":
            then = f"name your model and questions in it, then novarag train build {file}"
            print(f"wrote {file}; next: {then}")
            print(f"without a model: novarag train build {file} --rehearse")
        case "gateway":
            then = f"name your model in it, then novarag gateway serve {file} --check"
            print(f"wrote {file}; next: {then}")
        case "questions":
            then = "novarag example pipeline.toml"
            print(f"wrote {file}: {made.rows} simulated questions; next: {then}")
        case "pools":
            then = f"novarag train group {file} --out groups.jsonl"
            print(f"wrote {file}: {made.rows} simulated questions with passages; next: {then}")
        case _:
            then = f"novarag measure {file} --by system --out report"
            print(f"wrote {file}: {made.rows} simulated answers; next: {then}")
