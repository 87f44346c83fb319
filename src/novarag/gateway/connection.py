"""One HTTP exchange in ASGI's terms: reading a bounded body, noticing that the client left."""

from __future__ import annotations

import asyncio
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from novarag.gateway.replies import error_object
from novarag.gateway.requests import BadRequest

if TYPE_CHECKING:
    from collections.abc import Coroutine, MutableMapping

    Receive = Any
    Send = Any
    Scope = MutableMapping[str, Any]

_Found = TypeVar("_Found")


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


async def unless_gone(work: Coroutine[Any, Any, _Found], receive: Receive) -> _Found:
    """Do some work, and drop it at once when the client leaves."""
    watch = _Watch(receive)
    try:
        return await work
    except asyncio.CancelledError:
        if watch.dropped():
            raise ClientGone from None
        raise
    finally:
        watch.end()


class _Watch:
    """Cancels the task that made it when the client leaves.

    It steps `receive` by hand, as a task would. A task of its own for every request costs more than
    the whole parsing of it, and leaves a cycle of 29 objects to the garbage collector.
    """

    def __init__(self, receive: Receive) -> None:
        self._working: asyncio.Task[Any] | None = asyncio.current_task()
        self._gone, self._receive = False, receive
        self._receiving: Coroutine[Any, Any, Any] | None = receive()
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
        self._gone = message["type"] == "http.disconnect"
        self._receiving = None if self._gone else self._receive()
        if self._gone and self._working is not None:
            self._working.cancel()

    def dropped(self) -> bool:
        """Say whether this, and nobody else, cancelled the work."""
        return self._gone and self._working is not None and self._working.uncancel() == 0

    def end(self) -> None:
        """Watch no longer."""
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
    told = [(b"content-type", kind), (b"content-length", size), *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": told})
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
    body = orjson.dumps(error_object(message, status, param))
    await send_whole(send, status, body, [*more, *(headers or [])])


class EventSender:
    """Sends a stream of events."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def begin(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Send the status and the headers."""
        told = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-cache"),
            *headers,
        ]
        await self._send({"type": "http.response.start", "status": 200, "headers": told})

    async def event(self, event: bytes) -> None:
        """Send one whole event."""
        await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def end(self) -> None:
        """End the stream."""
        await self._send({"type": "http.response.body", "body": b""})
