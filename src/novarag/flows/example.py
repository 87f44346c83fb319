"""Examples to try the other verbs on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.atomic import whole_file
from novarag.errors import UsageError

if TYPE_CHECKING:
    from novarag.records import PassageGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleFile:
    """An example file; `holds` is "answers", "questions", "pools", "pipeline" or "gateway".

    `rows` says how many.
    """

    path: Path
    holds: str
    rows: int


def write_example(file: str | Path = "answers.csv") -> ExampleFile:
    """Write an example: answers, questions, pools of passages, or settings.

    Answers, questions and pools are simulated.

    Args:
        file: The file to write, whose name says what it holds: .csv for answers, .jsonl for pools
            of passages, questions.jsonl for questions with their gold passages, .toml for a
            pipeline, gateway.toml for the settings of a gateway. A file that is there already is
            left alone, with an error.
    """
    path = Path(file)
    kind = path.name if path.name in _EXAMPLES else path.suffix
    if kind not in _EXAMPLES:
        raise UsageError(
            f"{path} must end in .csv for answers, .jsonl for pools, .toml for builds, or be named"
            " questions.jsonl or gateway.toml"
        )
    if path.exists():
        raise UsageError(f"{path} exists already; name another file")
    holds, make = _EXAMPLES[kind]
    content, rows = make()
    with whole_file(path) as out:
        out.write(content)
    return ExampleFile(path=path, holds=holds, rows=rows)


def _answers() -> tuple[bytes, int]:
    from novarag.examples import simulated_answers

    text = simulated_answers()
    return text.encode(), text.count("\n") - 1


def _questions() -> tuple[bytes, int]:
    from novarag.examples import simulated_questions

    return _lines(simulated_questions())


def _pools() -> tuple[bytes, int]:
    from novarag.examples import simulated_pools

    return _lines(simulated_pools())


def _lines(groups: list[PassageGroup]) -> tuple[bytes, int]:
    from novarag.datasets.groups import group_lines

    return group_lines(groups), len(groups)


def _pipeline() -> tuple[bytes, int]:
    return _shipped("build", "example.toml"), 1


def _gateway() -> tuple[bytes, int]:
    return _shipped("gateway", "gateway.toml"), 1


def _shipped(folder: str, name: str) -> bytes:
    from importlib.resources import files

    return files("novarag").joinpath("presets", folder, name).read_bytes()


_EXAMPLES = {
    ".csv": ("answers", _answers),
    ".jsonl": ("pools", _pools),
    ".toml": ("pipeline", _pipeline),
    "questions.jsonl": ("questions", _questions),
    "gateway.toml": ("gateway", _gateway),
}
