"""The spool: records on this machine's disk, from before a reply is sent until they are committed.

A process appends to a segment of its own, which it holds by a lock that its death releases. A
record is one write and no sync: it outlives the process, even killed, but not a power cut. Others
take over the segments of the dead. What is committed is deleted; what is damaged is set aside.

A record is a line with a checksum and a length that show any damage. Its payload is JSON, which
escapes line breaks, so no text inside can begin a line and pass for a record.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIX = ".spool"
DAMAGED = ".damaged"
_WINDOW = 1 << 19  # bytes read at first; twice as many where no record fits
_ROTATE = 8 << 20  # bytes after which the next segment begins
_EMPTY = 1 << 16  # a segment that is wholly committed is emptied from this size on
# Checksum and length of a record, in hexadecimal digits.
_HEAD = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8}) ")
_WIDTH = 18  # bytes of a head: two numbers of eight digits, and two blanks


class SpoolFull(Exception):  # noqa: N818 - a state, not an accident
    """There is no room for a record: the limit is reached, or the disk takes no more."""


class SpoolBatch(NamedTuple):
    """Records of one segment, in order, and where the next begin."""

    records: list[bytes]
    segment: SpoolSegment
    end: int
    damage: int = 0  # bytes among them that are no record


@dataclass(eq=False, slots=True)
class SpoolSegment:
    """One file: how large it is, and how much of it is committed."""

    path: Path
    handle: int
    size: int = 0
    done: int = 0
    damage: int = 0  # bytes that are no record
    torn: bool = False  # it ends in half a record, so nothing may follow
    ours: bool = True  # written by this process, so counted against its limit

    def read(self, most: int, *, growing: bool) -> SpoolBatch:
        """Read some records from where the last commit ended."""
        window, left = _WINDOW, self.size - self.done
        while True:
            content = os.pread(self.handle, min(window, left), self.done)
            last = len(content) >= left or not content
            found = scan_records(content, most, final=last and not growing)
            if found.records or found.end or last:
                return SpoolBatch(found.records, self, self.done + found.end, found.damage)
            window *= 2

    def close(self, *, delete: bool) -> None:
        """Let go of the file; a damaged one is set aside instead of being deleted."""
        with suppress(FileNotFoundError):
            if delete and self.damage:
                self.path.rename(self.path.with_name(self.path.name + DAMAGED))
            elif delete:
                self.path.unlink()
        os.close(self.handle)


class Spool:
    """The segments of this process, oldest first, and those it took over from the dead."""

    def __init__(self, folder: Path, *, limit: int, rotate: int = _ROTATE) -> None:
        self.folder, self._limit, self._rotate = folder, limit, rotate
        self.waiting = 0  # bytes of this process's own that are not committed yet
        self.damaged = 0  # bytes that were no records, in segments that are done with
        self._serial = 0
        self._segments: deque[SpoolSegment] = deque()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._live = self._begin()

    @property
    def backlog(self) -> int:
        """How many bytes are not committed yet, of this process and of the dead."""
        return sum(segment.size - segment.done for segment in self._segments)

    @property
    def has_inherited(self) -> bool:
        """Whether records of dead processes wait here."""
        return any(not segment.ours for segment in self._segments)

    def append(self, payload: bytes) -> None:
        """Write one record, or raise `SpoolFull` and leave no trace of it."""
        content = frame_record(payload)
        if self.waiting + len(content) > self._limit:
            raise SpoolFull("the spool has reached its limit")
        try:
            if self._live.size >= self._rotate or self._live.torn:
                self._live = self._begin()
            _append(self._live, content)
        except OSError as error:
            raise SpoolFull(f"the spool cannot be written: {error.strerror}") from error
        self.waiting += len(content)

    def read(self, most: int) -> SpoolBatch | None:
        """Read the oldest records that are not committed; None where there are none."""
        while self._segments:
            segment = self._segments[0]
            growing = segment is self._live
            batch = segment.read(most, growing=growing)
            if batch.records:
                return batch
            if growing:
                return None
            self._advance(batch)
            self._drop(segment)
        return None

    def commit(self, batch: SpoolBatch) -> None:
        """Take note that the database has a batch."""
        self._advance(batch)
        segment = batch.segment
        if segment is self._live:
            if segment.done == segment.size >= _EMPTY and not segment.damage:
                os.ftruncate(segment.handle, 0)
                segment.size = segment.done = 0
        elif segment.done >= segment.size:
            self._drop(segment)

    def _advance(self, batch: SpoolBatch) -> None:
        segment = batch.segment
        if segment.ours:
            self.waiting -= batch.end - segment.done
        segment.done = batch.end
        segment.damage += batch.damage

    def adopt(self) -> int:
        """Take over the segments of processes that are dead; return how many there were."""
        held = {segment.path for segment in self._segments}
        found = 0
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            if path in held or (segment := _take_over(path)) is None:
                continue
            self._segments.appendleft(segment)
            found += 1
        return found

    def close(self) -> None:
        """Delete what is committed; leave the rest to whoever comes next."""
        for segment in self._segments:
            segment.close(delete=segment.done >= segment.size)
        self._segments.clear()

    def set_aside(self, payloads: Iterator[bytes] | list[bytes]) -> None:
        """Keep records that no database takes, a line each, for somebody to look at."""
        content = b"".join(payload + b"\n" for payload in payloads)
        with Path(self.folder / "rejected.jsonl").open("ab", buffering=0) as out:
            out.write(content)

    def _drop(self, segment: SpoolSegment) -> None:
        self._segments.remove(segment)
        self.damaged += segment.damage
        segment.close(delete=True)

    def _begin(self) -> SpoolSegment:
        """Begin a segment; one that an heir took before it was locked, or deleted, is left."""
        while True:
            self._serial += 1
            path = self.folder / f"{os.getpid()}-{os.urandom(4).hex()}-{self._serial:06d}{SUFFIX}"
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            if _try_lock(handle) and os.fstat(handle).st_nlink:
                segment = SpoolSegment(path, handle)
                self._segments.append(segment)
                return segment
            os.close(handle)


def _take_over(path: Path) -> SpoolSegment | None:
    """Take a segment whose owner is dead; None where it lives, or another was faster."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return None
    if not _try_lock(handle) or (state := os.fstat(handle)).st_nlink == 0:
        os.close(handle)
        return None
    return SpoolSegment(path, handle, size=state.st_size, ours=False)


def _append(segment: SpoolSegment, content: bytes) -> None:
    """Append in one write; of one that came to half nothing stays."""
    written = os.write(segment.handle, content)
    if written == len(content):
        segment.size += written
        return
    segment.torn = True
    os.ftruncate(segment.handle, segment.size)
    segment.torn = False
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
