"""The trace of the request that runs, for whoever asks a server on its behalf.

Nothing here needs OpenTelemetry: where telemetry is off there is no trace, and no cost.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from novarag.gateway.exchange import Exchange


class Trace(Protocol):
    """What is told of one request to whoever collects traces."""

    def upstream(self, name: str) -> AbstractContextManager[dict[str, str]]:
        """Watch one asking of an upstream; hand out the headers that carry the trace there."""

    def end(self, exchange: Exchange, status: int, kind: str | None) -> None:
        """Tell what became of the request."""


RUNNING: ContextVar[Trace | None] = ContextVar("trace", default=None)


@contextmanager
def traced(upstream: str) -> Iterator[dict[str, str]]:
    """Watch one asking of an upstream, where its request has a trace."""
    trace = RUNNING.get()
    if trace is None:
        yield {}
        return
    with trace.upstream(upstream) as headers:
        yield headers
