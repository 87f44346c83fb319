"""The gateway as an ASGI application: routes, limits, deadlines, and nothing of decisions."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from novarag.errors import NovaragError
from novarag.gateway.access import Access, NotAdmitted
from novarag.gateway.chat import serve_chat
from novarag.gateway.connection import ClientGone, send_error, serve_within
from novarag.gateway.drift import Drift
from novarag.gateway.exchange import LEFT, Exchange
from novarag.gateway.guardrail import GUARDRAIL, Guardrail
from novarag.gateway.limits import TenantLimits
from novarag.gateway.logs import log_event
from novarag.gateway.replies import error_object
from novarag.gateway.requests import BadRequest
from novarag.gateway.scored import serve_score
from novarag.gateway.settings import Scope
from novarag.gateway.sse import write_event
from novarag.gateway.status import Board
from novarag.gateway.status_page import from_this_machine, status_routes
from novarag.gateway.tallies import Tallies
from novarag.gateway.tracing import RUNNING
from novarag.gateway.upstream import Unavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence

    from starlette.requests import Request

    from novarag.gateway.audit.recording import Audit
    from novarag.gateway.audit.stored_keys import StoredKeys
    from novarag.gateway.connection import Receive, Send
    from novarag.gateway.connection import Scope as Connection
    from novarag.gateway.settings import Settings
    from novarag.gateway.snapshot import Snapshot
    from novarag.gateway.telemetry import Telemetry

    Endpoint = Callable[[Request], Awaitable[Response]]
    Headers = Sequence[tuple[bytes, bytes]]

_NO_RESPONSES = (
    "the gateway speaks /v1/chat/completions: with OpenAI's client, call client.chat.completions"
    " instead of client.responses"
)


class Gateway:
    """What is in force now, how much is in flight, and whether new requests are taken.

    `host` is where it listens, if that is not what the settings file says.
    """

    def __init__(self, snapshot: Snapshot, *, host: str | None = None) -> None:
        self.snapshot, self._host = snapshot, host or snapshot.settings.listen.host
        self.stored = _stored_keys(snapshot.settings)
        self.access = self._access(snapshot)
        self.audit = _audit(snapshot)
        self.telemetry = _telemetry(snapshot.settings)
        self.limits = TenantLimits()
        self.tallies = Tallies()
        self.drift = Drift(snapshot)
        self.board = Board(self)
        self.may_look = [from_this_machine, self._has_key]
        self.reloads: Counter[str] = Counter()
        self.in_flight = 0
        self.draining = False

    async def reload(self, fresh: Snapshot) -> None:
        """Put another snapshot in force; requests that run keep theirs until they end."""
        access = self._access(fresh)
        await fresh.open()
        before, self.snapshot, self.access = self.snapshot, fresh, access
        self.drift.follow(fresh)
        if self.stored is not None:
            self.stored.every = fresh.settings.access.reread
            self.stored.soon()
        await before.retire()

    def _has_key(self, request: Request) -> bool:
        return self.access.allows(request.scope["headers"], Scope.METRICS)

    def _access(self, snapshot: Snapshot) -> Access:
        return Access(snapshot.settings, host=self._host, stored=self.stored)

    def admit(self, headers: Headers, scope: Scope) -> str:
        """Return whose request this is, or raise `NotAdmitted`: by key, by load, by rate."""
        tenant, limits = self.access.tenant(headers, scope), self.snapshot.settings.limits
        if self.in_flight >= limits.in_flight:
            raise NotAdmitted("the gateway is at its limit", 503, "full", after=1.0)
        wait = self.limits.admit(limits.rate, tenant)
        if wait is not None:
            said = "more requests or tokens than a minute may have"
            raise NotAdmitted(said, 429, "rate", after=wait)
        return tenant

    def ended(self, exchange: Exchange, status: int, kind: str | None) -> None:
        """Charge a request that ended, and tell of it."""
        settings, usage = exchange.snapshot.settings, exchange.usage
        if usage is not None:
            tokens = usage.prompt + usage.completion
            self.limits.charge(settings.limits.rate, exchange.tenant, tokens)
        trace = RUNNING.get()
        if trace is not None:
            trace.end(exchange, status, kind)
        if settings.logs.requests or status >= LEFT:
            _log_request(exchange, status, kind)


def _log_request(exchange: Exchange, status: int, kind: str | None) -> None:
    outcome, failed = exchange.outcome, status >= LEFT
    log_event(
        "request_failed" if failed else "request",
        level="warning" if failed else "info",
        id=exchange.id,
        status=status,
        tenant=exchange.tenant,
        model=outcome and outcome.model,
        route=outcome and outcome.route,
        decision=outcome and outcome.decision,
        kind=kind,
        seconds=exchange.seconds,
    )


class _Route:
    """An endpoint with its limits: who, how many at once, how large, how long, until one leaves."""

    def __init__(
        self, gateway: Gateway, scope: Scope, serve: Callable[..., Coroutine[Any, Any, None]]
    ) -> None:
        self._gateway, self._scope, self._serve = gateway, scope, serve

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        gateway, headers = self._gateway, connection["headers"]
        try:
            tenant = gateway.admit(headers, self._scope)
        except NotAdmitted as error:
            _turned_away(gateway, error)
            await send_error(
                send, error.status, str(error), after=error.after, headers=error.headers
            )
            return
        begun, snapshot = _Begun(send, last=gateway.draining), gateway.snapshot
        exchange = Exchange(
            snapshot, begun, gateway.audit, gateway.tallies, tenant, drift=gateway.drift
        )
        gateway.in_flight += 1
        snapshot.users += 1
        if gateway.telemetry is not None:
            RUNNING.set(gateway.telemetry.begin(headers, connection["path"]))
        kind: str | None = "fault"  # of ours, unless we come to know better
        try:
            kind = await self._answer(exchange, begun, receive)
        except asyncio.CancelledError:
            kind = "cancelled"  # at the end of a drain that took too long
            raise
        finally:
            gateway.in_flight -= 1
            gateway.ended(exchange, LEFT if kind == "ClientGone" else begun.status, kind)
            await snapshot.leave()

    async def _answer(self, exchange: Exchange, begun: _Begun, receive: Receive) -> str | None:
        """Serve one request; return the kind of what went wrong, if something did."""
        limits = exchange.snapshot.settings.limits
        try:
            serve = partial(self._serve, exchange)
            await serve_within(limits.deadline, receive, limits.body, serve)
        except ClientGone as error:
            exchange.failed(LEFT)
            return type(error).__name__
        except BadRequest as error:
            exchange.tallies.turn_away("bad request")
            await begun.error(error.status, str(error), param=error.param)
            return type(error).__name__
        except Unavailable as error:
            exchange.failed(error.status)
            await begun.error(error.status, str(error), after=error.after)
            return type(error).__name__
        except TimeoutError as error:
            exchange.failed(504)
            await begun.error(504, f"there was no answer in {limits.deadline:g} s")
            return type(error).__name__
        except asyncio.CancelledError:
            exchange.failed(503)
            await begun.error(503, "the gateway is stopping")
            raise
        return None


def _turned_away(gateway: Gateway, error: NotAdmitted) -> None:
    gateway.tallies.turn_away(error.why)
    if gateway.snapshot.settings.logs.requests:
        log_event("turned_away", status=error.status, kind=error.why)


class _Begun:
    """A `send` that knows whether a status went out; an error after that ends the stream.

    The `last` reply of a connection says so, so that its client opens another.
    """

    def __init__(self, send: Send, *, last: bool = False) -> None:
        self._send, self._begun, self._streams, self._last = send, False, False, last
        self.status = 500  # until one was sent

    async def __call__(self, message: dict[str, Any]) -> None:
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
            event = write_event(error_object(message, status))
            await self._send({"type": "http.response.body", "body": event})
        else:
            raise ConnectionError(message)  # half a reply was sent: the server cuts it off


def make_app(gateway: Gateway) -> Starlette:
    """Make the application around a gateway."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if gateway.telemetry is not None:
                stack.push_async_callback(gateway.telemetry.close)
            try:
                for part in (gateway.audit, gateway.stored, gateway.board):
                    if part is not None:
                        await stack.enter_async_context(part)
                await gateway.snapshot.open()
            except NovaragError as error:
                log_event("start_failed", level="error", why=str(error))
                raise
            yield
            await gateway.snapshot.retire()

    return _App(
        routes=[
            *_served(gateway),
            Route("/v1/responses", _no_responses, methods=["POST", "GET"]),
            Route("/openapi.json", _openapi, methods=["GET"]),
            *_about(gateway),
            *status_routes(gateway),
        ],
        lifespan=lifespan,
        exception_handlers={404: _nothing_here, 405: _nothing_here},
    )


