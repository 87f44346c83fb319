"""What is told of a request: the trace of the one that runs, and the record of one that ended.

Nothing here needs OpenTelemetry: where telemetry is off there is no trace, and no cost.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from novarag.calls import Usage
    from novarag.gateway.observe.tallies import RequestOutcome
    from novarag.gateway.settings import GatewaySettings
    from novarag.scoring import Answer

LEFT: Final = 499
"""The status that is kept where the client left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRequest:
    """What became of a request, for whoever is told of it.

    `version` names the settings that it was served by. `kind` names what went wrong, if something
    did. `outcome` is missing where no model was asked, `answer` where nothing was decided.
    """

    id: str
    tenant: str
    settings: GatewaySettings
    version: str
    status: int
    kind: str | None
    seconds: float
    outcome: RequestOutcome | None
    usage: Usage | None
    answer: Answer | None


class Trace(Protocol):
    """What is told of one request to whoever collects traces."""

    def upstream(self, name: str) -> AbstractContextManager[dict[str, str]]:
        """Watch one asking of an upstream; hand out the headers that carry the trace there."""

    def end(self, ended: EndedRequest) -> None:
        """Tell what became of the request."""


RUNNING: ContextVar[Trace | None] = ContextVar("trace", default=None)


_UNTRACED: AbstractContextManager[dict[str, str]] = nullcontext({})


def trace_upstream(upstream: str) -> AbstractContextManager[dict[str, str]]:
    """Watch one asking of an upstream, where its request has a trace."""
    trace = RUNNING.get()
    return _UNTRACED if trace is None else trace.upstream(upstream)


def end_trace(ended: EndedRequest) -> None:
    """End the trace of a request, where it has one."""
    trace = RUNNING.get()
    if trace is not None:
        trace.end(ended)
