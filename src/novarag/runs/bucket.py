"""A run on an object store, through a pyarrow filesystem: whole objects, and logs in segments."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.runs import crash_points
from novarag.runs.folder import trouble

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyarrow.fs import FileSystem


class Bucket:
    """A path of an object store, through a pyarrow filesystem."""

    overlapping = True
    """Whether somebody may still write while another takes over: there are no locks here."""

    def __init__(self, filesystem: FileSystem, path: str, place: str) -> None:
        self.filesystem, self.path, self.place = filesystem, path.rstrip("/"), place

    def open_to_group(self) -> None:
        """Refuse: who may read an object is said where its bucket is kept."""
        raise UsageError.saying(
            "{} has permissions of its own; `group_readable` is for folders", self.place
        )

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if there is no such file."""
        try:
            with self.filesystem.open_input_stream(f"{self.path}/{name}") as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes, *, durable: bool = True) -> None:  # noqa: ARG002
        """Put a whole file in place, or leave what was there."""
        path = f"{self.path}/{name}"
        try:
            self.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
            with self.filesystem.open_output_stream(path) as stream:
                stream.write(content)
        except OSError as error:
            raise trouble(error, self.place) from error
        crash_points.reached("file renamed")

    def names(self, folder: str) -> list[str]:
        """List the files of a folder, sorted."""
        from pyarrow import fs

        chosen = fs.FileSelector(f"{self.path}/{folder}", allow_not_found=True)
        found = self.filesystem.get_file_info(chosen)
        return sorted(f"{folder}/{f.base_name}" for f in found if f.type == fs.FileType.File)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            self.filesystem.delete_file(f"{self.path}/{name}")

    def log(self, name: str) -> SegmentLog:
        """Open a log to append to."""
        return SegmentLog(self, name)

    def read_log(self, name: str) -> bytes | None:
        """Return all of a log, or None if there is none."""
        segments = self.names(name)
        return b"".join(self.read(s) or b"" for s in segments) if segments else None

    def lock(self, name: str) -> bool | None:  # noqa: ARG002 - an object store has no locks
        """Say that there are no locks here."""
        return None

    def unlock(self, name: str) -> None:
        """Do nothing: there are no locks here."""

    def sweep(self, names: Iterable[str]) -> None:
        """Do nothing: an object store leaves no drafts."""


class SegmentLog:
    """A log in numbered objects; who wrote them is in their names, so two writers lose nothing."""

    def __init__(self, bucket: Bucket, name: str) -> None:
        self._bucket, self._name = bucket, name
        taken = [int(segment.rpartition("/")[2][:8]) for segment in bucket.names(name)]
        self._number = max(taken, default=-1) + 1
        self._writer = os.urandom(4).hex()
        self._buffer: list[bytes] = []
        self.size = len(bucket.read_log(name) or b"")
        self._synced = self.size
        self._adding, self._sending = Lock(), Lock()

    def append(self, record: bytes) -> None:
        """Add one record; it outlives this process from the next `sync` on."""
        with self._adding:
            self._buffer.append(record)
            self.size += len(record)

    def sync(self) -> int:
        """Send what was added as one segment, and return how many bytes are safe."""
        with self._sending:
            with self._adding:
                taken = list(self._buffer)
            if taken:
                content = b"".join(taken)
                name = f"{self._name}/{self._number:08}-{self._writer}"
                self._bucket.write(name, content)
                self._number += 1
                self._synced += len(content)
                with self._adding:
                    del self._buffer[: len(taken)]
            return self._synced

    def close(self) -> None:
        """Sync and let go."""
        self.sync()
