"""How a verb leaves a file behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_bytes(content)
    except OSError as error:
        error.filename = str(path)  # the name that the caller knows
        raise
    partial.replace(path)
