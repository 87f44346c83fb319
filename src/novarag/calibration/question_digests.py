"""Which questions something was fitted on, so that it is never judged on them.

Kept as short digests: enough to tell questions apart, too little to read them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from novarag.seeding import stable_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

_SIZE = 5  # bytes: by the birthday bound two of a million questions meet with a chance of .37


def _digest(name: str) -> bytes:
    return stable_hash("question", name, size=_SIZE).to_bytes(_SIZE)


def pack_questions(names: Iterable[str]) -> str:
    """Keep the digests of questions' names as one text."""
    return b64encode(b"".join(sorted({_digest(name) for name in names}))).decode()


def shared_questions(packed: str, names: Iterable[str]) -> list[str]:
    """Return the names that are among those packed."""
    raw = b64decode(packed)
    known = {raw[i : i + _SIZE] for i in range(0, len(raw), _SIZE)}
    return [name for name in names if _digest(name) in known]