class _App(Starlette):
    """Starlette, but for the addresses of every request, which go past its layers to their end."""

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            serve = self._quick.get(scope["path"])
            if serve is not None:
                await serve(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    @cached_property
    def _quick(self) -> dict[str, _Route]:
        routes = [route for route in self.routes if isinstance(route, Route)]
        return {route.path: end for route in routes if isinstance(end := route.endpoint, _Route)}


def _served(gateway: Gateway) -> list[Route]:
    served: dict[str, tuple[Scope, Callable[..., Coroutine[Any, Any, None]]]] = {
        "/v1/chat/completions": (Scope.CHAT, serve_chat),
        "/v1/score": (Scope.SCORE, serve_score),
        "/v1/feedback": (Scope.FEEDBACK, _serve_feedback),
        GUARDRAIL: (Scope.SCORE, Guardrail().serve),
    }
    return [
        Route(path, _Route(gateway, scope, serve), methods=["POST"])
        for path, (scope, serve) in served.items()
    ]


def guarded(gateway: Gateway, scope: Scope | None, endpoint: Endpoint) -> Endpoint:
    """Put an endpoint behind the keys: those with a scope, or all where it is None."""

    async def guard(request: Request) -> Response:
        try:
            gateway.access.tenant(request.scope["headers"], scope)
        except NotAdmitted as error:
            _turned_away(gateway, error)
            sent = {name.decode(): value.decode() for name, value in error.headers}
            content = error_object(str(error), error.status)
            return JSONResponse(content, status_code=error.status, headers=sent)
        return await endpoint(request)

    return guard


def _about(gateway: Gateway) -> list[Route]:
    async def live(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    async def ready(_: Request) -> PlainTextResponse:
        state = (
            "draining" if gateway.draining
            else "ready" if gateway.access.known
            else "keys could not be read yet"
        )  # fmt: skip
        return PlainTextResponse(state, status_code=200 if state == "ready" else 503)

    async def models(_: Request) -> JSONResponse:
        names = gateway.snapshot.respondents
        listed = [{"id": name, "object": "model", "owned_by": "novarag"} for name in names]
        return JSONResponse({"object": "list", "data": listed})

    async def metrics(_: Request) -> Response:
        from novarag.gateway.metrics import KIND, render_metrics

        return Response(render_metrics(gateway), headers={"content-type": KIND})

    served: dict[str, Endpoint] = {
        "/livez": live,
        "/readyz": ready,
        "/v1/models": guarded(gateway, None, models),
        "/metrics": guarded(gateway, Scope.METRICS, metrics),
    }
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in served.items()]


async def _serve_feedback(exchange: Exchange, body: bytes) -> None:
    from novarag.gateway.audit.feedback import serve_feedback

    await serve_feedback(exchange, body, exchange.send, tenant=exchange.tenant)


def _audit(snapshot: Snapshot) -> Audit | None:
    settings = snapshot.settings.audit
    if settings is None:
        return None
    from novarag.gateway.audit.recording import Audit

    return Audit(settings, folder=snapshot.path.parent)


async def _openapi(_: Request) -> Response:
    from novarag.gateway.openapi import document_bytes

    return Response(document_bytes(), media_type="application/json")


def _stored_keys(settings: Settings) -> StoredKeys | None:
    if settings.audit is None:
        return None
    from novarag.gateway.audit.stored_keys import StoredKeys

    return StoredKeys(settings.audit.dsn(), every=settings.access.reread)


def _telemetry(settings: Settings) -> Telemetry | None:
    if settings.telemetry is None:
        return None
    from novarag.gateway.telemetry import Telemetry

    return Telemetry(settings.telemetry)


async def _nothing_here(_: Request, error: Exception) -> JSONResponse:
    """Refuse an unknown address or method in OpenAI's shape, as all else is."""
    status, headers = getattr(error, "status_code", 404), getattr(error, "headers", None)
    said = "there is nothing at this address" if status == 404 else "this address has other methods"
    body = error_object(f"{said}; /openapi.json has the routes", status)
    return JSONResponse(body, status_code=status, headers=headers)


async def _no_responses(_: Request) -> JSONResponse:
    return JSONResponse(error_object(_NO_RESPONSES, 404), status_code=404)
