"""`novarag compare`: is a change worse than what it changes, by more than its budgets?"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import screen
from novarag.cli.exit_codes import ExitCode
from novarag.cli.options import ReaderName
from novarag.cli.tables import TABLES, given_tables, reads_tables
from novarag.defaults import COMPARE, MEASURE

if TYPE_CHECKING:
    from novarag.answers.opening.columns import Columns

# A budget as it is typed: brier=0.02, accuracy=2%.
_BUDGET = re.compile(r"([a-z_0-9]{1,30})\s*=\s*([0-9]{0,3}(?:\.[0-9]{1,9})?)\s{0,3}(%?)", re.ASCII)


@reads_tables(without=frozenset({"weight", "signal", "state"}))
def compare(
    new: Annotated[
        list[Path],
        typer.Argument(help=f"The new result: graded answers ({TABLES}) or the folder of a probe."),
    ],
    columns: Columns,
    old: Annotated[
        list[Path] | None,
        typer.Option("--with", help="The old result, of the same kinds; may be repeated."),
    ] = None,
    commit: Annotated[
        str | None,
        typer.Option(help="Instead: a commit or branch of git that holds the same files."),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="By how much a figure may be worse, such as brier=0.02, auroc=0.03, accuracy=2% or"
            f" unread=1%; may be repeated. Default brier={COMPARE.brier:g}, and always"
            f" unread={COMPARE.unread:g}."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Column whose groups are held to the budgets, too; may be repeated."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="What there are too few questions to tell fails, too.")
    ] = False,
    reader: ReaderName = "nova",
    out: Annotated[
        Path | None, typer.Option(help="Folder for comment.md, junit.xml and compare.json.")
    ] = None,
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = MEASURE.replicates,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = MEASURE.seed,
) -> None:
    """Hold a new result against an old one: code 3 where it is worse by more than its budgets."""
    from novarag.flows.compare import compare as flow
    from novarag.report.comparison import comparison_lines

    limits = dict(map(_parse_budget, budget or ()))
    with screen() as on_event:
        found = flow(
            given_tables(new), None if old is None else given_tables(old), commit=commit,
            budgets=limits, by=by or (), strict=strict, columns=columns,
            reader=reader, out=out, replicates=replicates, seed=seed, on_event=on_event,
        )  # fmt: skip
    for line in comparison_lines(found):
        print(f"- {line}")
    sys.exit(ExitCode.BROKEN if found.fails else ExitCode.DONE)


def _parse_budget(text: str) -> tuple[str, float]:
    """Read a budget: a name, and a number or a percentage.

    >>> _parse_budget("brier=0.02"), _parse_budget("accuracy = 2 %")
    (('brier', 0.02), ('accuracy', 0.02))
    """
    found = _BUDGET.fullmatch(text.strip())
    if found is None or not found[2]:
        raise typer.BadParameter(
            f"{text!r} is no budget; write a figure and by how much it may be worse, such as"
            " brier=0.02."
        )
    return found[1], float(found[2]) / (100 if found[3] else 1)
