"""What a look before asking costs: CPU seconds of `--dry-run`, and how they grow with the groups.

Groups are made up by seed. A command is run whole, as a user runs it, and its CPU seconds are held
against a limit; how they grow is measured within one process, so that the time that imports take
cannot hide it. Usage: python -m validation.dry_runs
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.attacks import screen_text
from novarag.flows.attack.attack import preview_attack
from novarag.flows.probe.probe import preview_probe
from novarag.seeding import rng_for
from tests.support.growth import slope

if TYPE_CHECKING:
    from collections.abc import Callable

PROBED, ATTACKED = 10_000, 1_000
PROBE_SECONDS, ATTACK_SECONDS, STEEPEST = 10.0, 30.0, 1.15
TRIES = 5
MODEL = "simulated:base"
_WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("la", "ren", "tos", "m")]


def write_groups(path: Path, count: int, *, passages: int = 3, words: int = 90) -> None:
    """Write made-up groups: each answer stands in the passages of its own question alone."""
    rng = rng_for(33, "dry runs")
    with path.open("w", encoding="utf-8") as lines:
        for i in range(count):
            answer = f"Ort {i}"
            texts = [
                " ".join([answer, *rng.choices(_WORDS, k=words), str(j)]) for j in range(passages)
            ]
            asked = " ".join(rng.choices(_WORDS, k=9)) + "?"
            row = {"id": f"q{i}", "question": asked, "answers": [answer], "passages": texts}
            lines.write(json.dumps(row) + "\n")


def command_seconds(*arguments: str) -> float:
    """Run the command and return the CPU seconds of its process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "novarag", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"novarag {arguments[0]} ended with {done.returncode}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def growth(preview: Callable[[Path], object], folder: Path, top: int) -> dict[int, float]:
    """Return the CPU seconds of looking at groups of three sizes, the least of five tries each.

    Whatever else the machine does only adds to a try; sizes take turns, so that it adds to all.
    """
    sizes = (top // 4, top // 2, top)
    for size in sizes:
        write_groups(folder / f"{top}-{size}.jsonl", size)
    preview(folder / f"{top}-{sizes[0]}.jsonl")  # loads what is loaded once
    found: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(TRIES):
        for size, tries in found.items():
            screen_text.cache_clear()
            began = time.process_time()
            preview(folder / f"{top}-{size}.jsonl")
            tries.append(time.process_time() - began)
    return {size: min(tries) for size, tries in found.items()}


def _claim(holds: bool, text: str) -> bool:
    print(f"{'ok  ' if holds else 'MISS'}  {text}")
    return holds


def _within(name: str, groups: int, seconds: float, most: float) -> bool:
    text = f"{name} --dry-run of {groups:,} groups: {seconds:.1f} CPU-s, at most {most:.0f}"
    return _claim(seconds <= most, text)


def _grows(name: str, work: dict[int, float]) -> bool:
    sizes = ", ".join(f"{size:,}: {seconds:.2f}" for size, seconds in work.items())
    text = f"{name}: slope {slope(work):.2f}, at most {STEEPEST} (CPU-s of {sizes})"
    return _claim(slope(work) <= STEEPEST, text)


def main() -> int:
    """Measure both commands, and say whether they keep their limits."""
    print(f"{os.cpu_count()} cores, shared")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        held = []
        for verb, count, most, preview in (
            ("probe", PROBED, PROBE_SECONDS, partial(preview_probe, model=MODEL)),
            ("attack", ATTACKED, ATTACK_SECONDS, preview_attack),
        ):
            held.append(_grows(verb, growth(preview, folder, count)))
            given = ["--model", MODEL, "--out", str(folder / verb), "--dry-run"]
            seconds = command_seconds(verb, str(folder / f"{count}-{count}.jsonl"), *given)
            held.append(_within(verb, count, seconds, most))
    return 0 if all(held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
