"""Records in a file that can be cut, scratched or mixed up anywhere, and still tell what is whole.

A frame is one line: checksum, length and the link to the record before it, in hexadecimal, then a
JSON object. JSON escapes line breaks, so no text inside a record can begin a line and pass for a
frame. The first link is made of the run and the number of the shard, and every checksum begins with
it: what another journal holds is no frame here. This shows accidents; who wants to forge a record
can compute all of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

# The head of a frame: checksum, length, and the link to the frame before it; where a head
# may begin again behind damage; and a frame of a log of before links.
_HEAD = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8}) ([0-9a-f]{16}) ")
_NEXT = re.compile(rb"\n(?=[0-9a-f]{8} [0-9a-f]{8} [0-9a-f]{16} )")
_UNLINKED = re.compile(rb"[0-9a-f]{8} [0-9a-f]{8} \{")


class Mark(NamedTuple):
    """How far a log was safe: its size, and the link of its last record."""

    size: int
    head: str


@dataclass(frozen=True, slots=True)
class Frame:
    """A whole record: where it stands, the link it carries, and its own for the next to carry."""

    offset: int
    payload: bytes
    before: bytes
    link: bytes


@dataclass(frozen=True, slots=True)
class Scratch:
    """Bytes that are no whole frame; `torn` is one line or less of them at the end."""

    offset: int
    length: int
    torn: bool = False


class Chain:
    """What ties records to each other, and all of them to one shard of one run."""

    def __init__(self, run: str, shard: int) -> None:
        self.root = _link(f"{run} {shard}".encode())
        self._seed = crc32(self.root)

    def frame(self, payload: bytes, before: bytes) -> tuple[bytes, bytes]:
        """Wrap one JSON object so that damage to it shows; return it, and its link."""
        head = b"%08x %08x %b" % (self._sum(before, payload), len(payload), before)
        return b"%b %b\n" % (head, payload), _link(head)

    def scan(self, content: bytes) -> Iterator[Frame | Scratch]:
        """Yield every whole frame, and what lies between them, in order."""
        position, size = 0, len(content)
        while position < size:
            frame = self._whole(content, position)
            if frame is not None:
                yield frame
                position += 35 + len(frame.payload)
                if content[position : position + 1] != b"\n":
                    yield Scratch(position, min(1, size - position), torn=position == size)
                position += 1
                continue
            end = self._resume(content, position)
            torn = end == size and content.find(b"\n", position, size - 1) < 0
            yield Scratch(position, end - position, torn=torn)
            position = end

    def _sum(self, before: bytes, payload: bytes) -> int:
        return crc32(payload, crc32(before, self._seed))

    def _whole(self, content: bytes, position: int) -> Frame | None:
        head = _HEAD.match(content, position)
        if head is None:
            return None
        start, length, before = head.end(), int(head[2], 16), head[3]
        payload = content[start : start + length]
        if len(payload) == length and self._sum(before, payload) == int(head[1], 16):
            return Frame(position, payload, before, _link(content[position : start - 1]))
        return None

    def _resume(self, content: bytes, position: int) -> int:
        """Find where the next whole frame begins, or the end."""
        for line in _NEXT.finditer(content, position):
            if self._whole(content, line.end()) is not None:
                return line.end()
        return len(content)


def _link(head: bytes) -> bytes:
    """Sum up a record by its head, whose checksum covers the rest, and the link before it."""
    return blake2b(head, digest_size=8).hexdigest().encode()


def first_line(content: bytes) -> bytes | None:
    """Return the JSON of the first frame, whole or not and whoever's; None where there is none."""
    head = _HEAD.match(content)
    return None if head is None else content[head.end() :].split(b"\n", 1)[0]


def is_unlinked(content: bytes) -> bool:
    """Say whether this is a log of before records were linked."""
    return _UNLINKED.match(content) is not None
