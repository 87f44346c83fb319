"""Raters that nobody is: ratings with known means and a known agreement, to test the chain with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from novarag.errors import UsageError
from novarag.study.ratings import StudyRatings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.study.sheet import RatingSheet


def simulated_ratings(
    sheet: RatingSheet,
    means: Mapping[str, float | Sequence[float]],
    *,
    raters: int = 4,
    agreement: float = 0.7,
    missing: float = 0.0,
    seed: int = 0,
) -> StudyRatings:
    """Make ratings with these expected means, by system: one for all criteria, or one for each.

    A score is one plus a binomial draw, so its mean is exact. Each rater takes the draw that all
    share with the chance sqrt(agreement), else one of their own; so the scores that two raters give
    a system correlate by `agreement`, and alpha on the interval level has it for its expectation
    where the systems have one mean. `missing` is the chance that a rating is left out.
    """
    key = sheet.key
    if set(means) != set(key.systems):
        raise UsageError(f"give a mean for each of the systems {', '.join(key.systems)}")
    criteria, points = len(key.rubric.criteria), key.rubric.points
    wanted = np.array([np.broadcast_to(means[name], criteria) for name in key.systems], float)
    if not (0 <= agreement <= 1 and 0 <= missing < 1 and raters >= 1):
        raise UsageError("agreement lies in [0, 1], missing in [0, 1), and there is a rater")
    if wanted.min() < 1 or wanted.max() > points:
        raise UsageError(f"a mean lies between 1 and {points}")
    rng = np.random.default_rng(seed)
    chance = (wanted - 1) / (points - 1)
    size = (raters, len(key.entries), *chance.shape)
    shared = 1 + rng.binomial(points - 1, chance, size=size[1:])
    own = 1 + rng.binomial(points - 1, chance, size=size)
    scores = np.where(rng.random(size) < np.sqrt(agreement), shared, own).astype(np.float64)
    scores[rng.random(size) < missing] = np.nan
    return StudyRatings(
        key=key,
        raters=tuple(f"simulated rater {i + 1}" for i in range(raters)),
        scores=scores,
        simulated=True,
    )
