"""Records in a spool file: a line each, with a checksum and a length that show any damage.

A payload is JSON, which escapes line breaks, so no text inside can begin a line and pass for a
record.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from zlib import crc32

_HEAD = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8}) ")
_WIDTH = 18


class SpoolScan(NamedTuple):
    """Whole records, where they end, and how many bytes before that are none."""

    records: list[bytes]
    end: int
    damage: int


def frame_record(payload: bytes) -> bytes:
    """Wrap a payload so that damage to it shows."""
    return b"%08x %08x %b\n" % (crc32(payload), len(payload), payload)


def scan_records(content: bytes, most: int, *, final: bool) -> SpoolScan:
    """Find whole records, at most so many; `final` says that nothing will follow the content.

    A record that is cut off by the end is no damage: nobody was told what it would have said.
    """
    records: list[bytes] = []
    place, damage, size = 0, 0, len(content)
    while place < size and len(records) < most:
        payload = _read_record(content, place)
        if payload is not None:
            records.append(payload)
            place += _WIDTH + len(payload) + 1
            continue
        following = _find_next(content, place)
        if following is not None:
            damage += following - place
            place = following
            continue
        if final:
            torn = content.find(b"\n", place) < 0
            damage += 0 if torn else size - place
            place = size
        break
    return SpoolScan(records, place, damage)


def _read_record(content: bytes, place: int) -> bytes | None:
    head = _HEAD.match(content, place)
    if head is None:
        return None
    end = place + _WIDTH + int(head[2], 16)
    payload = content[place + _WIDTH : end]
    if content[end : end + 1] == b"\n" and crc32(payload) == int(head[1], 16):
        return payload
    return None


def _find_next(content: bytes, place: int) -> int | None:
    """Find where the next whole record begins."""
    while (place := content.find(b"\n", place) + 1) > 0:
        if _read_record(content, place) is not None:
            return place
    return None
