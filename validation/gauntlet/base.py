"""The answers that every table of the gauntlet holds, and the ways to write their cells.

Nothing but the standard library: the tools that write tables live in environments of their own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROWS = 54
PLACE = Path("tests/gauntlet")


@dataclass(frozen=True)
class Answer:
    question: str
    said: str
    confidence: float | None
    correct: bool | None


def answers(*, holes: bool = False) -> list[Answer]:
    """Answers with confidences of two places; with holes, some are unread and some ungraded."""
    rng = random.Random("gauntlet")
    made = []
    for i in range(ROWS):
        share = rng.choice([0, 2, 5, *range(10, 100), 100, 95, 90, 80, 70]) / 100
        right = rng.random() < 0.3 + 0.5 * share
        question = f"Who built house {i}, the «große» one; and when?"
        made.append(
            Answer(
                question,
                f'Ada, "{i}"',
                None if holes and i % 9 == 4 else share,
                None if holes and i % 11 == 7 else right,
            )
        )
    return made


def truth(rows: list[Answer]) -> list[list[Any]]:
    return [[row.confidence, row.correct] for row in rows]


# --- cells ---------------------------------------------------------------------------------------

Style = Callable[[float], Any]
STATED: dict[str, Style] = {
    "fraction": lambda c: f"{c:g}",
    "bare point": lambda c: f"{c:.2f}".removeprefix("0") if c < 1 else "1",
    "percent": lambda c: f"{100 * c:.0f}%",
    "percent, space": lambda c: f"{100 * c:.0f} %",
    "percent, comma": lambda c: f"{100 * c:.1f}%".replace(".", ","),
    "hundred": lambda c: f"{100 * c:.0f}",
    "comma": lambda c: f"{c:.2f}".replace(".", ","),
    "ratio": lambda c: f"{100 * c:.0f}/100",
    "float": lambda c: c,
    "float hundred": lambda c: round(100 * c, 6),
}
GRADED: dict[str, tuple[Any, Any]] = {
    "true": ("true", "false"),
    "True": ("True", "False"),
    "T": ("T", "F"),
    "1": ("1", "0"),
    "yes": ("yes", "no"),
    "up": ("up", "down"),
    "thumbs up": ("Thumbs Up", "Thumbs Down"),
    "thumb": ("\U0001f44d", "\U0001f44e"),
    "thumb, tone": ("\U0001f44d\U0001f3fd", "\U0001f44e\U0001f3fb"),
    "tick": ("\u2713", "\u2717"),
    "green tick": ("\u2705", "\u274c"),
    "right": ("right", "wrong"),
    "correct": ("correct", "incorrect"),
    "pass": ("PASS", "FAIL"),
    "bool": (True, False),
    "int": (1, 0),
    "+1": ("+1", "-1"),
}


def cells(
    rows: list[Answer], stated: str, graded: str, *, empty: Any = ""
) -> list[tuple[Any, Any, Any, Any]]:
    """Rows as question, answer, confidence and grade, in one spelling."""
    yes, no = GRADED[graded]
    spell = STATED[stated]
    return [
        (
            row.question,
            row.said,
            empty if row.confidence is None else spell(row.confidence),
            empty if row.correct is None else (yes if row.correct else no),
        )
        for row in rows
    ]


def stars(rows: list[Answer]) -> list[Any]:
    """Five stars: four and five for what is right, the others for what is wrong."""
    rng = random.Random("stars")
    return [
        None if row.correct is None else rng.choice([4, 5] if row.correct else [1, 2, 3])
        for row in rows
    ]


HEAD = ("question", "answer", "confidence", "thumbs")


@dataclass(frozen=True)
class Entry:
    """A table: who writes it, how it is measured, and what it truly holds.

    `first` are the arguments behind the name of the file; `second` those that the first command
    prints and that settle it, where the table itself does not. `truth` names the answers it holds.
    """

    file: str
    tool: str
    command: str
    make: Callable[[Path], None]
    first: tuple[str, ...] = ("--correct", "thumbs")
    second: tuple[str, ...] = ()
    truth: str = "plain"
    by_hand: bool = False
    expect: tuple[str, ...] = field(default=())
