"""What the command line ends with: one table, which the help and the docs show."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.errors import UnfinishedError


class ExitCode(IntEnum):
    """The codes that verbs end with; `train serve` ends with its server's."""

    DONE = 0
    INCOMPLETE = 1
    REFUSED = 2
    BROKEN = 3
    STOPPED = 130


MEANING = {
    ExitCode.DONE: "done",
    ExitCode.INCOMPLETE: "done, but for what the output names: requests that failed or are left, a"
    " shortcut, nothing kept, a file unlike its recipe, tables that need an index, files that"
    " are missing",
    ExitCode.REFUSED: "not done: a wrong call, file, folder or server, said in one line",
    ExitCode.BROKEN: "done, and what --fail-on names was found: a relation that is broken, an"
    " attack that succeeds; or a budget of compare is broken",
    ExitCode.STOPPED: "stopped by Ctrl-C; the same command goes on",
}
"""What each code says to whoever called."""


def epilogue() -> str:
    """Say all of it below the help."""
    listed = "; ".join(f"{code.value} {meaning}" for code, meaning in MEANING.items())
    return (
        f"Exit codes: {listed}. `train serve` ends with the code of its server."
        " NOVARAG_TRACEBACK=1 shows where an error was raised."
    )


def code_of(error: UnfinishedError) -> ExitCode:
    """Return the code of a verb that has something left to ask."""
    return ExitCode.STOPPED if error.stopped else ExitCode.INCOMPLETE
