"""Fit a fusion: several signals to one chance of being right, from few or many graded answers.

The models are the constant, each signal alone, and all signals together under ridge penalties from
strong to weak (le Cessie and van Houwelingen, 1992, Applied Statistics 41). Each is fitted at its
posterior mode, and they are averaged by Laplace's evidence, as in `logistic_models`, in place of
choosing one: with few rows the constant and strong penalties weigh most, with many the weak ones,
and no row is held back to choose.

A missing value counts as the worst there is. Where graded rows lack some, that alone would say too
much of it: so there are models with floors, too, below which values are one with the missing ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from novarag.calibration.signal_fusion import (
    FusedSignal,
    FusionModel,
    SignalFusion,
    score_columns,
)
from novarag.calibration.signal_scale import FINE, SignalScale, learn_scale
from novarag.stats.separation import separation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from novarag.calibration.graded_answers import SignalTable
    from novarag.stats.arrays import Floats

# Normal priors. A slope is in log-odds for one standard deviation of a signal; good single signals
# have about 0.5. The intercept has the prior of `logistic_models`.
_INTERCEPT = 1.5
_ALONE = 0.3  # of the slope of a signal alone
_TOGETHER = (0.02, 0.05, 0.1, 0.2, 0.4)  # of each slope, one model each
_SAID = 0.1  # the mean of a slope whose direction was said; shared by all where they are together
_FLOORS = (0.0, 0.2, 0.4, 0.6)  # shares of values that are one with a missing one
_STEPS, _LONGEST, _SETTLED = 30, 1.5, 1e-8  # of Newton's method
_LEAST_WEIGHT = (
    1e-4  # of a model, below which it moves no score by more than a hundredth of a point
)


class _Candidate(NamedTuple):
    """A model at its posterior mode: its log evidence with the prior, its line and its floors."""

    evidence: float
    intercept: float
    slopes: Floats
    floors: Floats


def fit_fusion(table: SignalTable, right: Floats, *, part: float = 1.0) -> SignalFusion:
    """Fit a fusion on graded rows.

    Args:
        table: The signals of the rows.
        right: 1 for each row that is right, 0 for the others.
        part: What one row counts, where rows depend on each other.
    """
    columns = zip(table.names, table.values.T, table.lower, strict=True)
    signals = tuple(_signal(name, column, said, right > 0) for name, column, said in columns)
    toward = np.array([0.0 if signal.found else _SAID for signal in signals])
    candidates = [*_candidates(table, signals, toward, right, part)]
    evidence = np.array([one.evidence for one in candidates])
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    weight[weight < _LEAST_WEIGHT] = 0.0
    weight /= weight.sum()
    return SignalFusion(
        signals=signals,
        models=tuple(
            _model(float(weight[at]), candidates[at], signals) for at in np.flatnonzero(weight)
        ),
    )


def _signal(name: str, column: Floats, said: bool | None, right: NDArray[np.bool_]) -> FusedSignal:
    """Learn a signal's scale, and which way it is better: as was said, or as it separates rows."""
    known = np.isfinite(column)
    values = column[known]
    if np.unique(values).size < 2:  # nothing to tell rows apart by
        scale = SignalScale(name, (float(values[0]) if values.size else 0.0,), (0.0,))
        return FusedSignal(scale, lower=bool(said), found=said is None)
    scale = learn_scale(name, values, np.ones(values.size), FINE)
    above, below = values[right[known]], values[~right[known]]
    order = separation(above, below) if above.size and below.size else 0.5
    lower = order < 0.5 if said is None else said
    if lower:
        scale = scale._replace(scores=tuple(-score for score in scale.scores))
    contrary = order != 0.5 and (order < 0.5) != lower
    return FusedSignal(scale, lower=lower, found=said is None, contrary=contrary)


def _candidates(
    table: SignalTable, signals: Sequence[FusedSignal], toward: Floats, right: Floats, part: float
) -> Iterator[_Candidate]:
    """Yield the constant, and for each floor each signal alone and all of them together.

    The constant, signals alone and all together have one prior chance.
    """
    from scipy.special import ndtri

    size = len(signals)
    absent = np.isnan(table.values)
    scored = score_columns(signals, table.values)
    least = np.array([min(signal.scale.scores) for signal in signals])
    evidence, line = _posterior(np.ones((right.size, 1)), right, part, np.zeros(1), np.ones(0))
    yield _Candidate(evidence, float(line[0]), np.zeros(size), least)
    gaps = absent.any(axis=0)
    shares = _FLOORS if gaps.any() else _FLOORS[:1]
    for share in shares:
        floors = np.where(gaps, np.maximum(least, ndtri(share)), least) if share else least
        made = np.where(absent, floors, np.maximum(scored, floors))
        fits = [([at], _ALONE, toward, size) for at in range(size)]
        if size > 1:
            every = [*range(size)]
            fits += [(every, one, toward / size**0.5, len(_TOGETHER)) for one in _TOGETHER]
        for chosen, spread, mean, alike in fits:
            design = np.column_stack([np.ones(right.size), made[:, chosen]])
            spreads = np.full(len(chosen), spread)
            evidence, line = _posterior(design, right, part, np.r_[0.0, mean[chosen]], spreads)
            slopes = np.zeros(size)
            slopes[chosen] = line[1:]
            evidence -= float(np.log(alike * len(shares)))
            yield _Candidate(evidence, float(line[0]), slopes, floors)


def _model(weight: float, one: _Candidate, signals: Sequence[FusedSignal]) -> FusionModel:
    """Lay a model out; a missing signal adds the least that any of its values does."""
    most = np.array([max(signal.scale.scores) for signal in signals])
    missing = np.minimum(one.slopes * one.floors, one.slopes * most)
    slopes, floors = one.slopes.tolist(), one.floors.tolist()
    return FusionModel(weight, one.intercept, tuple(slopes), tuple(floors), tuple(missing.tolist()))


def _posterior(
    design: Floats, right: Floats, part: float, mean: Floats, slopes: Floats
) -> tuple[float, Floats]:
    """Return the log evidence of a model, by Laplace, and its coefficients at the mode.

    `slopes` has the standard deviations of the slopes.
    """
    from scipy.special import expit

    spread = np.r_[_INTERCEPT, slopes]
    precision = spread**-2.0
    at, step, taken, curvature = mean.copy(), np.full_like(mean, np.inf), 0, np.diag(precision)
    while np.abs(step).max() >= _SETTLED and taken < _STEPS:
        chance = expit(design @ at)
        slope = part * ((right - chance) @ design) - precision * (at - mean)
        curvature = (design.T * (part * chance * (1 - chance))) @ design + np.diag(precision)
        step = np.clip(np.linalg.solve(curvature, slope), -_LONGEST, _LONGEST)
        at, taken = at + step, taken + 1
    eta = design @ at
    likelihood = part * float((right * eta - np.logaddexp(0, eta)).sum())
    prior = -0.5 * float((((at - mean) / spread) ** 2).sum()) - float(np.log(spread).sum())
    return likelihood + prior - 0.5 * float(np.linalg.slogdet(curvature)[1]), at
