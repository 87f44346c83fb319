"""Milvus in a file: what its name must be, and waiting for an engine whose owner was killed."""

from __future__ import annotations

import os
import re
from pathlib import Path
from time import monotonic, sleep

from novarag.atomic import resolved
from novarag.errors import StorageError, UsageError

# What Milvus Lite takes for the name of a file.
_NAME = re.compile(r"[A-Za-z0-9._-]{1,36}")
_PATIENCE = 15.0  # seconds until a server whose caller died is gone


def is_file(uri: str) -> bool:
    """Say whether a URI names a file, and not a server."""
    return "://" not in uri


def check_file(uri: str, *, must_exist: bool) -> None:
    """Complain about a name that Milvus would refuse, or a file that is not there."""
    path = Path(uri)
    if path.suffix != ".db" or not _NAME.fullmatch(path.name):
        raise UsageError(
            f"{uri} is neither http://HOST:PORT nor a file such as index.db: a name of at most 36"
            " letters, digits, dots and dashes that ends in .db"
        )
    if must_exist and not path.is_file():
        raise UsageError.saying(
            "there is no index {}: `build_index(CORPUS, uri={})` makes one", uri, uri
        )
    if not must_exist:
        path.parent.mkdir(parents=True, exist_ok=True)


def wait_for_orphans(uri: str) -> None:
    """Wait until no engine of a killed process still writes the file.

    The engine is a process of its own and outlives its owner for a moment. What it commits then
    must be seen before anybody asks what is missing, or it would be added twice.
    """
    until = monotonic() + _PATIENCE
    while _orphans(uri):
        if monotonic() > until:
            raise StorageError(f"{uri} is open in another process: let it end first")
        sleep(0.05)


def _orphans(uri: str) -> list[int]:
    """List the engines of other processes that have the file open, where the system tells."""
    path = str(resolved(Path(uri).absolute())).encode()
    return [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if _runs(folder, path) and _parent(folder) != os.getpid()
    ]


def _runs(folder: Path, path: bytes) -> bool:
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return False
    return len(words) > 1 and words[0].endswith(b"/milvus") and words[1] == path


def _parent(folder: Path) -> int:
    try:
        return int((folder / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
