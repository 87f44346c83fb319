"""One way to draw by seed: names and a seed in, the same number out, on every machine.

What was drawn once must be drawn again by every later version, so the bits below may never change.
Other hashes (Python's own, those of Polars or NumPy) hold for one process or one version only.
"""

from __future__ import annotations

from hashlib import blake2b, sha256
from random import Random
from typing import Literal

_SEPARATOR = "\x1f"


def stable_hash(
    *parts: str,
    size: int = 8,
    algorithm: Literal["blake2b", "sha256"] = "blake2b",
    errors: str = "surrogatepass",
) -> int:
    """Return a number of `size` bytes that depends on the parts alone.

    `errors` says how text that is not Unicode is encoded, as in `str.encode`.

    >>> stable_hash("0", "q1") == stable_hash("0", "q1") != stable_hash("1", "q1")
    True
    """
    content = _SEPARATOR.join(parts).encode("utf-8", errors)
    if algorithm == "sha256":
        return int.from_bytes(sha256(content).digest()[:size])
    return int.from_bytes(blake2b(content, digest_size=size).digest())


def seed_for(seed: int, *keys: str) -> int:
    """Return a seed for NumPy's generators that depends on the keys."""
    return stable_hash(str(seed), *keys)


def rng_for(seed: int, *keys: str) -> Random:
    """Return a generator that depends on the keys, not on the order of the calls."""
    return Random(stable_hash(str(seed), *keys))  # noqa: S311 - not for secrets
