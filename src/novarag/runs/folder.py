"""A run in a local folder: whole files by renaming, logs by appending, locks that die with us.

Its files are for their owner, whatever the umask; `open_to_group` lets the group read them too.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from novarag.atomic import allow, drafts_of, whole_file
from novarag.errors import StorageError
from novarag.runs import crash_points

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_OURS = (
    "manifest.json", "frame.json", "groups", "journal", "leases", "shards", "trials", "attempts",
    "dead",
)  # fmt: skip
_OWNER, _GROUP = (0o700, 0o600), (0o750, 0o640)  # of folders, of files
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def trouble(error: OSError, place: str) -> StorageError:
    """Say in words why a place cannot be written to."""
    if error.errno in _FULL:
        why, hint = "the disk is full", "make room"
    else:
        why, hint = error.strerror or "the disk failed", "fix that"
    return StorageError(
        f"cannot write to {place}: {why}. What was journaled is kept; {hint} and run the same"
        " command again."
    )


class Folder:
    """A folder of the local disk, or of a disk that several machines mount."""

    overlapping = False

    def __init__(self, root: Path) -> None:
        self.root, self.place = root, str(root)
        self._locks: dict[str, int] = {}
        self._folders, self._files = _GROUP if _is_open(root / "manifest.json") else _OWNER

    def absolute(self) -> Folder:
        """Name the same folder so that a process with another working directory finds it."""
        same = Folder(self.root.absolute())
        same._folders, same._files = self._folders, self._files
        return same

    def open_to_group(self) -> None:
        """Let the group read what is here of a run and what will be."""
        self._folders, self._files = _GROUP
        if not (self.root / "manifest.json").is_file():
            return
        ours = [self.root / name for name in _OURS]
        within = [path for folder in ours if folder.is_dir() for path in folder.rglob("*")]
        for path in (self.root, *ours, *within):
            if path.exists() and not path.is_symlink():
                allow(path, self._folders if path.is_dir() else self._files)

    def _folder_of(self, name: str) -> Path:
        """Make the folder of a file where there is none, and return the file's path."""
        path = self.root / name
        for folder in (self.root, path.parent):
            if not folder.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                allow(folder, self._folders)
        return path

    def _open(self, path: Path, flags: int) -> int:
        """Open a file to write in, making it where there is none."""
        new = not path.exists()
        handle = os.open(path, flags | os.O_RDWR | os.O_CREAT, self._files)
        if new:
            allow(handle, self._files)
        return handle

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if there is no such file."""
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes, *, durable: bool = True) -> None:
        """Put a whole file in place, or leave what was there; leases alone need not be durable."""
        half = len(content) // 2
        try:
            path = self._folder_of(name)
            with whole_file(path, durable=durable, sweep=False, mode=self._files) as file:
                file.write(content[:half])
                file.flush()
                crash_points.reached("file half written")
                file.write(content[half:])
        except OSError as error:
            raise trouble(error, self.place) from error
        crash_points.reached("file renamed")

    def names(self, folder: str) -> list[str]:
        """List the files of a folder, sorted."""
        here = self.root / folder
        if not here.is_dir():
            return []
        return sorted(f"{folder}/{p.name}" for p in here.iterdir() if not p.name.startswith("."))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        path = self.root / name
        if path.exists():  # a disk that is read-only refuses to remove even what is not there
            path.unlink(missing_ok=True)

    def sweep(self, names: Iterable[str]) -> None:
        """Remove drafts that a killed process left of these files."""
        for name in names:
            for draft in drafts_of(self.root / name):
                draft.unlink(missing_ok=True)

    def log(self, name: str) -> FileLog:
        """Open a log to append to."""
        try:
            path = self._folder_of(name)
            return FileLog(self._open(path, os.O_APPEND), self.place)
        except OSError as error:
            raise trouble(error, self.place) from error

    def read_log(self, name: str) -> bytes | None:
        """Return all of a log, or None if there is none."""
        return self.read(name)

    def lock(self, name: str) -> bool | None:
        """Take a lock that dies with this process."""
        import fcntl

        try:
            handle = self._open(self._folder_of(name), 0)
        except OSError as error:
            raise trouble(error, self.place) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return False
        self._locks[name] = handle
        return True

    def unlock(self, name: str) -> None:
        """Let go of a lock."""
        handle = self._locks.pop(name, None)
        if handle is not None:
            os.close(handle)


class FileLog:
    """A file that only grows."""

    def __init__(self, handle: int, place: str) -> None:
        self._place, self._handle = place, handle
        self.size = os.fstat(self._handle).st_size
        torn = self.size and os.pread(self._handle, 1, self.size - 1) != b"\n"
        try:
            if torn:
                self.append(b"\n")  # a kill cut the last record; begin on a line of our own
        except StorageError:
            os.close(self._handle)
            raise

    def append(self, record: bytes) -> None:
        """Add one record; it outlives this process from here on."""
        try:
            _write_all(self._handle, record)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._handle, self.size)
            raise trouble(error, self._place) from error
        self.size += len(record)

    def sync(self) -> int:
        """Make all records outlive a power cut, and return how many bytes that is."""
        size = self.size
        try:
            os.fdatasync(self._handle)
        except OSError as error:
            raise trouble(error, self._place) from error
        return size

    def close(self) -> None:
        """Sync and let go."""
        if self._handle >= 0:
            try:
                self.sync()
            finally:
                os.close(self._handle)
                self._handle = -1


def _is_open(path: Path) -> bool:
    """Say whether a file is there that its group can read."""
    try:
        return bool(path.stat().st_mode & stat.S_IRGRP)
    except OSError:
        return False


def _write_all(handle: int, content: bytes) -> None:
    written = os.write(handle, content)
    while written < len(content):
        written += os.write(handle, content[written:])
