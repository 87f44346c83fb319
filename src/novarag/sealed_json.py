"""Small JSON files that show when a single byte of them was changed.

One may vouch for other files, by their checksums.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import orjson

from novarag.checksums import Checksum, digest

if TYPE_CHECKING:
    from collections.abc import Mapping

SEAL = "seal.json"
"""The file of a folder that vouches for the others."""

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS


def seal(content: dict[str, Any]) -> bytes:
    """Write an object with its own checksum, in the one form that `unseal` accepts."""
    checksum = digest(orjson.dumps(content, option=_OPTIONS))
    return orjson.dumps({"content": content, "seal": checksum}, option=_OPTIONS) + b"\n"


def unseal(raw: bytes) -> dict[str, Any] | None:
    """Read a sealed object; None when any byte differs from what `seal` wrote."""
    try:
        content: dict[str, Any] = orjson.loads(raw)["content"]
        return content if seal(content) == raw else None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None


def seal_files(files: Mapping[str, Checksum], **facts: object) -> bytes:
    """Write down what files are, by name, and facts about them."""
    return seal({**facts, "files": {name: asdict(known) for name, known in files.items()}})


def unseal_files(raw: bytes, **facts: object) -> dict[str, Checksum] | None:
    """Read what files were when they were sealed; None when that is damaged, or of other facts."""
    content = unseal(raw)
    if content is None or any(content.get(name) != fact for name, fact in facts.items()):
        return None
    return parse_files(content.get("files"))


def parse_files(listed: object) -> dict[str, Checksum] | None:
    """Read checksums by name from JSON; None where they are not what this version writes."""
    try:
        return {name: Checksum(**known) for name, known in listed.items()}  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        return None
