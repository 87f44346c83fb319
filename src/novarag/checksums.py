"""Whether a file is as it was written: its size and CRC-32 at every read, its SHA-256 on demand.

A CRC-32 is read at memory's pace, so every reader can afford it, and it finds any damage that a
disk or a slip of the hand does. It is no defence against somebody who means to deceive.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_PIECE = 1 << 20  # bytes held at a time


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return sha256(content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Checksum:
    """What a file was when it was written."""

    size: int
    crc32: int
    sha256: str

    def vouches_for(self, content: bytes) -> bool:
        """Say whether these bytes are those that were written, by size and CRC-32."""
        return len(content) == self.size and crc32(content) == self.crc32


def checksum(content: bytes) -> Checksum:
    """Return the checksum of some bytes."""
    return _over([content])


def file_checksum(path: Path) -> Checksum:
    """Return the checksum of a file, holding little of it at a time."""
    with path.open("rb") as file:
        return _over(iter(lambda: file.read(_PIECE), b""))


def _over(pieces: Iterable[bytes]) -> Checksum:
    size, crc, hashed = 0, 0, sha256()
    for piece in pieces:
        size += len(piece)
        crc = crc32(piece, crc)
        hashed.update(piece)
    return Checksum(size=size, crc32=crc, sha256=hashed.hexdigest())
