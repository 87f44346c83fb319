"""How many graded questions a gate would need: where its first tests have a power of 80 %.

A gate refuses where the first test of every chain fails. So the rates of error at the thresholds
are estimated from the rows at hand, and the least number of rows is looked for at which one of the
first tests passes with a chance of 80 %, by the exact binomial. Rates are smoothed: ten rows' worth
of a logistic line over the ranks of the scores joins what was counted. The range comes from rows
drawn again (bootstrap).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit

from novarag.calibration.gate import SampleSizeEstimate
from novarag.calibration.threshold_tests import FIFTH, STRICT, ThresholdCounts
from novarag.seeding import seed_for
from novarag.stats.exact import binomial_cdf, least_count, most_hits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.stats.arrays import Floats

POWER = 0.8
"""The chance of a gate with as many rows as `SampleSizeEstimate.rows` says."""

REPLICATES = 200  # of which ten lie beyond each end of the range
_ENDS = (0.05, 0.95)  # quantiles of the replicates that end the range
_BORROWED = 10.0  # rows that the line counts as, so that a threshold with two rows has a rate

# Errors should grow from the top of the ranking (-1) to its foot (1). The normal prior says so by
# a slope of 0.5 with a standard deviation of 1.4; the intercept, with one of 10, is left to the
# rows. Without a prior a pilot whose errors all stand at the foot would have an infinite slope.
_PRIOR_SLOPE, _PRIOR_PRECISION = 0.5, (0.01, 0.5)
_STEPS, _LONGEST, _SETTLED = 25, 2.0, 1e-6  # of Newton's method; it needs about six steps

# Numbers of questions that are tried, a sixteenth apart: an answer is rounded to two digits anyway.
_SIZES: Floats = np.unique(np.geomspace(10, 100_000, 150).round())
# Where the most errors that pass are worked out: each count while one error more or less matters.
_KNOTS: Floats = np.concatenate([np.arange(1.0, 2000), np.geomspace(2000, 100_000, 60).round()])


class PilotCounts(NamedTuple):
    """Rows and errors in each step of a chain, of `total` rows; and the chain's level."""

    rows: Floats
    errors: Floats
    total: float
    level: float


def estimate_sample_size(
    chains: Sequence[tuple[ThresholdCounts, float]],
    *,
    total: float,
    risk: float,
    seed: int,
    replicates: int = REPLICATES,
) -> SampleSizeEstimate:
    """Estimate how many graded questions would do, with a range; without replicates none."""
    pilots = [_pilot(counts, total, level) for counts, level in chains if counts.size.size]
    if not pilots or total <= 0:
        return SampleSizeEstimate(None, None, None)
    tests = [_FirstTests.at(risk, pilot.level) for pilot in pilots]
    about = min(_need(*pair) for pair in zip(pilots, tests, strict=True))
    if not replicates:
        return SampleSizeEstimate(_rounded(about), None, None)
    own_seed = seed_for(seed, "gate", "need")
    rng = np.random.default_rng(own_seed)
    drawn = [
        min(_need(_again(p, rng), test) for p, test in zip(pilots, tests, strict=True))
        for _ in range(replicates)
    ]
    low = float(np.quantile(drawn, _ENDS[0], method="lower"))
    high = float(np.quantile(drawn, _ENDS[1], method="higher"))
    return SampleSizeEstimate(
        _rounded(about), _rounded(min(low, about)), _rounded(max(high, about))
    )


def _pilot(counts: ThresholdCounts, total: float, level: float) -> PilotCounts:
    """Take the steps of a chain apart; where rows were thinned, numbers may fall, and are held."""
    size = np.maximum.accumulate(counts.size)
    errors = np.minimum(np.maximum.accumulate(counts.errors), size)
    rows = np.diff(size, prepend=0.0)
    wrong = np.minimum(np.diff(errors, prepend=0.0), rows)
    some = rows > 0
    return PilotCounts(rows[some], wrong[some], max(total, float(size[-1])), level)


