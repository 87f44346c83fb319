"""The file of what a tool has taken of some answers, so that nothing is sent twice."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import orjson

from novarag.atomic import sync
from novarag.checksums import digest
from novarag.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.integrations.annotations import ToolAnnotation


class SentLog:
    """What a tool has taken, in a file that only grows; one process writes at a time.

    A line that a kill cut off counts for nothing: what it named is sent again. Where a tool is
    stands there as a digest, as addresses may hold passwords.
    """

    def __init__(self, path: Path, place: str) -> None:
        self._path, self._to = path, digest(place.encode())[:12]
        self._known: dict[str, str] = {}
        self.begun = ""

    def about(self, name: str) -> str | None:
        """Return the digest of what was sent under an id."""
        return self._known.get(name)

    def __enter__(self) -> Self:
        import fcntl

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a+b")
        except OSError as error:
            raise StorageError.saying(
                "cannot write {} ({}): give another file as `sent`", self._path, error.strerror
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise StorageError(f"another process is sending, and writes {self._path}") from None
        self._read()
        if not self.begun:
            self.begun = datetime.now(UTC).isoformat(timespec="seconds")
            self._append({"begun": self.begun})
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, taken: Sequence[ToolAnnotation]) -> None:
        """Write down what was taken."""
        if taken:
            known = {one.id: one.about for one in taken}
            self._append({"sent": known})
            self._known |= known

    def _read(self) -> None:
        self._file.seek(0)
        last = b"\n"
        for last in self._file:
            line = _line(last)
            if line.get("to") == self._to:
                self.begun = self.begun or str(line.get("begun") or "")
                self._known |= line.get("sent") or {}
        if not last.endswith(b"\n"):
            self._file.write(b"\n")

    def _append(self, line: dict[str, Any]) -> None:
        self._file.write(orjson.dumps({"to": self._to, **line}) + b"\n")
        self._file.flush()
        sync(self._path)


def _line(content: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    sent = found.get("sent") if isinstance(found, dict) else None
    return found if isinstance(sent, dict | None) and isinstance(found, dict) else {}
