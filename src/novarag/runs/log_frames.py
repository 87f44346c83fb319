"""Records in a file that can be cut, scratched or mixed up anywhere, and still tell what is whole.

A frame is one line: checksum, length and the link to the record before it, in hexadecimal, then a
JSON object. JSON escapes line breaks, so no text inside a record can begin a line and pass for a
frame. The first link is made of the run and the number of the shard, and every checksum begins with
it: what another journal holds is no frame here. This shows accidents; who wants to forge a record
can compute all of it.

Every flaw has a name made of where it is and what stands there. Once it was told, a record with its
name is written, and it is not told again; other damage at the same place has another name.
"""

from __future__ import annotations

import re
from collections import Counter
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


_ONCE = {  # told once for all of them, with the first place
    "twice": "records are there twice",
    "moved": "records are out of their place",
}


@dataclass(frozen=True, slots=True)
class _ChainFlaw:
    kind: str
    offset: int
    name: str
    text: str = ""
    after: str | None = None  # the flaw that tells of this one too


class ChainCheck:
    """Takes in records in the order in which they stand, and finds what breaks their chain."""

    def __init__(self, root: bytes, *, overlapping: bool) -> None:
        self.tip = root
        self.known: set[str] = set()
        self._overlapping = overlapping
        self._seen, self._pointed = {root}, {root}
        self._tips: dict[str, bytes] = {}  # by writer, its last link
        self._following: dict[str, int] = {}  # by writer, the number that comes next
        self._flaws: list[_ChainFlaw] = []
        self._scratch: Scratch | None = None  # directly before the record that comes next

    def scratched(self, scratch: Scratch) -> None:
        """Note bytes that are no record."""
        self._scratch = scratch
        text = f"{scratch.length:,} bytes are damaged at byte {scratch.offset:,}"
        self._flaws.append(_ChainFlaw("scratch", scratch.offset, f"s{scratch.offset}", text))

    def is_new(self, frame: Frame, writer: str, number: int) -> bool:
        """Note a record, and say whether it was not there already."""
        scratch, self._scratch = self._scratch, None
        if frame.link in self._seen:
            self._note("twice", frame, frame.link)
            return False
        if not self._follows(frame, writer, number):
            if frame.before in self._seen:
                self._note("moved", frame, frame.link)
            else:
                self._note_gap(frame, number - self._following.get(writer, 0), scratch)
        self._seen.add(frame.link)
        self._pointed.add(frame.before)
        self.tip = self._tips[writer] = frame.link
        self._following[writer] = number + 1
        return True

    def _follows(self, frame: Frame, writer: str, number: int) -> bool:
        if frame.before == self.tip:
            return True
        begins = number == 0 and frame.before in self._seen
        return self._overlapping and (begins or frame.before == self._tips.get(writer))

    def _note(self, kind: str, frame: Frame, link: bytes, text: str = "") -> None:
        name = f"{kind[0]}{frame.offset}:{link.decode()}"
        self._flaws.append(_ChainFlaw(kind, frame.offset, name, text))

    def _note_gap(self, frame: Frame, missing: int, scratch: Scratch | None) -> None:
        count = f"{missing:,} records" if missing > 0 else "records"
        text = f"{count} are missing near byte {frame.offset:,}"
        name = f"g{frame.offset}:{frame.before.decode()}"
        after = None if scratch is None else f"s{scratch.offset}"
        self._flaws.append(_ChainFlaw("gap", frame.offset, name, text, after))

    def damage(self, size: int, safe: Mark | None) -> tuple[list[str], list[str]]:
        """Say what is damaged and was not told before; return that, and the names of it all."""
        new = [flaw for flaw in self._flaws if flaw.name not in self.known]
        names = [flaw.name for flaw in new]
        fresh = set(names)
        reported = [flaw for flaw in new if flaw.after not in fresh]
        last = self._scratch
        if last is not None and last.torn and not self._overlapping:
            # a kill cut the last record, which a segment's cannot be; a lost end is told below
            reported = [flaw for flaw in reported if flaw.name != f"s{last.offset}"]
        said = [flaw.text for flaw in reported if flaw.kind not in _ONCE]
        counts = Counter(flaw.kind for flaw in reported)
        for kind, text in _ONCE.items():
            if counts[kind]:
                first = next(flaw.offset for flaw in reported if flaw.kind == kind)
                said.append(f"{counts[kind]:,} {text}, the first at byte {first:,}")
        if safe is not None and safe.head.encode() not in self._seen | self._pointed:
            said.append(_lost_end(size, safe))
        return said, names


def _lost_end(size: int, safe: Mark) -> str:
    what = f"its record that ends at byte {safe.size:,} is damaged or another's"
    if size < safe.size:
        what = f"its last {safe.size - size:,} bytes are missing"
    return (
        f"{what}, by its last heartbeat (the second after that is not vouched for); put it back"
        " from a copy, or what is missing is asked again"
    )
