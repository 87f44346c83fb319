"""One way to draw by seed: names and a seed in, the same number out, on every machine.

What was drawn once must be drawn again by every later version, so the bits below may never change.
Other hashes (Python's own, those of Polars or NumPy) hold for one process or one version only.
"""

from __future__ import annotations

from hashlib import blake2b, sha256
from random import Random
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def draw_all(rng: Random, count: int) -> Iterator[int]:
    """Draw the numbers below `count` in random order, each once, at a cost for what is taken.

    >>> sorted(draw_all(rng_for(0, "places"), 5))
    [0, 1, 2, 3, 4]
    """
    moved: dict[int, int] = {}  # the places of a shuffled list that are not their own number
    for left in range(count, 0, -1):
        place = rng.randrange(left)
        last = moved.pop(left - 1, left - 1)
        if place == left - 1:
            yield last
        else:
            yield moved.get(place, place)
            moved[place] = last
