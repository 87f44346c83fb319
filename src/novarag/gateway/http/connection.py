"""One HTTP exchange in ASGI's terms: reading a bounded body, noticing that the client left."""

from __future__ import annotations

import asyncio
from math import ceil
from typing import TYPE_CHECKING, Any

import orjson

from novarag.gateway.http.replies import make_error
from novarag.gateway.http.requests import BadRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, MutableMapping

    Receive = Any
    Send = Any
    ConnectionScope = MutableMapping[str, Any]


class ClientGone(Exception):  # noqa: N818 - a state, not an accident
    """The client closed the connection before it had its answer."""


async def read_body(receive: Receive, most: int) -> bytes:
    """Read the body of a request, of at most so many bytes."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body += message.get("body", b"")
        if len(body) > most:
            raise BadRequest(f"the body is longer than {most:,} bytes", status=413)
        if not message.get("more_body"):
            return bytes(body)


async def serve_within(
    seconds: float, receive: Receive, most: int, serve: Callable[[bytes], Coroutine[Any, Any, None]]
) -> None:
    """Read a body of at most so many bytes and serve it, all within a time.

    The work is dropped when the time is over (`TimeoutError`), and at once when the client leaves
    (`ClientGone`).
    """
    guard = _ClientWatch(seconds)
    try:
        body = await read_body(receive, most)
        guard.watch(receive)
        await serve(body)
    except asyncio.CancelledError:
        if (why := guard.why()) is not None:
            raise why from None
        raise
    finally:
        guard.end()


class _ClientWatch:
    """Cancels the task that made it when its time is over, or when its client leaves.

    It steps `receive` by hand, as a task would. A task of its own for every request costs more than
    the whole parsing of it, and leaves a cycle of 29 objects to the garbage collector.
    """

    def __init__(self, seconds: float) -> None:
        self._working: asyncio.Task[Any] | None = asyncio.current_task()
        self._why: type[Exception] | None = None
        self._receive: Receive = None
        self._receiving: Coroutine[Any, Any, Any] | None = None
        self._timer = asyncio.get_running_loop().call_later(seconds, self._drop, TimeoutError)

    def watch(self, receive: Receive) -> None:
        """Watch the client from now on, whose body was read."""
        self._receive, self._receiving = receive, receive()
        self._step()

    def _step(self, _: object = None) -> None:
        """Go on until `receive` waits for something; come back when that is there."""
        while self._receiving is not None:
            try:
                awaited = self._receiving.send(None)
            except StopIteration as ended:
                self._take(ended.value)
                continue
            if awaited is None:  # it only lets others go first
                asyncio.get_running_loop().call_soon(self._step)
            else:
                awaited._asyncio_future_blocking = False  # as whoever awaits it must say
                awaited.add_done_callback(self._step)
            return

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.disconnect":
            self._receiving = None
            self._drop(ClientGone)
        else:
            self._receiving = self._receive()

    def _drop(self, why: type[Exception]) -> None:
        if self._why is None and self._working is not None:
            self._why = why
            self._working.cancel()

    def why(self) -> type[Exception] | None:
        """Say why the work was cancelled; None where somebody else did."""
        own = self._why is not None and self._working is not None and self._working.uncancel() == 0
        return self._why if own else None

    def end(self) -> None:
        """Watch no longer."""
        self._timer.cancel()
        receiving, self._receiving = self._receiving, None
        if receiving is not None:
            receiving.close()


async def send_whole(
    send: Send,
    status: int,
    body: bytes,
    headers: list[tuple[bytes, bytes]] | None = None,
    *,
    kind: bytes = b"application/json",
) -> None:
    """Send a whole reply."""
    size = str(len(body)).encode()
    fields = [(b"content-type", kind), (b"content-length", size), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


async def send_error(
    send: Send,
    status: int,
    message: str,
    *,
    param: str | None = None,
    after: float | None = None,
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    """Send an error in OpenAI's shape; `after` is rounded up: nobody is to come back too soon."""
    more = [] if after is None else [(b"retry-after", str(max(1, ceil(after))).encode())]
    body = orjson.dumps(make_error(message, status, param))
    await send_whole(send, status, body, [*more, *(headers or [])])


class EventSender:
    """Sends a stream of events."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def begin(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Send the status and the headers."""
        fields = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-cache"),
            *headers,
        ]
        await self._send({"type": "http.response.start", "status": 200, "headers": fields})

    async def event(self, event: bytes) -> None:
        """Send one whole event."""
        await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def end(self) -> None:
        """End the stream."""
        await self._send({"type": "http.response.body", "body": b""})
