"""What every adapter is held to: fifty groups with replies, settings, and the rules of a file."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path
from typing import NamedTuple

import novarag
from novarag.examples import simulated_pools
from novarag.flows.answerer import Answerer
from novarag.flows.calibrate import save_calibration
from novarag.flows.gate import save_gate
from novarag.integrations.core import ReplyScorer
from tests.support import live_parts

MOST_LINES = 60
FOLDER = Path(novarag.__file__).parent / "integrations"
SHARED = {"novarag.integrations.core", "novarag.integrations.send_answers"}
UNREADABLE = ("I am not sure.", "", "Answer: 12\nConfidence: very")


class Case(NamedTuple):
    """One question with its passages and what was replied."""

    question: str
    passages: list[str]
    reply: str


def cases(count=50):
    """Simulated replies, of which every eighth cannot be read."""
    groups = simulated_pools()[:count]
    assert len(groups) == count
    replies = asyncio.run(_replies(groups))
    for i in range(0, count, 8):
        replies[i] = UNREADABLE[i // 8 % len(UNREADABLE)]
    return [
        Case(g.question.text, [p.text for p in g.passages], reply)
        for g, reply in zip(groups, replies, strict=True)
    ]


async def _replies(groups):
    asked = Answerer("simulated:base")
    return [(await asked.answer_group_async(g)).trial.completion.text for g in groups]


def settings(folder):
    """Write a calibration and its gate; name them as an adapter's settings do."""
    made = live_parts.calibration()
    save_calibration(made, folder / "calibration.json")
    save_gate(live_parts.gate(0.6, made), folder / "gate.json")
    return {
        "calibration": str(folder / "calibration.json"),
        "gate": str(folder / "gate.json"),
    }


def expected(of, parts):
    """What the core says of each case: the numbers that every tool must show."""
    score = ReplyScorer(**parts)
    return [score(*case) for case in of]


def broken_rules(text):
    """List what keeps a text from being an adapter's file."""
    found = []
    if len(text.splitlines()) > MOST_LINES:
        found.append(f"more than {MOST_LINES} lines")
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            imported |= {str(node.module), *(f"{node.module}.{a.name}" for a in node.names)}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    ours = {name for name in imported if name.startswith("novarag.")}
    modules = {f"novarag.integrations.{path.stem}" for path in FOLDER.glob("*.py")}
    found += [f"imports {name}" for name in sorted((ours & modules) - SHARED)]
    if not ours & SHARED:
        found.append("does not score by novarag.integrations.core")
    return found
