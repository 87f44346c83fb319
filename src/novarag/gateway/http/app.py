"""The gateway as an ASGI application: its routes, and who may call them."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from novarag.errors import NovaragError
from novarag.gateway.http.access import NotAdmitted
from novarag.gateway.http.chat import serve_chat
from novarag.gateway.http.guardrail import GUARDRAIL, Guardrail
from novarag.gateway.http.replies import make_error
from novarag.gateway.http.score import serve_score
from novarag.gateway.http.served_route import FAULT, ServedRoute, count_refusal
from novarag.gateway.observe.logs import log_event
from novarag.gateway.observe.status import StatusMonitor
from novarag.gateway.observe.status_page import make_status_routes
from novarag.gateway.settings import KeyScope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from novarag.gateway.http.connection import ConnectionScope as Connection
    from novarag.gateway.http.connection import Receive, Send
    from novarag.gateway.http.served_request import ServedRequest
    from novarag.gateway.http.served_route import Serve
    from novarag.gateway.state import Gateway

    RouteHandler = Callable[[Request], Awaitable[Response]]

_NO_RESPONSES = (
    "the gateway speaks /v1/chat/completions: with OpenAI's client, call client.chat.completions"
    " instead of client.responses"
)


def make_app(gateway: Gateway) -> Starlette:
    """Make the application around a gateway; its `state.monitor` knows how it stands."""
    monitor = StatusMonitor(gateway)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if gateway.telemetry is not None:
                stack.push_async_callback(gateway.telemetry.close)
            try:
                for part in (gateway.audit, gateway.stored_keys, monitor):
                    if part is not None:
                        await stack.enter_async_context(part)
                await gateway.snapshot.open()
            except NovaragError as error:
                log_event("start_failed", level="error", why=str(error))
                raise
            yield
            await gateway.snapshot.retire()

    app = _GatewayApp(
        routes=[
            *_make_served_routes(gateway),
            Route("/v1/responses", _refuse_responses, methods=["POST", "GET"]),
            Route("/openapi.json", _send_openapi, methods=["GET"]),
            *_make_info_routes(gateway),
            *make_status_routes(gateway, monitor),
        ],
        lifespan=lifespan,
        exception_handlers={404: _refuse_address, 405: _refuse_address, 500: _send_fault},
    )
    app.state.monitor = monitor
    app.router.redirect_slashes = False  # to an address that the client's own Host header names
    return app


class _GatewayApp(Starlette):
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


def _make_served_routes(gateway: Gateway) -> list[Route]:
    served: dict[str, tuple[KeyScope, str, Serve]] = {
        "/v1/chat/completions": (KeyScope.CHAT, "chat", serve_chat),
        "/v1/score": (KeyScope.SCORE, "score", serve_score),
        "/v1/feedback": (KeyScope.FEEDBACK, "", _serve_feedback),
        GUARDRAIL: (KeyScope.SCORE, "score", Guardrail().serve),
    }
    return [
        Route(path, ServedRoute(gateway, *parts), methods=["POST"])
        for path, parts in served.items()
    ]


def guard_endpoint(
    gateway: Gateway, scope: KeyScope | None, endpoint: RouteHandler
) -> RouteHandler:
    """Put an endpoint behind the keys: those with a scope, or all where it is None."""

    async def guard(request: Request) -> Response:
        try:
            gateway.authenticator.find_tenant(request.scope["headers"], scope)
        except NotAdmitted as error:
            count_refusal(gateway, error)
            sent = {name.decode(): value.decode() for name, value in error.headers}
            content = make_error(str(error), error.status)
            return JSONResponse(content, status_code=error.status, headers=sent)
        return await endpoint(request)

    return guard


def _make_info_routes(gateway: Gateway) -> list[Route]:
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

    served: dict[str, RouteHandler] = {
        "/livez": live,
        "/readyz": ready,
        "/v1/models": guard_endpoint(gateway, None, models),
        "/metrics": guard_endpoint(gateway, KeyScope.METRICS, metrics),
    }
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in served.items()]


async def _serve_feedback(served: ServedRequest, body: bytes) -> None:
    from novarag.gateway.http.feedback import serve_feedback

    await serve_feedback(served.audit, body, served.send, tenant=served.tenant)


async def _send_openapi(_: Request) -> Response:
    from novarag.gateway.http.openapi import document_bytes

    return Response(document_bytes(), media_type="application/json")


async def _refuse_address(_: Request, error: Exception) -> JSONResponse:
    """Refuse an unknown address or method in OpenAI's shape, as all else is."""
    status, headers = getattr(error, "status_code", 404), getattr(error, "headers", None)
    said = "there is nothing at this address" if status == 404 else "this address has other methods"
    body = make_error(f"{said}; /openapi.json has the routes", status)
    return JSONResponse(body, status_code=status, headers=headers)


async def _send_fault(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse(make_error(FAULT, 500), status_code=500)


async def _refuse_responses(_: Request) -> JSONResponse:
    return JSONResponse(make_error(_NO_RESPONSES, 404), status_code=404)
