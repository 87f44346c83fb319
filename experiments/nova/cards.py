"""The proof's models probed without labels, side by side: does training mend what the base breaks?

The questions are those that earlier attempts asked, so that none is used up, in the windows that
the models were trained on. No label decides anything here.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.nova.choosing import choice_of
from experiments.nova.prepare import ASKED, SETS, short
from experiments.nova.running import LONGEST
from novarag.datasets import load_groups
from novarag.flows.group import write_groups
from novarag.noise.group_build import GroupBuild

if TYPE_CHECKING:
    from experiments.nova.running import Bench

ROOT = Path(__file__).parents[2]
GROUPS = "groups/probed.jsonl"
QUESTIONS = 150
DONE = "cards/done"
STOCK = "stock"  # held to the form, which it does not keep by itself


def cards(bench: Bench) -> None:
    """Probe the downloaded model, the warmed-up one and the chosen one, one server at a time."""
    if bench.has(DONE):
        return
    if not bench.has(GROUPS):
        _write_groups(bench.build)
    final = choice_of(bench.build, "final")
    if final is None:
        raise SystemExit("nothing is chosen yet, so nothing is probed")
    asked: list[str] = []
    for who in (STOCK, "warm", final):
        asked += ["--model", bench.address(who)]
        with bench.served(who):
            bench.run(
                sys.executable, "-m", "validation.probe_real", *asked, "--structured", STOCK,
                "--groups", bench.build / GROUPS, "--questions", QUESTIONS, "--out",
                bench.build / "cards", "--max-tokens", LONGEST["vanilla"],
                "--strategy", "vanilla", "--concurrency", 64, cwd=ROOT,
            )  # fmt: skip
    (bench.build / DONE).touch()


def _write_groups(build: Path) -> None:
    """Write every group of three passages of the questions that were asked before."""
    asked = set(ASKED.read_text().split())
    groups = [
        g for name in SETS for g in load_groups(build / "nova-clean" / f"{name}-test-k3.jsonl")
    ]
    known = short([g for g in groups if g.question.id in asked], Counter(), "probed")
    write_groups(GroupBuild(groups=known), build / GROUPS)
