"""Small JSON files that show when a single byte of them was changed."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import orjson

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return sha256(content).hexdigest()


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
