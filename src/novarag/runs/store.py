"""Where a run lives: a local folder, an object store, or this process; all behind a few verbs.

A file is written whole or not at all. A log grows: on a local disk by appending, where every record
outlives a killed process; on an object store by segments, one for each `sync`.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.imports import with_extra
from novarag.runs.bucket import Bucket, SegmentLog
from novarag.runs.folder import FileLog, Folder

if TYPE_CHECKING:
    from collections.abc import Iterable


class Memory:
    """Files and logs by name, gone when nobody holds them any more."""

    place = "memory"
    overlapping = False

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._logs: dict[str, bytearray] = {}
        self._locks: set[str] = set()
        self._guard = Lock()  # shards are finished in threads

    def open_to_group(self) -> None:
        """Do nothing: nobody else sees this memory."""

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if there is no such file."""
        return self._files.get(name)

    def write(self, name: str, content: bytes, *, durable: bool = True) -> None:  # noqa: ARG002
        """Put a whole file in place."""
        self._files[name] = content

    def names(self, folder: str) -> list[str]:
        """List the files of a folder, sorted."""
        with self._guard:
            names = list(self._files)
        return sorted(name for name in names if name.rpartition("/")[0] == folder)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._files.pop(name, None)

    def sweep(self, names: Iterable[str]) -> None:
        """Do nothing: nobody leaves drafts here."""

    def log(self, name: str) -> MemoryLog:
        """Open a log to append to."""
        return MemoryLog(self._logs.setdefault(name, bytearray()))

    def read_log(self, name: str) -> bytes | None:
        """Return all of a log, or None if there is none."""
        found = self._logs.get(name)
        return None if found is None else bytes(found)

    def lock(self, name: str) -> bool:
        """Take a lock, unless somebody in this process holds it."""
        with self._guard:
            free = name not in self._locks
            self._locks.add(name)
        return free

    def unlock(self, name: str) -> None:
        """Let go of a lock."""
        with self._guard:
            self._locks.discard(name)


class MemoryLog:
    """Records one after the other."""

    def __init__(self, content: bytearray) -> None:
        self._content = content

    @property
    def size(self) -> int:
        """Return how many bytes there are."""
        return len(self._content)

    def append(self, record: bytes) -> None:
        """Add one record."""
        self._content += record

    def sync(self) -> int:
        """Return how many bytes are as safe as they will be: all of them."""
        return self.size

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


Store = Folder | Bucket | Memory
Log = FileLog | SegmentLog | MemoryLog


def everywhere(store: Store) -> Store:
    """Name a folder so that a process with another working directory finds it."""
    if isinstance(store, Memory):
        raise UsageError("a run in memory stays in its process; give it a folder to share it")
    return store.absolute() if isinstance(store, Folder) else store


def open_store(place: str | Path) -> Store:
    """Open a folder, or `s3://…`, `gs://…` and the like through pyarrow's filesystems."""
    text = str(place)
    if "://" not in text:
        if Path(text).is_file():
            raise UsageError(f"{text} is a file; a run is a folder")
        return Folder(Path(text))
    try:
        from pyarrow import fs
    except ImportError:
        raise UsageError(f"a run on an object store needs: {with_extra('store')}") from None
    if "@" in text:
        raise UsageError("the address of the run holds a key: keys come from the environment")
    try:
        filesystem, path = fs.FileSystem.from_uri(text)
    except (ValueError, OSError) as error:
        raise UsageError(f"{text!r} cannot be opened: {error}") from None
    if not path.strip("/"):
        raise UsageError(f"{text!r} names no bucket: write s3://BUCKET/RUN")
    return Bucket(filesystem, path, text)
