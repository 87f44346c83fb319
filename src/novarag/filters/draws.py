"""Numbers drawn for groups and samples, from their names and a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from novarag.seeding import stable_hash

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def group_draws(trials: pl.DataFrame, *, seed: int, purpose: str) -> NDArray[np.uint64]:
    """Draw a number for the group of each row; the rows of a group draw the same one."""
    drawn = _draws(trials, str(seed), purpose)
    return np.fromiter(drawn, dtype=np.uint64, count=trials.height)


def _draws(trials: pl.DataFrame, seed: str, purpose: str) -> Iterator[int]:
    last, drawn = None, 0
    for group in zip(trials["question"], trials["group"], strict=True):  # pragma: no branch
        if group != last:  # the rows of a group mostly stand together
            drawn = stable_hash(seed, purpose, group[0], group[1] or "")
            last = group
        yield drawn


def sample_draws(of_group: NDArray[np.uint64], sample: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Mix a group's number with the sample's (splitmix64): two samples never draw the same one."""
    mixed = of_group + sample.astype(np.uint64) * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    drawn: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return drawn
