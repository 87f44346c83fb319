"""Connections before they are requests: how many there may be, and how long one may wait.

uvicorn has no deadline for headers and closes no connection to make room for another. Without both
anybody who reaches the port, with a key or without one, can hold connections for as long as he
likes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from novarag.gateway.http.replies import make_error

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from novarag.gateway.settings import LimitSettings

LATE, FULL = "late headers", "connections"
_NO_HTTP = "this is no HTTP request"
_TOO_LATE = "the headers of the request did not come in time"
_NO_ROOM = "the gateway has as many connections as it may have"


class ConnectionRoom:
    """The open connections of a gateway, and which of them wait for a request, longest first.

    `limits` says what is in force now, `turn_away` counts what is not served.
    """

    def __init__(
        self, limits: Callable[[], LimitSettings], turn_away: Callable[[str], None]
    ) -> None:
        self._limits, self._turn_away = limits, turn_away
        self._open: set[BoundedProtocol] = set()
        self._waiting: OrderedDict[BoundedProtocol, None] = OrderedDict()

    def __len__(self) -> int:
        """Return how many connections are open."""
        return len(self._open)

    @property
    def seconds(self) -> float:
        """How long headers may take."""
        return self._limits().headers

    def enter(self, connection: BoundedProtocol) -> bool:
        """Take in a connection; in a full room the one that has waited longest makes place for it.

        None does where all are being served.
        """
        if len(self._open) >= self._limits().connections:
            self._turn_away(FULL)
            if not self._waiting:
                return False
            next(iter(self._waiting)).give_up()
        self._open.add(connection)
        self._waiting[connection] = None
        return True

    def leave(self, connection: BoundedProtocol) -> None:
        """Let a connection go, if it is there."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def serve(self, connection: BoundedProtocol) -> None:
        """Take note that a connection has a request."""
        self._waiting.pop(connection, None)

    def wait(self, connection: BoundedProtocol) -> None:
        """Take note that a connection waits for its next request."""
        if connection in self._open:
            self._waiting[connection] = None

    def waits(self, connection: BoundedProtocol) -> bool:
        """Say whether a connection waits for a request."""
        return connection in self._waiting

    def late(self) -> None:
        """Count a connection whose headers did not come in time."""
        self._turn_away(LATE)


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with a deadline for all that is no request yet.

    The time runs from the connection's begin, or from the first byte after a reply, until the
    headers are whole: sending a byte now and then wins none. What is left of a body whose reply was
    sent already has as long.
    """

    room: ConnectionRoom
    _deadline: asyncio.TimerHandle | None = None
    _begun = _in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take in a connection, or refuse it."""
        if not self.room.enter(self):
            self.transport = transport
            self._refuse(503, _NO_ROOM, b"retry-after: 1\r\n")
            return
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let a connection go."""
        self._disarm()
        self.room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; those that make no request whole begin its deadline."""
        super().data_received(data)
        idle = self.timeout_keep_alive_task is not None
        if self._deadline is None and not idle and self.room.waits(self):
            self._arm()

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._begun = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Hand over a request whose headers are whole."""
        self._begun, self._in_body = False, True
        self._disarm()
        self.room.serve(self)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request; where its reply was sent before, the connection is idle from now on."""
        self._in_body = False
        super().on_message_complete()
        if self.room.waits(self):
            self._disarm()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        """Wait for the next request, if none is there already."""
        more = bool(self.pipeline)
        super().on_response_complete()
        if not more and not self.transport.is_closing():
            self.room.wait(self)
            if self._in_body or self._begun:
                self._arm()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that was idle for too long."""
        self.give_up()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the parser's words
        """Refuse what is no HTTP, in OpenAI's shape as all else is."""
        self._refuse(400, _NO_HTTP)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: who asks for WebSockets is answered in HTTP, and fills no log."""

    def give_up(self) -> None:
        """Close a connection; what its client does not read is dropped."""
        self._disarm()
        self.room.leave(self)
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _arm(self) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(self.room.seconds, self._late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        if not self.room.waits(self) or self.transport.is_closing():
            return
        self.room.late()
        if self._begun and not self.transport.get_write_buffer_size():
            self._refuse(408, _TOO_LATE)
        self.give_up()

    def _refuse(self, status: int, message: str, more: bytes = b"") -> None:
        body = orjson.dumps(make_error(message, status))
        head = (
            b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n%b\r\n"
        )
        self.transport.write(STATUS_LINE[status] + head % (len(body), more) + body)
        self.transport.close()


def make_protocol(room: ConnectionRoom) -> type[asyncio.Protocol]:
    """Make the protocol of the connections of one room."""
    return type("RoomProtocol", (BoundedProtocol,), {"room": room})
