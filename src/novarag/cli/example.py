"""The verb that writes something to try the others on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def example(
    file: Annotated[
        Path,
        typer.Argument(
            help="File to write: .csv for answers, .jsonl for pools of passages, .toml for a"
            " pipeline."
        ),
    ] = Path("answers.csv"),
) -> None:
    """Write an example: answers to `measure`, pools to `group`, or a pipeline to `build`."""
    from novarag.flows.example import write_example

    made = write_example(file)
    match made.holds:
        case "pipeline":
            then = f"name your model and questions in it, then novarag build {file}"
            print(f"wrote {file}; next: {then}")
        case "pools":
            then = f"novarag group {file} --out groups.jsonl"
            print(f"wrote {file}: {made.rows} simulated questions with passages; next: {then}")
        case _:
            then = f"novarag measure {file} --by system --out report"
            print(f"wrote {file}: {made.rows} simulated answers; next: {then}")
