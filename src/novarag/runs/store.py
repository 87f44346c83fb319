"""Where a run lives: a local folder, an object store, or this process; all behind a few verbs.

A file is written whole or not at all. A log grows: on a local disk by appending, where every record
outlives a killed process; on an object store by segments, one for each `sync`.
"""

from __future__ import annotations

from pathlib import Path

from novarag.errors import UsageError
from novarag.imports import with_extra
from novarag.runs.bucket import Bucket, SegmentLog
from novarag.runs.folder import FileLog, Folder
from novarag.runs.memory import Memory, MemoryLog

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
