"""Everything novarag raises on purpose.

* NovaragError
  x UsageError           the caller asked for something impossible
    + UnknownNameError   no dataset / strategy / metric by that name
  x DataError            a file or a row of it does not say what it must
    + UnsettledTable     cells of a table may mean two things; has all of them (in `answers`)
  x ServiceError         an LLM or a retriever failed; `retryable` says whether to try again
    + CallError          one request failed for good; knows its outcome (in `calls`)
  x StorageError         a run cannot be written to, or belongs to somebody else
  x UnfinishedError      a verb was stopped, or its server failed; the same call goes on

A reply that cannot be read is not an error: it is a `Reading` with a flaw.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from novarag.prose import Prose, say

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self


class NovaragError(Exception):
    """Base class: catch this to catch anything we raise deliberately."""

    @classmethod
    def saying(cls, template: str, /, *values: object) -> Self:
        """Make the error of a message that names parameters or calls, as `say` writes it."""
        return cls(say(template, *values))

    @property
    def prose(self) -> Prose:
        """The message, with the parameters and calls that it names."""
        return Prose(*self.args[:1])


class UsageError(NovaragError):
    """The caller asked for something impossible.

    `parameter` is the one at fault: by default the first that the message names, None where it
    names none.
    """

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter or self.prose.parameter


class UnknownNameError(UsageError):
    """No entry by that name in one of the tables."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name = name
        self.known = sorted(known)
        super().__init__(f"{name!r} is not one of {', '.join(self.known)}")

    def __reduce__(self) -> tuple[object, ...]:
        return UnknownNameError, (self.name, self.known)


class DataError(NovaragError):
    """A file does not say what it must; names the row, the column and the fix."""

    def __init__(
        self,
        problem: str,
        *,
        hint: str,
        source: str | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        self.problem, self.hint = problem, hint
        self.source, self.row, self.column = source, row, column
        place = [
            source or "",
            f"row {row}" if row is not None else "",
            f"column {column!r}" if column is not None else "",
        ]
        where = ", ".join(part for part in place if part)
        super().__init__(Prose(f"{where}: " if where else "", problem, " Fix: ", hint))

    def __reduce__(self) -> tuple[object, ...]:
        again = partial(
            DataError, hint=self.hint, source=self.source, row=self.row, column=self.column
        )
        return again, (self.problem,)


class ServiceError(NovaragError):
    """An LLM or a retriever failed."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        self.retryable = retryable
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(ServiceError, retryable=self.retryable), (self.prose,)


class StorageError(NovaragError):
    """A run's folder cannot be written to, is damaged beyond repair, or is in use."""


class UnfinishedError(NovaragError):
    """Requests are left: somebody stopped the verb, or the server failed for good."""

    def __init__(self, place: str, *, stopped: bool) -> None:
        self.place, self.stopped = place, stopped
        why = "was stopped" if stopped else "is unfinished"
        super().__init__(f"{place} {why}: the same call goes on where it was")

    def __reduce__(self) -> tuple[object, ...]:
        return partial(UnfinishedError, stopped=self.stopped), (self.place,)
