"""The options of verbs that take feedback from a gateway's audit instead of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.translate import said
from novarag.errors import UsageError
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

FromAudit = Annotated[
    Path | None,
    typer.Option(
        metavar="<settings>",
        help="Take the feedback in the audit of this gateway (its settings file) instead of a"
        " table; --model names one of its models. The result is proposed beside what is in"
        " force.",
    ),
]
Since = Annotated[
    str | None, typer.Option(help="With --from-audit: the first day (UTC), such as 2026-01-31.")
]
Until = Annotated[
    str | None, typer.Option(help="With --from-audit: the last day (UTC), whole; default now.")
]


def needed(answers: object, out: object) -> None:
    """Refuse a call that names neither a table with its `out` nor an audit."""
    if not answers:
        raise UsageError("name a table of graded answers, or give --from-audit")
    if out is None:
        raise UsageError("give --out: the file to write")


def audited_model(model: str | None, answers: object) -> str:
    """Return the model of a settings file; a table beside it is one too many."""
    if answers:
        raise UsageError("give tables of answers, or --from-audit; not both")
    if model is None:
        raise UsageError("--from-audit needs --model: a model of the settings file")
    return model


def print_lines(lines: Iterable[str]) -> None:
    """Print sentences as a list."""
    for line in lines:
        print(f"- {said(plain_text(line, longest=1000))}")
