"""What a command left behind with each install, side by side."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from validation.golden.masking import STDERR, STDOUT, as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from validation.golden.changes import Change
    from validation.golden.masking import Mask

    Scan = dict[str, tuple[int, ...]]
    Sides = tuple[bytes | None, bytes | None]

_SHOWN = 60  # lines of a difference
_WIDEST = 300  # characters of such a line


@dataclass(frozen=True)
class Result:
    """What one install made of a command; `before` and `now` are the work folder's files."""

    code: int
    stdout: bytes
    stderr: bytes
    before: Scan
    now: Scan
    work: Path

    def touched(self) -> set[str]:
        """Name the files that are new, gone or written anew."""
        names = self.before.keys() | self.now.keys()
        return {name for name in names if self.before.get(name) != self.now.get(name)}

    def read(self, name: str) -> bytes | None:
        """Return what a file holds; nothing for a folder, None where there is none."""
        if name in {STDOUT, STDERR}:
            return self.stdout if name == STDOUT else self.stderr
        path = self.work / name
        if name.endswith("/"):
            return b"" if path.is_dir() else None
        return path.read_bytes() if path.is_file() else None


def scan(work: Path) -> Scan:
    """List all files and folders with what tells whether one was written since."""
    found: Scan = {}
    for path in work.rglob("*"):
        name = path.relative_to(work).as_posix()
        if path.is_dir():
            found[f"{name}/"] = ()
        else:
            differences = path.stat()
            found[name] = (differences.st_mtime_ns, differences.st_size, differences.st_ino)
    return found


@dataclass
class Comparison:
    """Compares results of both installs, and keeps count."""

    masks: tuple[Mask, ...]
    changes: tuple[Change, ...]
    files: int = 0
    masked: Counter[str] = field(default_factory=Counter)
    needed: set[Change] = field(default_factory=set)

    def compare(
        self, command: str, base: Result, head: Result, streams: Iterable[str]
    ) -> list[str]:
        """Return the lines that tell of differences; none where there are none."""
        differences = []
        if base.code != head.code:
            differences.append(f"exit code {base.code} with the base, {head.code} with the head")
        names = sorted(base.touched() | head.touched())
        self.files += sum(not name.endswith("/") for name in names)
        differing: dict[str, Sides] = {}
        for name in [*streams, *names]:
            sides = (base.read(name), head.read(name))
            if sides[0] == sides[1]:
                continue
            sides = self._masked(name, sides)
            if sides[0] != sides[1] and not self._expected(command, name, sides):
                differing[name] = sides
        return [*differences, *_file_lines(differing)]

    def _masked(self, name: str, sides: Sides) -> Sides:
        base, head = sides
        if base is None or head is None:
            return sides
        for mask in self.masks:
            if not mask.covers(name):
                continue
            try:
                after = mask.apply(base), mask.apply(head)
            except (ValueError, KeyError, TypeError):  # damaged on purpose: as it is
                continue
            if after != (base, head):
                self.masked[mask.name] += 1
            base, head = after
        return base, head

    def _expected(self, command: str, name: str, sides: Sides) -> bool:
        for change in self.changes:
            if change.covers(command, name) and change.how(*sides):
                self.needed.add(change)
                return True
        return False

    def stale(self) -> list[Change]:
        """Return the changes that nothing needed."""
        return [change for change in self.changes if change not in self.needed]


def _file_lines(differing: Mapping[str, Sides]) -> Iterable[str]:
    """Name all files that differ, and show the first that can be shown."""
    for name, (base, head) in differing.items():
        where = "only with the head" if base is None else "only with the base"
        yield f"differs: {name}" + (f" ({where})" if base is None or head is None else "")
    for name, (base, head) in differing.items():
        if base is not None and head is not None:
            yield from _difference(name, base, head)
            return


def _difference(name: str, base: bytes, head: bytes) -> Iterable[str]:
    texts = as_text(base), as_text(head)
    if texts[0] is None or texts[1] is None:
        yield f"{name}: {len(base):,} bytes with the base, {len(head):,} with the head"
        return
    if texts[0] == texts[1]:
        yield f"{name}: the same rows and types, but other bytes"
        return
    was, now = (text.splitlines() for text in texts if text is not None)
    found = list(difflib.unified_diff(was, now, f"base/{name}", f"head/{name}", lineterm="", n=2))
    yield from (line[:_WIDEST] for line in found[:_SHOWN])
    if len(found) > _SHOWN:
        yield f"… {len(found) - _SHOWN:,} more lines"
