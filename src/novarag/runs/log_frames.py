"""Records in a file that can be cut or scratched anywhere, and still tell which of them are whole.

A frame is one line: checksum and length in hexadecimal, then a JSON object. JSON escapes line
breaks, so no text inside a record can begin a line and pass for a frame.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8}) ")
_NEXT = re.compile(rb"\n(?=[0-9a-f]{8} [0-9a-f]{8} )")


@dataclass(frozen=True, slots=True)
class Scratch:
    """Bytes that are no whole frame."""

    offset: int
    length: int


def frame(payload: bytes) -> bytes:
    """Wrap one JSON object so that damage to it shows."""
    return b"%08x %08x %b\n" % (crc32(payload), len(payload), payload)


def scan(content: bytes) -> Iterator[bytes | Scratch]:
    """Yield the payload of every whole frame, and what lies between them, in order."""
    position, size = 0, len(content)
    while position < size:
        payload = _whole(content, position)
        if payload is not None:
            yield payload
            position += 18 + len(payload)
            if content[position : position + 1] == b"\n":
                position += 1
            else:
                yield Scratch(position, min(1, size - position))
                position += 1
            continue
        end = _resume(content, position)
        yield Scratch(position, end - position)
        position = end


def _whole(content: bytes, position: int) -> bytes | None:
    head = _HEAD.match(content, position)
    if head is None:
        return None
    start = head.end()
    payload = content[start : start + int(head[2], 16)]
    if len(payload) == int(head[2], 16) and crc32(payload) == int(head[1], 16):
        return payload
    return None


def _resume(content: bytes, position: int) -> int:
    """Find where the next whole frame begins, or the end."""
    for line in _NEXT.finditer(content, position):
        if _whole(content, line.end()) is not None:
            return line.end()
    return len(content)
