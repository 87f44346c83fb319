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

    from numpy.typing import NDArray

    from novarag.metrics.tally import GradedRows
    from novarag.stats.arrays import Floats, Ints

FOLDS = 5  # a constant is fitted on four fifths of the questions (decision 11)


def folds(questions: Sequence[str]) -> Ints:
    """Put each question into a fold by its own name, whatever its place in the file."""
    return np.array([stable_hash(q, size=4) % FOLDS for q in questions], dtype=np.intp)


def constant(rows: GradedRows, fold: Ints, group: Ints) -> Floats:
    """State the mean accuracy of the other folds, always."""
    return base_rate(rows, fold, np.zeros_like(group))


def base_rate(rows: GradedRows, fold: Ints, group: Ints) -> Floats:
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


def isotonic(rows: GradedRows, fold: Ints, group: Ints) -> Floats:  # noqa: ARG001 - one signature for all
    """Relabel the stated confidences by a monotone curve fitted on the other folds."""
    own = fold[rows.question]
    stated = rows.level[rows.at]
    out = np.full(rows.size, float(rows.correct.mean()))
    for f in range(FOLDS):
        rest, here = own != f, own == f
        if rest.any() and here.any():
            t = rows.pick(rest).tally()
            curve = rising_fit(t.right / t.count, t.count)
            out[here] = np.interp(stated[here], t.level, curve)
    return out


BASELINES: dict[str, Callable[[GradedRows, Ints, Ints], Floats]] = {
    "constant": constant,
    "base rate": base_rate,
    "isotonic": isotonic,
}
"""Cheap respondents, each fitted on other questions than those it is measured on."""

WORD_OVERLAP = "word-overlap"
"""The name of the baseline that counts words; it stands where the passages are known."""

_STEP = 1000  # levels of its confidence, so that a tally of a long table stays small
_FITTED = 50_000  # rows that six coefficients are fitted on at most


def word_overlap(overlap: Floats, correct: NDArray[np.bool_], question: Ints, fold: Ints) -> Floats:
    """State the chance of being right, by how many of the question's words the passages hold.

    `overlap` has a row of `novarag.overlap.OVERLAPS` for each answer, `question` its question and
    `fold` the fold of each question. A logistic curve is fitted on the other folds.
    """
    from novarag.stats.logistic import fit  # its optimiser takes a while to load

    own = fold[question]
    out = np.full(len(overlap), float(correct.mean()))
    for number in np.unique(own):
        test = own == number
        rest = np.flatnonzero(~test)
        if rest.size:
            rest = rest[:: -(-rest.size // _FITTED)]
            model = fit(overlap[rest], correct[rest].astype(np.int64), 2)
            out[test] = model.chances(overlap[test])[:, 1]
    return np.round(out * _STEP) / _STEP


@dataclass(frozen=True, slots=True)
class EceFloor:
    """The ECE a perfectly calibrated respondent would show on these confidences and questions."""

    mean: float
    line: float
    draws: int


def noise_floor(rows: GradedRows, *, seed: int, draws: int = 1000, bins: int = BINS) -> EceFloor:
    """Simulate the ECE of perfect calibration; `line` is its 95th percentile.

    Consistency resampling: Bröcker and Smith, 2007, Weather and Forecasting 22.

    Each question gets one draw that all its rows share, as answers to one question tend to be
    right or wrong together; with one row a question the rows are independent.
    """
    rng = np.random.default_rng(seed)
    used, question = np.unique(rows.question, return_inverse=True)
    level = rows.level[rows.at]
    at = bin_of(level, bins)
    stated = np.bincount(at, level, bins)
    order = np.lexsort((question, at))  # bin by bin, so that right answers are counted in slices
    question, in_order = question[order], level[order]
    edges = np.searchsorted(at[order], np.arange(bins + 1))
    scores = np.empty(draws)
    for i in range(draws):
        truth = rng.random(used.size)[question] < in_order
        right = [np.count_nonzero(truth[edges[b] : edges[b + 1]]) for b in range(bins)]
        scores[i] = np.abs(stated - right).sum() / level.size
    return EceFloor(float(scores.mean()), float(np.quantile(scores, 0.95)), draws)
