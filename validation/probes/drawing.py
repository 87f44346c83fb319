"""Draw questions many times, test all relations of a card together, and count."""

from collections.abc import Mapping

import numpy as np

from novarag.probes.card import LEVEL
from novarag.probes.relations import RELATIONS
from novarag.stats.binomial import clopper_pearson
from novarag.stats.corrections import holm
from novarag.stats.johnson import mean_above_zero

CHUNK = 250
MANY = 2000
"""Runs from which a share is held against its bound without regard to chance."""


def broken(
    scores: Mapping[str, np.ndarray], questions: int, runs: int, seed: int, stated: float = 1.0
) -> dict[str, np.ndarray]:
    """Say for each relation in which runs it is called broken; a run draws questions anew.

    `stated` is the mean confidence of the first side.
    """
    rng = np.random.default_rng(seed)
    found = []
    for start in range(0, runs, CHUNK):
        size = min(CHUNK, runs - start)
        pool = len(next(iter(scores.values())))
        drawn = rng.integers(0, pool, (size, questions))
        p = [mean_above_zero(s[drawn], least=RELATIONS[r].least(stated)) for r, s in scores.items()]
        found.append(holm(np.stack(p, axis=-1)) <= LEVEL)
    return dict(zip(scores, np.concatenate(found).T, strict=True))


def share(hits: np.ndarray) -> tuple[float, float, float]:
    """Return a share with its exact 95 % bounds."""
    counted = np.array([float(hits.sum())])
    low, high = clopper_pearson(counted, np.array([float(hits.size)]))
    return float(hits.mean()), float(low[0]), float(high[0])


def shown(hits: np.ndarray) -> str:
    """Write a share with its bounds."""
    value, low, high = share(hits)
    return f"{value:.1%} ({low:.1%} to {high:.1%})"


def at_most(hits: np.ndarray, most: float) -> bool:
    """Say whether a share is kept; few runs must show that it is not."""
    value, low, _ = share(hits)
    return (value if hits.size >= MANY else low) <= most


def claim(fine: bool, text: str) -> bool:
    """Print what was claimed and whether it is so."""
    print(f"{'ok  ' if fine else 'FAIL'}  {text}", flush=True)
    return fine
