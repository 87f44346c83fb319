"""Small things that are kept as one sealed JSON file each: calibrations and gates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from novarag.atomic import write_whole
from novarag.errors import DataError, UsageError
from novarag.sealed_json import seal, unseal


def write_kept(content: dict[str, Any], path: str | Path) -> None:
    """Write one readable JSON file with a checksum of its own."""
    write_whole(Path(path), seal(content))


def read_kept(path: str | Path, *, what: str, again: str) -> dict[str, Any]:
    """Read such a file; one that was changed by a byte is refused, with how to make it again."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    content = unseal(raw)
    if content is None:
        raise DataError(
            f"this is no {what}, or it was changed after it was written.",
            hint=again,
            source=str(path),
        )
    return content
