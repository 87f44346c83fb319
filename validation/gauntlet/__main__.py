"""Read every table of the gauntlet, and hold what was read against its truth.

The first command is the one a person types; where it asks for something, the second has what the
first one printed. A table that is read otherwise than it was written is a silent misreading.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import click
import typer

from novarag.cli import app
from novarag.cli.tables import make_columns
from novarag.cli.translate import say_flag
from novarag.errors import NovaragError
from novarag.flows.answers import Answers, collect_answers
from novarag.metrics import measure_table
from novarag.tables.unsettled import UnsettledTable
from validation.gauntlet.make import MANIFEST, PLACE

NEAR = 1e-9
LEAST = 0.95


@dataclass(frozen=True)
class Outcome:
    """How a table fared: measured by which command, and whether it was read as it was written."""

    file: str
    command: int  # 0: not at all
    right: bool
    said: str


def options(words: list[str]) -> dict[str, Any]:
    """Parse the options of `novarag measure` as the command line does."""
    group = typer.main.get_command(app)
    verb = group.get_command(click.Context(group), "measure")  # type: ignore[attr-defined]
    given = verb.make_context("measure", ["x", *words], resilient_parsing=False).params
    fields = make_columns.__kwdefaults__ | {}
    from novarag.cli.tables import _OPTIONS

    return {name: given[name] for name in [*fields, *_OPTIONS] if name in given}


def take(table: dict[str, Any], words: list[str]) -> Answers:
    return collect_answers(str(PLACE / table["file"]), make_columns(**options(words)))


def agrees(found: Answers, truth: list[list[Any]]) -> bool:
    rows = found.table.select("confidence", "correct").rows()
    return len(rows) == len(truth) and all(
        _same(row[0], known[0]) and row[1] == known[1]
        for row, known in zip(rows, truth, strict=True)
    )


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) < NEAR


def run(table: dict[str, Any], truths: dict[str, list[list[Any]]]) -> Outcome:
    """Measure a table by its first command, or by the second that the first one printed."""
    truth, command, words = truths[table["truth"]], 1, list(table["first"])
    try:
        found = take(table, words)
    except NovaragError as error:
        said = error.words(say_flag) if isinstance(error, UnsettledTable) else str(error)
        second = table["second"]
        if not second or shlex.join(second) not in said:
            return Outcome(table["file"], 0, right=False, said=said)
        command, found = 2, take(table, [*words, *second])
    measure_table(found.table, replicates=100)
    return Outcome(table["file"], command, agrees(found, truth), "; ".join(found.taken))


def run_all() -> tuple[list[Outcome], list[Outcome]]:
    """Return the outcomes of tables that tools wrote, and of those made by hand."""
    known = json.loads(MANIFEST.read_text("utf-8"))
    done = {one["file"]: run(one, known["truths"]) for one in known["tables"]}
    hand = {one["file"] for one in known["tables"] if one["by_hand"]}
    return [o for f, o in done.items() if f not in hand], [o for f, o in done.items() if f in hand]


def main() -> None:
    by_tools, by_hand = run_all()
    for title, outcomes in (("by tools", by_tools), ("by hand", by_hand)):
        count = Counter(one.command for one in outcomes)
        wrong = [one for one in outcomes if one.command and not one.right]
        print(
            f"{title}: {len(outcomes)} tables, {count[1]} measured by the first command"
            f" ({count[1] / len(outcomes):.1%}), {count[2]} by the second, {count[0]} not at all,"
            f" {len(wrong)} misread"
        )
        for one in outcomes:
            if not one.right:
                print(f"  {one.file}: {one.said}")
    first = sum(one.command == 1 for one in by_tools)
    ok = first >= LEAST * len(by_tools) and all(one.right for one in [*by_tools, *by_hand])
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
