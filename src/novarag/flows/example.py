"""Examples to try the other verbs on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from novarag.atomic import whole_file
from novarag.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleFile:
    """An example file; `holds` is "answers", "pools", "pipeline" or "gateway", `rows` how many."""

    path: Path
    holds: str
    rows: int


def write_example(file: str | Path = "answers.csv") -> ExampleFile:
    """Write an example: answers, pools of passages, a pipeline, or settings of a gateway.

    Answers and pools are simulated.

    Args:
        file: The file to write, whose name says what it holds: .csv for answers, .jsonl for pools
            of passages, .toml for a pipeline, gateway.toml for the settings of a gateway. A file
            that is there already is left alone, with an error.
    """
    path = Path(file)
    kind = path.name if path.name in _EXAMPLES else path.suffix
    if kind not in _EXAMPLES:
        raise UsageError(
            f"{path} must end in .csv for answers, .jsonl for pools, .toml for builds, or be named"
            " gateway.toml"
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


def _pools() -> tuple[bytes, int]:
    from novarag.datasets.groups import group_lines
    from novarag.examples import simulated_pools

    pools = simulated_pools()
    return group_lines(pools), len(pools)


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
    "gateway.toml": ("gateway", _gateway),
}