def _again(pilot: PilotCounts, rng: np.random.Generator) -> PilotCounts:
    """Draw the rows of a pilot again (the bootstrap: Efron, 1979, Annals of Statistics 7)."""
    whole = round(pilot.total)
    left = max(pilot.total - pilot.rows.sum(), 0.0)
    shares = np.concatenate([pilot.errors, pilot.rows - pilot.errors, [left]])
    drawn = rng.multinomial(whole, shares / shares.sum()).astype(float)
    steps = pilot.rows.size
    wrong, right = drawn[:steps], drawn[steps:-1]
    some = wrong + right > 0
    return PilotCounts((wrong + right)[some], wrong[some], float(whole), pilot.level)


class _FirstTests(NamedTuple):
    """The first tests at a risk and a level: rows that they ask for, and errors that pass."""

    strict: float
    main: float
    strict_most: Floats  # errors that may be, by `_KNOTS`
    main_most: Floats
    alone_most: Floats  # where the main test has the whole level

    @classmethod
    def at(cls, risk: float, level: float) -> _FirstTests:
        most = [most_hits(_KNOTS, risk, share * level) for share in (STRICT, 1 - STRICT, 1.0)]
        return cls(least_count(1, risk, STRICT * level), least_count(1, risk, level), *most)


def _need(pilot: PilotCounts, tests: _FirstTests) -> float:
    """Return the least number of rows that do; infinity where none does."""
    if not pilot.rows.size:
        return np.inf
    rates = _rates(pilot)
    cover = pilot.rows.cumsum() / pilot.total
    main = np.maximum(tests.main, np.ceil(FIFTH * cover[-1] * _SIZES))
    alone = tests.strict >= main
    strict = np.full(_SIZES.size, float(tests.strict))
    power = np.where(
        alone,
        _power(main, tests.alone_most, cover, rates),
        np.maximum(
            _power(strict, tests.strict_most, cover, rates),
            _power(main, tests.main_most, cover, rates),
        ),
    )
    enough = np.flatnonzero(power >= POWER)
    return float(_SIZES[enough[0]]) if enough.size else np.inf


def _power(least: Floats, most: Floats, cover: Floats, rates: Floats) -> Floats:
    """Return the chance that a chain's first test passes, for each number of rows."""
    # the first threshold that covers enough rows; a share equal but for rounding covers them
    at = np.searchsorted(cover * (1 + 1e-9), least / _SIZES)
    there = at < cover.size
    at = np.minimum(at, cover.size - 1)
    rows = np.round(_SIZES * cover[at])
    passing = binomial_cdf(np.floor(np.interp(rows, _KNOTS, most)), rows, rates[at])
    return np.where(there, passing, 0.0)


def _rates(pilot: PilotCounts) -> Floats:
    """Estimate the rate of error at or above each threshold."""
    answered, errors = pilot.rows.cumsum(), pilot.errors.cumsum()
    line = (pilot.rows * _line(pilot)).cumsum() / answered
    return np.asarray((errors + _BORROWED * line) / (answered + _BORROWED))


def _line(pilot: PilotCounts) -> Floats:
    """Fit a logistic line of errors over the ranks of the scores, held by a weak prior.

    Newton's method on the log posterior, which for a logistic line is iteratively reweighted least
    squares (McCullagh and Nelder, Generalized Linear Models, 1989, section 2.5). A step is cut to
    two log-odds, since a full one overshoots where rates are near 0 or 1.
    """
    rows, errors = pilot.rows, pilot.errors
    rank = 2 * (rows.cumsum() - rows / 2) / rows.sum() - 1
    design = np.stack([np.ones(rank.size), rank], axis=1)
    precision, middle = np.array(_PRIOR_PRECISION), np.array([0.0, _PRIOR_SLOPE])
    # half a row on either side keeps the first log-odds finite where nothing was wrong
    found = np.array([logit((errors.sum() + 0.5) / (rows.sum() + 1)), _PRIOR_SLOPE])
    step, taken = np.full(2, np.inf), 0
    while np.abs(step).max() >= _SETTLED and taken < _STEPS:
        rate = expit(design @ found)
        gradient = design.T @ (errors - rows * rate) - precision * (found - middle)
        curve = (design.T * (rows * rate * (1 - rate))) @ design + np.diag(precision)
        step = np.clip(np.linalg.solve(curve, gradient), -_LONGEST, _LONGEST)
        found, taken = found + step, taken + 1
    return np.asarray(expit(design @ found))


def _rounded(size: float) -> int | None:
    """Round to two digits; nobody counts on more."""
    return int(float(f"{size:.2g}")) if np.isfinite(size) else None
