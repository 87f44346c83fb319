"""The trace of the request that runs, for whoever asks a server on its behalf.

Nothing here needs OpenTelemetry: where telemetry is off there is no trace, and no cost.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from novarag.gateway.http.served_request import ServedRequest


class Trace(Protocol):
    """What is told of one request to whoever collects traces."""

    def upstream(self, name: str) -> AbstractContextManager[dict[str, str]]:
        """Watch one asking of an upstream; hand out the headers that carry the trace there."""

    def end(self, served: ServedRequest, status: int, kind: str | None) -> None:
        """Tell what became of the request."""


RUNNING: ContextVar[Trace | None] = ContextVar("trace", default=None)


_UNTRACED: AbstractContextManager[dict[str, str]] = nullcontext({})


def traced(upstream: str) -> AbstractContextManager[dict[str, str]]:
    """Watch one asking of an upstream, where its request has a trace."""
    trace = RUNNING.get()
    return _UNTRACED if trace is None else trace.upstream(upstream)
