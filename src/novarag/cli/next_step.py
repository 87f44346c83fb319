"""What to type next: the last lines of a verb, on standard error, made of what was typed before."""

from __future__ import annotations

import sys
from dataclasses import fields
from shlex import quote
from typing import TYPE_CHECKING

from novarag.cli.tables import GRADES
from novarag.cli.translate import say_flag

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from novarag.answers.opening.columns import Columns

ASKED = '"QUESTION" --passages FILE --model URL=NAME'
"""What `novarag answer` wants; capitals are for the reader to fill in."""


def print_next_step(command: str, *why: str) -> None:
    """Print a command that leads on, and below it what it does."""
    sys.stdout.flush()  # what leads on is read last, also where both go into one file
    for lead, line in zip(("next: ", *["      "] * len(why)), (command, *why), strict=True):
        print(lead + line, file=sys.stderr)


def table_words(
    places: Sequence[str | Path],
    columns: Columns,
    *,
    reader: str = "nova",
    without: Collection[str] = (),
) -> str | None:
    """Say tables and their columns as they were said; None where they cannot be read again."""
    if any(str(place) == "-" for place in places):
        return None
    plain = type(columns)()
    changed = [
        say_flag(field.name, getattr(columns, field.name))
        for field in fields(columns)
        if field.name not in without and getattr(columns, field.name) != getattr(plain, field.name)
    ]
    named = [f"--reader {quote(reader)}"] if reader != "nova" else []
    return " ".join([*(quote(str(place)) for place in places), *changed, *named])


def pick_more(places: Sequence[str | Path], columns: Columns, *, reader: str = "nova") -> None:
    """Lead to more graded answers."""
    words = table_words(places, columns, reader=reader, without=GRADES)
    if words is not None:
        print_next_step(
            f"novarag grading pick {words} --out sheet", "draws answers to grade, and a page for it"
        )
