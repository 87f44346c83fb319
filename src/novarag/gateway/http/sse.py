"""Server-sent events: cutting a stream of bytes into whole events, and writing our own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

DONE = b"data: [DONE]\n\n"
# Events end with an empty line, in any of the three ends of line of the HTML standard.
_BREAK = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_BREAK = 4


class EventCutter:
    """Cuts bytes into events, wherever the network cut them; nothing is changed or lost.

    What is left when the stream ends is half an event, and is never handed out.
    """

    def __init__(self, most: int) -> None:
        self._left, self._most, self._searched = bytearray(), most, 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Take bytes; yield every event that is whole now, with its blank line."""
        self._left += piece
        while found := _BREAK.search(self._left, self._searched):
            event = bytes(self._left[: found.end()])
            del self._left[: found.end()]
            self._searched = 0
            yield event
        self._searched = max(0, len(self._left) - _LONGEST_BREAK)
        if len(self._left) > self._most:
            raise ValueError(f"an event is longer than {self._most:,} bytes")


def read_event_data(event: bytes) -> bytes | None:
    """Return the data of an event; None for comments and events without any."""
    lines = [
        line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:")
    ]
    return b"\n".join(lines) if lines else None


def write_event(content: dict[str, Any]) -> bytes:
    """Write one event that holds JSON."""
    return b"data: " + orjson.dumps(content) + b"\n\n"
