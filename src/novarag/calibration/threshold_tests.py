"""The tests behind a gate: thresholds from strict to loose, each tested with an exact binomial.

H(t) says that answers at or above t are wrong more often than the risk. Its p-value is the chance
of as few errors at exactly the risk. A chain of tests goes from strict to loose; each rejected
hypothesis passes its level to the next one (the fallback procedure: Wiens, 2003; Wiens and
Dmitrienko, 2005), so that the chance of rejecting any true hypothesis is at most the sum of the
levels that the starts were given. Where chains start depends on
scores and never on grades.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from novarag.stats.exact import binomial_cdf, least_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from novarag.stats.arrays import Floats, Ints

DECIMALS = 9
"""Scores that are alike to so many decimals are one score."""

STEP = 0.01  # each threshold answers at least this share more: fewer tests, each with more power
STRICT = 0.2  # the share of the level that the strict start has
FIFTH = 0.2  # the main start answers at least this share of the rows


class RankedRows(NamedTuple):
    """Rows to test on, sorted from the highest score down; no unread one is among them.

    `coin` is drawn for each row, from 0 to 1; it decides where rows picked at a high rate are
    thinned. `question` is -1 throughout where each row is alone.
    """

    score: Floats
    wrong: NDArray[np.bool_]
    weight: Floats | None
    coin: Floats | None
    question: Ints | None


class ThresholdCounts(NamedTuple):
    """What was counted at each threshold: rows (or questions) answered, and errors among them.

    `size` is the number that the binomial test takes: the rows, or the effective number.
    """

    threshold: Floats
    answered: Floats
    size: Floats
    errors: Floats


class ChainStart(NamedTuple):
    """Where a chain starts: at the first threshold that answers `least`, with a `level`."""

    least: float
    level: float


class ChainWalk(NamedTuple):
    """How a chain went: p-value and level at each threshold, and the last that passed (or -1)."""

    p_value: Floats
    level: Floats
    last: int


def count(sample: RankedRows) -> ThresholdCounts:
    """Count answers and errors at the thresholds of a sample."""
    ends = step_ends(sample.score)
    threshold = np.round(sample.score[ends - 1], DECIMALS)
    if sample.weight is None and sample.question is None:
        answered = ends.astype(float)
        errors = np.cumsum(sample.wrong)[ends - 1].astype(float)
        return ThresholdCounts(threshold, answered, answered, errors)
    rows = [_counted(sample, int(end)) for end in ends]
    answered, size, errors = np.array(rows, dtype=float).reshape(-1, 3).T
    return ThresholdCounts(threshold, answered, size, errors)


def step_ends(score: Floats) -> Ints:
    """Return how many rows each threshold answers: distinct scores, a hundredth of rows apart."""
    if not score.size:
        return np.zeros(0, dtype=np.intp)
    levels = np.round(score, DECIMALS)
    ends = np.append(np.flatnonzero(levels[1:] < levels[:-1]) + 1, score.size)
    apart = STEP * score.size
    if (np.diff(ends, prepend=0) >= apart).all():
        return ends
    kept, last = [], 0
    for end in ends.tolist():
        if end - last >= apart or end == score.size:
            kept.append(end)
            last = end
    return np.array(kept, dtype=np.intp)


def _counted(sample: RankedRows, end: int) -> tuple[float, float, float]:
    """Count the first rows: how many answered, the number to test with, errors in that number."""
    wrong = sample.wrong[:end]
    question = None if sample.question is None else sample.question[:end]
    if sample.weight is not None and sample.coin is not None:
        weight = sample.weight[:end]
        kept = sample.coin[:end] * weight.max() < weight
        wrong = wrong[kept]
        question = None if question is None else question[kept]
    if question is None:
        return wrong.size, wrong.size, float(wrong.sum())
    return _effective(wrong, question)


def _effective(wrong: NDArray[np.bool_], question: Ints) -> tuple[float, float, float]:
    """Return questions, effective number of rows and errors in it.

    The effective number is Korn and Graubard's (1998, Survey Methodology 24): as many independent
    rows would give a rate of the same variance.
    """
    rows = np.bincount(question)
    errors = np.bincount(question, wrong)[rows > 0]
    rows = rows[rows > 0]
    questions, total = rows.size, float(wrong.size)
    rate = errors.sum() / total if total else 0.0
    spread = ((errors - rate * rows) ** 2).sum()
    size = float(questions)
    if spread > 0 and questions > 1:
        variance = questions / (questions - 1) * spread / total**2
        size = min(max(rate * (1 - rate) / variance, 1.0), total)
    return questions, size, size * rate


def starts(total: float, risk: float, delta: float) -> list[ChainStart]:
    """Say where chains start among `total` rows, and with which part of the level `delta`.

    The main start answers a fifth of the rows, or as many as may pass with one error. A strict
    start before it has a fifth of the level, for respondents that are right only at the top.
    """
    main = max(least_count(1, risk, delta), ceil(FIFTH * total))
    strict = least_count(1, risk, STRICT * delta)
    if strict >= main:
        return [ChainStart(main, delta)]
    return [ChainStart(strict, STRICT * delta), ChainStart(main, (1 - STRICT) * delta)]


def walk(counts: ThresholdCounts, risk: float, begun: list[ChainStart]) -> ChainWalk:
    """Test thresholds from strict to loose; a test that passes adds its level to the next."""
    p_value = binomial_cdf(counts.errors, counts.size, risk)
    own = np.zeros(p_value.size)
    for start in begun:
        enough = np.flatnonzero(counts.answered >= start.least)
        if enough.size:
            own[enough[0]] += start.level
    level = np.zeros(p_value.size)
    last, carried = -1, 0.0
    for at, (p, new) in enumerate(zip(p_value.tolist(), own.tolist(), strict=True)):
        level[at] = carried + new
        passed = level[at] > 0 and p <= level[at]
        carried = level[at] if passed else 0.0
        last = at if passed else last
    return ChainWalk(p_value, level, last)
