"""Whether the records of a journal follow each other as they were written, and what to say if not.

Every flaw has a name made of where it is and what stands there. Once it was told, a record with its
name is written, and it is not told again; other damage at the same place has another name.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.runs.log_frames import Frame, Mark, Scratch

_ONCE = {  # told once for all of them, with the first place
    "twice": "records are there twice",
    "moved": "records are out of their place",
}


@dataclass(frozen=True, slots=True)
class _Flaw:
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
        self._flaws: list[_Flaw] = []
        self._scratch: Scratch | None = None  # directly before the record that comes next

    def scratched(self, scratch: Scratch) -> None:
        """Note bytes that are no record."""
        self._scratch = scratch
        text = f"{scratch.length:,} bytes are damaged at byte {scratch.offset:,}"
        self._flaws.append(_Flaw("scratch", scratch.offset, f"s{scratch.offset}", text))

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
        self._flaws.append(_Flaw(kind, frame.offset, name, text))

    def _note_gap(self, frame: Frame, missing: int, scratch: Scratch | None) -> None:
        count = f"{missing:,} records" if missing > 0 else "records"
        text = f"{count} are missing near byte {frame.offset:,}"
        name = f"g{frame.offset}:{frame.before.decode()}"
        after = None if scratch is None else f"s{scratch.offset}"
        self._flaws.append(_Flaw("gap", frame.offset, name, text, after))

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
