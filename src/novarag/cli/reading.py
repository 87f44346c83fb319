"""The verbs that need no model: render a prompt, read a reply, write an example."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.atomic import write_whole
from novarag.cli.common import ReaderName, ScaleName, StrategyName
from novarag.errors import UsageError
from novarag.strategies import find_labels, find_strategy

if TYPE_CHECKING:
    from novarag.records import Reading


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
    from novarag.datasets import load_groups
    from novarag.examples import EXAMPLE_GROUP

    chosen = find_strategy(strategy)
    for one in load_groups(group) if group else [EXAMPLE_GROUP]:
        prompt = chosen.render(one)
        sys.stdout.write(prompt.text)
        if show_hash:
            print(f"template {prompt.template_hash}\nprompt   {prompt.hash}", file=sys.stderr)


def read_reply(
    strategy: ReaderName = "nova",
    k: Annotated[
        int | None, typer.Option("--k", min=0, help="How many passages the prompt showed.")
    ] = None,
    scale: ScaleName = None,
) -> None:
    """Read a reply on standard input and print what was read as one JSON object."""
    from novarag.strategies import read

    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    print(json.dumps(_reading(read(text, find_labels(strategy, scale), k=k)), ensure_ascii=False))


def _reading(reading: Reading) -> dict[str, object]:
    judgment = reading.judgment
    return {
        "answer": reading.answer,
        "confidence": reading.confidence,
        "judgment": judgment and {"passages": judgment.passages, "group": judgment.group},
        "flaw": reading.flaw,
        "remarks": reading.remarks,
        "spans": reading.spans,
    }


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
    from novarag.examples import simulated_answers, simulated_pools

    if file.suffix not in {".csv", ".jsonl", ".toml"}:
        raise UsageError(f"{file} must end in .csv for answers, .jsonl for pools, .toml for builds")
    if file.exists():
        raise UsageError(f"{file} exists already; name another file")
    if file.suffix == ".toml":
        from importlib.resources import files

        shipped = files("novarag").joinpath("presets", "build", "example.toml")
        write_whole(file, shipped.read_bytes())
        print(f"wrote {file}; next: name your model and questions in it, then novarag build {file}")
        return
    if file.suffix == ".jsonl":
        from novarag.datasets.groups import group_line

        pools = simulated_pools()
        write_whole(file, b"".join(map(group_line, pools)))
        then = f"novarag group {file} --out groups.jsonl"
        print(f"wrote {file}: {len(pools)} simulated questions with passages; next: {then}")
        return
    write_whole(file, simulated_answers().encode("utf-8"))
    then = f"novarag measure {file} --by system --out report"
    print(f"wrote {file}: 480 simulated answers; next: {then}")
