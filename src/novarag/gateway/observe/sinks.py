"""Who is told of a request that ended: one row for each.

A sink is a function of an `EndedRequest`. It is called on the loop once the reply is out, so it
waits for nothing: what takes time is handed to a thread or a task of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from novarag.gateway.observe.logs import log_event
from novarag.gateway.observe.tracing import LEFT, end_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.gateway.observe.tracing import EndedRequest


def log_request(ended: EndedRequest) -> None:
    """Log what became of a request: a failure always, any other where the settings say so."""
    failed = ended.status >= LEFT
    if not (failed or ended.settings.logs.requests):
        return
    outcome = ended.outcome
    log_event(
        "request_failed" if failed else "request",
        level="warning" if failed else "info",
        id=ended.id,
        status=ended.status,
        tenant=ended.tenant,
        model=outcome and outcome.model,
        route=outcome and outcome.route,
        decision=outcome and outcome.decision,
        kind=ended.kind,
        seconds=ended.seconds,
    )


SINKS: Final[dict[str, Callable[[EndedRequest], None]]] = {
    "trace": end_trace,
    "log": log_request,
}
"""The sinks, in the order in which they are told."""
