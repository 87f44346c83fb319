"""The options of every verb that reads a table of answers, said once.

A verb takes `columns: Columns`; `@reads_tables()` puts the options in its place, and builds it.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from novarag.answers.opening.columns import Columns
from novarag.cli.expansion import expand
from novarag.records import NumberScale

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

TABLES = (
    "CSV, TSV, JSONL, JSON, Parquet, Excel, logs, exports of evaluation tools, a folder of them, or"
    " - for standard input; or folders of runs."
)
"""What a table may be, for the help of arguments."""

_STDIN = "-"


def _listed(help_text: str, *names: str) -> Any:  # noqa: ANN401 - an annotation
    return Annotated[list[str] | None, typer.Option(*names, help=f"{help_text}; comma-separated.")]


_OPTIONS: dict[str, Any] = {
    "confidence": Annotated[
        str,
        typer.Option(help="Column with the confidence: 0.85, 85%, 0,85 or 85; empty where unread."),
    ],
    "correct": Annotated[
        str,
        typer.Option(
            help="Column that says whether the answer is right: true/false, 1/0, yes/no, up/down,"
            " thumbs, ticks, right/wrong."
        ),
    ],
    "question": Annotated[
        str | None,
        typer.Option(
            help="Column that names the question; default 'question', else each row is its own."
        ),
    ],
    "percent": Annotated[
        bool, typer.Option("--percent", help="Bare numbers of the confidence column are 0 to 100.")
    ],
    "out_of": Annotated[
        float | None, typer.Option(help="What bare confidences are parts of: 1, 5, 10, 100, ….")
    ],
    "mixed": Annotated[
        bool, typer.Option("--mixed", help="0.85 and 85 both mean 85 % in the confidence column.")
    ],
    "values": _listed("What single confidences mean, such as high=90%", "--value"),
    "unread": _listed("Values that mark an unread reply, such as -1; * is all that is none"),
    "right": _listed("Values that mean right, such as 4,5 or >=0.5; others are wrong"),
    "wrong": _listed("Values that mean wrong; without --right others are right"),
    "ungraded": _listed("Values of answers that nobody graded"),
    "decimal_comma": Annotated[
        bool,
        typer.Option(
            "--decimal-comma", help="Confidences such as 0,85 stand without quotes in a comma file."
        ),
    ],
    "reply": Annotated[
        str | None,
        typer.Option(help="Column with raw replies, read with --reader instead of --confidence."),
    ],
    "scale": Annotated[
        NumberScale | None,
        typer.Option(help="What a bare number in a reply means: 0%-100%, 0-100 or 0-1."),
    ],
    "gold": Annotated[
        str | None, typer.Option(help="Column with accepted answers, graded instead of --correct.")
    ],
    "answer": Annotated[
        str, typer.Option(help="Column with the answer, for --gold without --reply.")
    ],
    "state": Annotated[
        str | None,
        typer.Option(help="Column with the evidence state; default 'evidence' where there is one."),
    ],
    "signal": Annotated[
        str | None,
        typer.Option(
            help="Column with one more number that may tell right from wrong, such as the"
            " likelihood of the answer; it counts only where it helps."
        ),
    ],
    "scores": Annotated[
        list[str] | None,
        typer.Option(
            "--score",
            metavar="NAME[:lower|:higher]",
            help="A score that may tell right from wrong, of any unit: a column, or a path into"
            " JSON inside cells, such as metadata.score; may be repeated, or"
            " comma-separated. It needs no stated confidence beside it.",
        ),
    ],
    "weight": Annotated[
        str | None,
        typer.Option(
            help="Column that says how many answers a row stands for; default 'weight' where there"
            " is one."
        ),
    ],
}
"""The option of each field of `Columns`; its default is the field's, and nothing for a list."""
for _kind in _OPTIONS.values():
    _kind.__metadata__[0].rich_help_panel = "What the table holds"

GRADES = frozenset({"correct", "right", "wrong", "ungraded", "gold", "weight", "signal"})
"""The fields that say whether answers are right, or are fitted to that."""


def reads_tables(
    *,
    without: frozenset[str] = frozenset(),
    **others: Any,  # noqa: ANN401 - annotations
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Put the options of `Columns` in the place of a verb's parameter `columns`.

    A verb may leave options out, or describe some of them otherwise.
    """
    options = {
        field.name: (others.get(field.name, _OPTIONS[field.name]), _default(field))
        for field in fields(Columns)
        if field.name not in without
    }
    return expand("columns", options, make_columns)


def _default(field: Field[Any]) -> object:
    """Return the default of a field; a list or a mapping is None at a shell, where it is empty."""
    plain = isinstance(field.default, (str, bool)) or field.default is None
    return field.default if plain else None


def make_columns(
    *,
    values: list[str] | None = None,
    unread: list[str] | None = None,
    right: list[str] | None = None,
    wrong: list[str] | None = None,
    ungraded: list[str] | None = None,
    scores: list[str] | None = None,
    **fields: Any,  # noqa: ANN401 - the options as they are
) -> Columns:
    """Build the record of columns from options."""
    return Columns(
        values=dict(map(_meaning, _parts(values))),
        unread=_parts(unread),
        right=_parts(right),
        wrong=_parts(wrong),
        ungraded=_parts(ungraded),
        scores=_parts(scores),
        **fields,
    )


def _parts(given: list[str] | None) -> tuple[str, ...]:
    """Split lists at commas; a part that holds one stands in quotes, as in CSV."""
    rows = csv.reader(given or [], skipinitialspace=True)
    return tuple(part.strip() for row in rows for part in row if part.strip())


def _meaning(text: str) -> tuple[str, float]:
    """Read `high=90%`."""
    from novarag.cli.shares import parse_share

    value, found, share = text.rpartition("=")
    if not found:
        raise typer.BadParameter(f"{text!r} names no share; write high=90%.")
    return value, parse_share(share, whole=True)


def given_tables(places: list[str] | list[Path]) -> list[str | Path | BinaryIO]:
    """Return tables as they were named; - is standard input."""
    return [sys.stdin.buffer if str(place) == _STDIN else place for place in places]
