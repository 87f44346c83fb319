"""A request through its limits: let in or turned away, served in time, counted, and never lost."""

from __future__ import annotations

import asyncio
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any

from novarag.gateway.http.access import NotAdmitted
from novarag.gateway.http.connection import ClientGone, send_error, serve_within
from novarag.gateway.http.replies import make_error
from novarag.gateway.http.requests import BadRequest
from novarag.gateway.http.served_request import ServedRequest
from novarag.gateway.http.sse import write_event
from novarag.gateway.observe.logs import log_event
from novarag.gateway.observe.tracing import LEFT, RUNNING
from novarag.gateway.upstream import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from novarag.gateway.http.connection import ConnectionScope as Connection
    from novarag.gateway.http.connection import Receive, Send
    from novarag.gateway.settings import KeyScope
    from novarag.gateway.state import Gateway

    Serve = Callable[..., Coroutine[Any, Any, None]]

FAULT = "the gateway itself failed; its log says where"


class ServedRoute:
    """An endpoint with its limits: who, how many at once, how large, how long, until one leaves."""

    def __init__(self, gateway: Gateway, scope: KeyScope, route: str, serve: Serve) -> None:
        self._gateway, self._scope, self._route, self._serve = gateway, scope, route, serve

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Serve one request."""
        gateway, headers = self._gateway, connection["headers"]
        try:
            tenant = gateway.admit(headers, self._scope)
        except NotAdmitted as error:
            count_refusal(gateway, error)
            await send_error(
                send, error.status, str(error), after=error.after, headers=error.headers
            )
            return
        begun, snapshot = ReplySender(send, last=gateway.draining), gateway.snapshot
        served = ServedRequest(
            snapshot, begun, gateway.audit, gateway.tallies, tenant,
            drift=gateway.drift, route=self._route,
        )  # fmt: skip
        gateway.in_flight += 1
        snapshot.users += 1
        if gateway.telemetry is not None:
            RUNNING.set(gateway.telemetry.begin(headers, connection["path"]))
        kind: str | None = "fault"  # of ours, unless we come to know better
        try:
            kind = await self._answer(served, begun, receive)
        except asyncio.CancelledError:
            kind = "cancelled"  # at the end of a drain that took too long
            raise
        finally:
            gateway.in_flight -= 1
            gateway.end(served, LEFT if kind == "ClientGone" else begun.status, kind)
            await snapshot.leave()

    async def _answer(
        self, served: ServedRequest, begun: ReplySender, receive: Receive
    ) -> str | None:
        """Serve one request; return the kind of what went wrong, if something did."""
        limits = served.snapshot.settings.limits
        try:
            serve = partial(self._serve, served)
            await serve_within(limits.deadline, receive, limits.body, serve)
        except ClientGone as error:
            served.keep_failure(LEFT)
            return type(error).__name__
        except BadRequest as error:
            served.keep_refusal(error.status)
            await begun.error(error.status, str(error), param=error.param)
            return type(error).__name__
        except UpstreamUnavailable as error:
            served.keep_failure(error.status)
            await begun.error(error.status, str(error), after=error.after)
            return error.kind
        except TimeoutError as error:
            served.keep_failure(504)
            await begun.error(504, f"there was no answer in {limits.deadline:g} s")
            return type(error).__name__
        except asyncio.CancelledError:
            served.keep_failure(503)
            await begun.error(503, "the gateway is stopping")
            raise
        except Exception as error:  # noqa: BLE001 - the last resort: a row, a line, and an error
            served.keep_failure(500)
            _log_fault(served, error)
            await begun.error(500, FAULT)
            return "fault"
        return None


def count_refusal(gateway: Gateway, error: NotAdmitted) -> None:
    """Count a request that is not let in, and log it where requests are logged."""
    gateway.tallies.turn_away(error.why)
    if gateway.snapshot.settings.logs.requests:
        log_event("turned_away", status=error.status, kind=error.why)


def _log_fault(served: ServedRequest, error: Exception) -> None:
    """Say where a fault of ours is; its words may quote a request, so they are left out."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    at = f"{place.name}, line {place.lineno}"
    log_event("fault", level="error", id=served.id, error=type(error).__name__, at=at)


class ReplySender:
    """A `send` that knows whether a status went out; an error after that ends the stream.

    The `last` reply of a connection says so, so that its client opens another.
    """

    def __init__(self, send: Send, *, last: bool = False) -> None:
        self._send, self._begun, self._streams, self._last = send, False, False, last
        self.status = 500  # until one was sent

    async def __call__(self, message: dict[str, Any]) -> None:
        """Send a message, and take note of the status that it begins a reply with."""
        if message["type"] == "http.response.start":
            self._begun, self.status = True, message["status"]
            if self._last:
                message["headers"].append((b"connection", b"close"))
            kind = next(value for name, value in message["headers"] if name == b"content-type")
            self._streams = kind.startswith(b"text/event-stream")
        await self._send(message)

    async def error(self, status: int, message: str, **more: Any) -> None:  # noqa: ANN401
        """Send an error: as a reply, or as the last event of a stream that has begun."""
        begun, self.status = self._begun, status  # what became of it, whatever the client saw
        if not begun:
            await send_error(self._send, status, message, **more)
        elif self._streams:
            event = write_event(make_error(message, status))
            await self._send({"type": "http.response.body", "body": event})
        else:
            raise ConnectionError(message)  # half a reply was sent: the server cuts it off
