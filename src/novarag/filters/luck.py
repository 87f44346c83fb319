"""Luck that is the same on every machine: a number for each group, from its name and a seed.

Polars has hashes too, but promises them for one version only.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def group_luck(trials: pl.DataFrame, *, seed: int, purpose: str) -> NDArray[np.uint64]:
    """Draw a number for the group of each row; the rows of a group draw the same one."""
    key = f"{seed}\x1f{purpose}\x1f".encode()
    return np.fromiter(_draws(key, trials), dtype=np.uint64, count=trials.height)


def _draws(key: bytes, trials: pl.DataFrame) -> Iterator[int]:
    last, drawn = None, 0
    for group in zip(trials["question"], trials["group"], strict=True):  # pragma: no branch
        if group != last:  # the rows of a group mostly stand together
            name = f"{group[0]}\x1f{group[1] or ''}".encode("utf-8", "surrogatepass")
            drawn = int.from_bytes(blake2b(key + name, digest_size=8).digest(), "big")
            last = group
        yield drawn


def sample_luck(luck: NDArray[np.uint64], sample: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Mix a group's number with the sample's (splitmix64): two samples never draw the same one."""
    mixed = luck + sample.astype(np.uint64) * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    drawn: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return drawn
