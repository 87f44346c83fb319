"""The demo over HTTP: one page and three reports, for a browser on this machine alone.

Nothing is read from the disk, so no path can lead anywhere. Every reply is the last of its
connection, and no connection lives long.
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.http import HttpProcessingError

from novarag.demo.questions import join_passages, parse_fields, prepared_questions, read_question
from novarag.errors import NovaragError
from novarag.report.demo import DemoForm, demo_page

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Awaitable, Callable

    from novarag.demo.chain import DemoChain
    from novarag.scoring import Answer

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

HOST = "127.0.0.1"
LARGEST_BODY = 128 * 1024
"""Bytes of a form; its fields hold fewer, however they are written."""

MOST_CONNECTIONS = 64
"""Connections at once; a browser opens six."""

LONGEST_CONNECTION = 20.0
"""Seconds after which a connection is closed, whatever it waits for."""

_LAST_MOMENT = 1.0  # seconds that open requests have when the server stops
_FORM = "application/x-www-form-urlencoded"
_FIRST = "contradict"
_OWN_SITES = frozenset({"same-origin", "none"})
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Server": "novarag",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# The policy that a page of ours states first of all, before any foreign text.
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]++)">')


def own_names(port: int) -> frozenset[str]:
    """Return what a request for this server may call it.

    A web page that has its own name lead here asks for that name, and is refused.
    """
    names = {f"{host}:{port}" for host in (HOST, "localhost")}
    return frozenset(names | ({HOST, "localhost"} if port == 80 else set()))


def make_app(chain: DemoChain, port: int) -> web.Application:
    """Make the application: who may ask, what is there, and the headers of every reply.

    Args:
        chain: What was made of the log.
        port: The port it is served at, which requests must name.
    """
    names = own_names(port)

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = _refuse_stranger(request, names)
        try:
            response = refusal or await handler(request)
        except web.HTTPException as error:  # no such path or method, or too much of it
            response = _refuse(error.status, error.reason)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        response.force_close()
        return response

    app = web.Application(middlewares=[guard], client_max_size=LARGEST_BODY)
    demo = _DemoPages(chain)
    app.router.add_get("/", demo.show)
    app.router.add_post("/", demo.ask)
    for name, page in chain.pages.items():
        app.router.add_get(f"/{name}", _sender(page))
    return app


def _refuse_stranger(request: web.Request, names: frozenset[str]) -> web.Response | None:
    """Refuse what asks for another server, or what another page sent; None lets it in."""
    headers = request.headers
    if not names.issuperset(headers.getall("Host", [""])):
        return _refuse(421, "this server answers for its own address alone")
    own = names.issuperset(name.removeprefix("http://") for name in headers.getall("Origin", []))
    if not own or not _OWN_SITES.issuperset(headers.getall("Sec-Fetch-Site", [])):
        return _refuse(403, "another page sent this request")
    return None


class _DemoPages:
    """The page with a prepared question, or with what a visitor typed."""

    def __init__(self, chain: DemoChain) -> None:
        self._chain = chain

    async def show(self, request: web.Request) -> web.Response:
        """Show the page with the prepared question that the address names."""
        name = request.query.get("ask", _FIRST)
        prepared = prepared_questions().get(name)
        if prepared is None:
            return _refuse(404, "there is no such question")
        asked = prepared.asked
        form = DemoForm(
            question=asked.question, answer=asked.answer, passages=join_passages(asked.passages)
        )
        return self._page(form, await self._chain.answer(asked), chosen=name)

    async def ask(self, request: web.Request) -> web.Response:
        """Ask what a visitor typed, and show it again beside what came of it."""
        if request.content_type != _FORM:
            return _refuse(415, f"a form is sent as {_FORM}")
        body = await request.read()
        form = DemoForm()
        try:
            fields = parse_fields(body)
            form = DemoForm(**fields)
            answer = await self._chain.answer(read_question(fields))
        except NovaragError as error:
            fault = f"{error}."
            fields = {"question": form.question, "answer": form.answer, "passages": form.passages}
            return self._page(DemoForm(**fields, fault=fault), None, status=400)
        return self._page(form, answer)

    def _page(
        self, form: DemoForm, answer: Answer | None, *, chosen: str = "", status: int = 200
    ) -> web.Response:
        titles = {one.name: one.title for one in prepared_questions().values()}
        page = demo_page(
            self._chain.measurement, self._chain.gate,
            prepared=titles, chosen=chosen, form=form, answer=answer,
        )  # fmt: skip
        return _send(page, status)


def _sender(page: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def send(_: web.Request) -> web.Response:
        return _send(page)

    return send


def _send(page: str, status: int = 200) -> web.Response:
    """Send a page with the policy that it states itself, and with no other page around it."""
    stated = _POLICY.search(page)
    if stated is None:
        raise ValueError("a page of ours states its policy first")
    headers = {"Content-Security-Policy": f"{stated[1]}; frame-ancestors 'none'"}
    return web.Response(text=page, content_type="text/html", headers=headers, status=status)


def _refuse(status: int, why: str) -> web.Response:
    return web.Response(text=f"{why}\n", status=status)


class _Refusal(asyncio.Protocol):
    """Closes a connection over the limit, before anything is read of it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _tells_a_fault(record: logging.LogRecord) -> bool:
    """Keep what is a fault of ours; bytes that are no request are whoever's who sent them."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, HttpProcessingError)


_LOGGER = logging.getLogger("novarag.demo")
_LOGGER.addFilter(_tells_a_fault)


@asynccontextmanager
async def serving(chain: DemoChain, at: socket.socket) -> AsyncIterator[None]:
    """Serve at an open socket while the block runs.

    Args:
        chain: What was made of the log.
        at: The socket, which is closed at the end.
    """
    runner = web.AppRunner(
        make_app(chain, at.getsockname()[1]),
        access_log=None,
        logger=_LOGGER,
        shutdown_timeout=_LAST_MOMENT,
        lingering_time=_LAST_MOMENT,
    )
    await runner.setup()
    loop, server = asyncio.get_running_loop(), runner.server
    if server is None:
        raise RuntimeError("aiohttp made no server")

    def connect() -> asyncio.Protocol:
        if len(server.connections) >= MOST_CONNECTIONS:
            return _Refusal()
        handler = server()
        loop.call_later(LONGEST_CONNECTION, handler.force_close)
        return handler

    listening = await loop.create_server(connect, sock=at)
    try:
        yield
    finally:
        listening.close()
        await runner.cleanup()
