"""How far raters agree: Krippendorff's alpha and Cohen's kappa, with missing ratings allowed.

Krippendorff, Content Analysis, second edition, 2004, chapter 11; Cohen, 1960, Educational and
Psychological Measurement 20, and, with weights, 1968, Psychological Bulletin 70.

Alpha is computed from coincidences, which add up over units. So a question's units can be drawn
again and again, and a thousand alphas are one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats

Level = Literal["ordinal", "interval"]


def coincidences(scores: Floats, points: int) -> Floats:
    """Count, for each unit, which ratings meet: (units, raters) in, (units, points, points) out.

    Scores are 1 to `points`, a missing one is NaN. A unit with m ratings counts m in all, and
    nothing where nobody could have agreed, with fewer than two.
    """
    votes = (scores[..., None] == np.arange(1, points + 1)).sum(axis=1, dtype=np.float64)
    pairs = votes[:, :, None] * votes[:, None, :]
    pairs -= votes[:, :, None] * np.eye(points)
    others = votes.sum(axis=1) - 1
    return np.asarray(pairs / np.maximum(others, 1)[:, None, None])


def alpha(met: Floats, level: Level) -> Floats:
    """Return Krippendorff's alpha of summed coincidences, along the last two axes.

    1 is perfect agreement, 0 what chance would give; NaN where all ratings are the same, so that
    chance cannot be told from agreement.
    """
    held = met.sum(axis=-1)
    total = held.sum(axis=-1)
    if level == "ordinal":
        place = np.cumsum(held, axis=-1) - held / 2
    else:
        place = np.broadcast_to(np.arange(met.shape[-1], dtype=np.float64), held.shape)
    apart = (place[..., :, None] - place[..., None, :]) ** 2
    seen = (met * apart).sum(axis=(-2, -1))
    by_chance = (held[..., :, None] * held[..., None, :] * apart).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - (total - 1) * seen / by_chance)


def kappa(one: Floats, other: Floats, *, points: int, quadratic: bool = False) -> float:
    """Return Cohen's kappa of two raters over what both rated.

    With quadratic weights a miss by two points counts four times a miss by one. NaN where both
    gave one and the same score throughout, or rated nothing in common.
    """
    both = ~np.isnan(one) & ~np.isnan(other)
    a, b = one[both].astype(np.int64) - 1, other[both].astype(np.int64) - 1
    seen = np.bincount(a * points + b, minlength=points * points).reshape(points, points)
    by_chance = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / max(a.size, 1)
    steps = np.arange(points)
    apart = (steps[:, None] - steps[None, :]) ** 2
    weight = apart if quadratic else apart > 0
    expected = float((weight * by_chance).sum())
    return 1 - float((weight * seen).sum()) / expected if expected else float("nan")
