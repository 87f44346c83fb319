"""What costs nothing: the confidences a report must beat, and the noise it must rise above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.metrics.calibration import BINS, bin_of
from novarag.seeding import stable_hash
from novarag.stats.isotonic import rising_fit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from novarag.metrics.tally import Rows
    from novarag.stats.arrays import Floats, Ints

FOLDS = 5


def folds(questions: Sequence[str]) -> Ints:
    """Put each question into a fold by its own name, whatever its place in the file."""
    return np.array([stable_hash(q, size=4) % FOLDS for q in questions], dtype=np.intp)


def constant(rows: Rows, fold: Ints, group: Ints) -> Floats:
    """State the mean accuracy of the other folds, always."""
    return base_rate(rows, fold, np.zeros_like(group))


def base_rate(rows: Rows, fold: Ints, group: Ints) -> Floats:
    """State the mean accuracy of one's own group in the other folds."""
    n_groups = int(group.max()) + 1
    cell = group * FOLDS + fold[rows.question]
    shape = (n_groups, FOLDS)
    count = np.bincount(cell, minlength=n_groups * FOLDS).reshape(shape)
    right = np.bincount(cell, rows.correct, n_groups * FOLDS).reshape(shape)
    others = count.sum(axis=1, keepdims=True) - count
    rights = right.sum(axis=1, keepdims=True) - right
    overall = float(rows.correct.mean())
    rate = np.divide(rights, others, out=np.full(shape, overall), where=others > 0)
    return np.asarray(rate.ravel()[cell])


def isotonic(rows: Rows, fold: Ints, group: Ints) -> Floats:  # noqa: ARG001 - one signature for all
    """Relabel the stated confidences by a monotone curve fitted on the other folds."""
    own = fold[rows.question]
    stated = rows.level[rows.at]
    out = np.full(rows.size, float(rows.correct.mean()))
    for f in range(FOLDS):
        rest, here = own != f, own == f
        if rest.any() and here.any():
            t = rows.pick(rest).tally()
            fit = rising_fit(t.right / t.count, t.count)
            out[here] = np.interp(stated[here], t.level, fit)
    return out


BASELINES: dict[str, Callable[[Rows, Ints, Ints], Floats]] = {
    "constant": constant,
    "base rate": base_rate,
    "isotonic": isotonic,
}
"""Cheap respondents, each fitted on other questions than those it is measured on."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The ECE a perfectly calibrated respondent would show on these confidences and questions."""

    mean: float
    line: float
    draws: int


def noise_floor(rows: Rows, *, seed: int, draws: int = 1000, bins: int = BINS) -> Floor:
    """Simulate the ECE of perfect calibration; `line` is its 95th percentile.

    Each question gets one draw that all its rows share, as answers to one question tend to be
    right or wrong together; with one row a question the rows are independent.
    """
    rng = np.random.default_rng(seed)
    used, question = np.unique(rows.question, return_inverse=True)
    level = rows.level[rows.at]
    at = bin_of(level, bins)
    stated = np.bincount(at, level, bins)
    scores = np.empty(draws)
    for i in range(draws):
        truth = rng.random(used.size)[question] < level
        scores[i] = np.abs(stated - np.bincount(at[truth], minlength=bins)).sum() / level.size
    return Floor(float(scores.mean()), float(np.quantile(scores, 0.95)), draws)
