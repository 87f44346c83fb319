"""The gateway as an ASGI application: routes, limits, deadlines, and nothing of decisions."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from novarag.errors import NovaragError
from novarag.gateway.http.access import Access, NotAdmitted
from novarag.gateway.http.chat import serve_chat
from novarag.gateway.http.connections import ConnectionRoom
from novarag.gateway.http.guardrail import GUARDRAIL, Guardrail
from novarag.gateway.http.limits import TenantLimits
from novarag.gateway.http.replies import error_object
from novarag.gateway.http.score import serve_score
from novarag.gateway.http.served_request import LEFT, ServedRequest
from novarag.gateway.http.served_route import FAULT, ServedRoute, log_request, turned_away
from novarag.gateway.observe.drift import Drift
from novarag.gateway.observe.logs import log_event
from novarag.gateway.observe.status import Board
from novarag.gateway.observe.status_page import from_this_machine, status_routes
from novarag.gateway.observe.tallies import Tallies
from novarag.gateway.observe.tracing import RUNNING
from novarag.gateway.settings import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from starlette.requests import Request

    from novarag.gateway.audit.recorder import Audit
    from novarag.gateway.audit.stored_keys import StoredKeys
    from novarag.gateway.http.connection import Receive, Send
    from novarag.gateway.http.connection import Scope as Connection
    from novarag.gateway.http.served_route import Serve
    from novarag.gateway.observe.telemetry import Telemetry
    from novarag.gateway.settings import Settings
    from novarag.gateway.snapshot import Snapshot

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
        self.room = ConnectionRoom(lambda: self.snapshot.settings.limits, self.tallies.turn_away)
        self.drift = Drift(snapshot)
        self.board = Board(self)
        self.may_look = [from_this_machine, self._has_key]
        self.reloads: Counter[str] = Counter()
        self.in_flight = 0
        self.draining = False

    @property
    def state(self) -> str:
        """Whether requests are taken: ready, draining, or why not yet."""
        if self.draining:
            return "draining"
        return "ready" if self.access.known else "keys could not be read yet"

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

    def ended(self, served: ServedRequest, status: int, kind: str | None) -> None:
        """Charge a request that ended, and tell of it."""
        settings, usage = served.snapshot.settings, served.usage
        if usage is not None:
            tokens = usage.prompt + usage.completion
            self.limits.charge(settings.limits.rate, served.tenant, tokens)
        trace = RUNNING.get()
        if trace is not None:
            trace.end(served, status, kind)
        if settings.logs.requests or status >= LEFT:
            log_request(served, status, kind)


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

    app = _App(
        routes=[
            *_served(gateway),
            Route("/v1/responses", _no_responses, methods=["POST", "GET"]),
            Route("/openapi.json", _openapi, methods=["GET"]),
            *_about(gateway),
            *status_routes(gateway),
        ],
        lifespan=lifespan,
        exception_handlers={404: _nothing_here, 405: _nothing_here, 500: _fault},
    )
    app.router.redirect_slashes = False  # to an address that the client's own Host header names
    return app


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
    def _quick(self) -> dict[str, ServedRoute]:
        routes = [route for route in self.routes if isinstance(route, Route)]
        return {
            route.path: end for route in routes if isinstance(end := route.endpoint, ServedRoute)
        }


def _served(gateway: Gateway) -> list[Route]:
    served: dict[str, tuple[Scope, str, Serve]] = {
        "/v1/chat/completions": (Scope.CHAT, "chat", serve_chat),
        "/v1/score": (Scope.SCORE, "score", serve_score),
        "/v1/feedback": (Scope.FEEDBACK, "", _serve_feedback),
        GUARDRAIL: (Scope.SCORE, "score", Guardrail().serve),
    }
    return [
        Route(path, ServedRoute(gateway, *parts), methods=["POST"])
        for path, parts in served.items()
    ]


def guarded(gateway: Gateway, scope: Scope | None, endpoint: Endpoint) -> Endpoint:
    """Put an endpoint behind the keys: those with a scope, or all where it is None."""

    async def guard(request: Request) -> Response:
        try:
            gateway.access.tenant(request.scope["headers"], scope)
        except NotAdmitted as error:
            turned_away(gateway, error)
            sent = {name.decode(): value.decode() for name, value in error.headers}
            content = error_object(str(error), error.status)
            return JSONResponse(content, status_code=error.status, headers=sent)
        return await endpoint(request)

    return guard


def _about(gateway: Gateway) -> list[Route]:
    async def live(_: Request) -> PlainTextResponse:
        return PlainTextResponse("ok")

    async def ready(_: Request) -> PlainTextResponse:
        state = gateway.state
        return PlainTextResponse(state, status_code=200 if state == "ready" else 503)

    async def models(_: Request) -> JSONResponse:
        names = gateway.snapshot.respondents
        listed = [{"id": name, "object": "model", "owned_by": "novarag"} for name in names]
        return JSONResponse({"object": "list", "data": listed})

    async def metrics(_: Request) -> Response:
        from novarag.gateway.observe.metrics import KIND, render_metrics

        return Response(render_metrics(gateway), headers={"content-type": KIND})

    served: dict[str, Endpoint] = {
        "/livez": live,
        "/readyz": ready,
        "/v1/models": guarded(gateway, None, models),
        "/metrics": guarded(gateway, Scope.METRICS, metrics),
    }
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in served.items()]


async def _serve_feedback(served: ServedRequest, body: bytes) -> None:
    from novarag.gateway.http.feedback import serve_feedback

    await serve_feedback(served, body, served.send, tenant=served.tenant)


def _audit(snapshot: Snapshot) -> Audit | None:
    settings = snapshot.settings.audit
    if settings is None:
        return None
    from novarag.gateway.audit.recorder import Audit

    return Audit(settings, folder=snapshot.path.parent)


async def _openapi(_: Request) -> Response:
    from novarag.gateway.http.openapi import document_bytes

    return Response(document_bytes(), media_type="application/json")


def _stored_keys(settings: Settings) -> StoredKeys | None:
    if settings.audit is None:
        return None
    from novarag.gateway.audit.stored_keys import StoredKeys

    return StoredKeys(settings.audit.dsn(), every=settings.access.reread)


def _telemetry(settings: Settings) -> Telemetry | None:
    if settings.telemetry is None:
        return None
    from novarag.gateway.observe.telemetry import Telemetry

    return Telemetry(settings.telemetry)


async def _nothing_here(_: Request, error: Exception) -> JSONResponse:
    """Refuse an unknown address or method in OpenAI's shape, as all else is."""
    status, headers = getattr(error, "status_code", 404), getattr(error, "headers", None)
    said = "there is nothing at this address" if status == 404 else "this address has other methods"
    body = error_object(f"{said}; /openapi.json has the routes", status)
    return JSONResponse(body, status_code=status, headers=headers)


async def _fault(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse(error_object(FAULT, 500), status_code=500)


async def _no_responses(_: Request) -> JSONResponse:
    return JSONResponse(error_object(_NO_RESPONSES, 404), status_code=404)
