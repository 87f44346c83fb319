"""Logistic models from stated confidence and evidence state to the chance of being right.

All models have the form logit p = (a + a_state) + (b + b_state) x + g z, with x the log-odds of the
stated confidence and z one more signal. They differ in how far states may part from each other and
in whether the signal counts. A line in log-odds is Platt's (1999, Advances in Large Margin
Classifiers). Each model is fitted at its posterior mode; Laplace's approximation (Tierney and
Kadane, 1986, JASA 81) gives its covariance and the evidence by which models are averaged (Hoeting,
Madigan, Raftery and Volinsky, 1999, Statistical Science 14).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats, Ints

LEAST, MOST = 0.02, 0.98  # a stated 0 % or 100 % counts as these
CENTRE = 1.7  # log-odds of 85 %, where models state most of their confidences

# Normal priors as mean and standard deviation. Models are over-confident more often than not, so
# half the stated log-odds are expected (a slope of 0.5), and 1.0, or none at all, lies within one
# standard deviation. At 85 % stated, 18 % to 82 % right lies within one of the intercept.
_INTERCEPT, _SLOPE, _SIGNAL = (0.0, 1.5), (0.5, 0.5), (0.3, 0.5)

# How far the intercepts and slopes of states may part: from nearly not at all to any distance that
# is seen. The evidence of each pair weighs it, so the grid needs no finer steps.
_SPREADS = [(a, b) for a in (0.05, 0.4, 0.8, 1.6) for b in (0.05, 0.3)]
_STEPS, _LONGEST, _SETTLED = 30, 1.5, 1e-8  # of Newton's method


def log_odds(confidence: Floats) -> Floats:
    """Return the feature of a stated confidence: its log-odds, within limits and centred."""
    from scipy.special import logit

    return np.asarray(logit(np.clip(confidence, LEAST, MOST)) - CENTRE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCounts:
    """Rows that are alike, counted: feature, state, signal, how many, and how many are right."""

    x: Floats
    state: Ints
    states: int
    count: Floats
    right: Floats
    z: Floats | None = None


@dataclass(frozen=True, slots=True)
class FittedModels:
    """Models fitted to the same cells: log evidence, coefficients and their covariance each.

    Coefficients stand by model and state: intercept, slope and signal of that state's line. The
    last state is one that was not seen.
    """

    evidence: Floats  # model
    lines: Floats  # model, state, 3
    spread: Floats  # model, state, 3, 3


def fit_models(cells: CellCounts) -> FittedModels:
    """Fit every model of the grid, without the signal and, where there is one, with it."""
    fits = [_fit_grid(cells, signal=False)]
    if cells.z is not None:
        fits.append(_fit_grid(cells, signal=True))
    return FittedModels(
        np.concatenate([fit.evidence for fit in fits]),
        np.concatenate([fit.lines for fit in fits]),
        np.concatenate([fit.spread for fit in fits]),
    )


def _fit_grid(cells: CellCounts, *, signal: bool) -> FittedModels:
    design = _design(cells, signal=signal)
    mean, deviation = _priors(cells.states, signal=signal)
    mode, curvature = _modes(design, cells, mean, deviation**-2.0)
    evidence = _log_posterior(design, cells, mode, mean, deviation) - (
        np.log(deviation).sum(axis=1) + 0.5 * np.linalg.slogdet(curvature)[1]
    )
    covariance = np.linalg.inv(curvature)
    lines = _lines(cells.states, signal=signal)
    means = np.einsum("sip,mp->msi", lines, mode)
    spread = np.einsum("sip,mpq,sjq->msij", lines, covariance, lines)
    spread[:, -1, 0, 0] += np.array([a for a, _ in _SPREADS]) ** 2
    spread[:, -1, 1, 1] += np.array([b for _, b in _SPREADS]) ** 2
    return FittedModels(evidence, means, spread)


def _design(cells: CellCounts, *, signal: bool) -> Floats:
    """Lay out the columns: intercept, slope, each state's own of both, signal."""
    own = np.eye(cells.states + 1)[cells.state][:, :-1]  # the last row, of no state, is zero
    columns = [np.ones_like(cells.x), cells.x, *own.T, *(own * cells.x[:, None]).T]
    if signal and cells.z is not None:
        columns.append(cells.z)
    return np.stack(columns, axis=1)


def _priors(states: int, *, signal: bool) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of every coefficient in every model of the grid."""
    tail = [_SIGNAL] if signal else []
    rows = [
        [_INTERCEPT, _SLOPE, *[(0.0, a)] * states, *[(0.0, b)] * states, *tail] for a, b in _SPREADS
    ]
    prior = np.array(rows)
    return prior[..., 0], prior[..., 1]


def _modes(
    design: Floats, cells: CellCounts, mean: Floats, precision: Floats
) -> tuple[Floats, Floats]:
    """Climb to the posterior mode of each model by Newton's steps, and return the curvature.

    The log posterior is concave, so the mode is the only one. A step is cut to `_LONGEST`: far from
    the mode, where chances are near 0 or 1, a full step overshoots.
    """
    from scipy.special import expit

    size = design.shape[1]
    diagonal = np.arange(size)
    at, step, taken = mean.copy(), np.full_like(mean, np.inf), 0
    while np.abs(step).max() >= _SETTLED and taken < _STEPS:
        chance = expit(at @ design.T)
        slope = (cells.right - cells.count * chance) @ design - precision * (at - mean)
        curvature = _curvature(chance, cells, design)
        curvature[:, diagonal, diagonal] += precision
        step = np.clip(np.linalg.solve(curvature, slope[..., None])[..., 0], -_LONGEST, _LONGEST)
        at, taken = at + step, taken + 1
    curvature = _curvature(expit(at @ design.T), cells, design)
    curvature[:, diagonal, diagonal] += precision
    return at, curvature


def _curvature(chance: Floats, cells: CellCounts, design: Floats) -> Floats:
    weight = cells.count * chance * (1 - chance)
    # one model at a time: the products of all would be a hundred numbers for every cell
    return np.stack([(design.T * own) @ design for own in weight])


def _log_posterior(
    design: Floats, cells: CellCounts, at: Floats, mean: Floats, deviation: Floats
) -> Floats:
    eta = at @ design.T
    likelihood = (cells.right * eta - cells.count * np.logaddexp(0, eta)).sum(axis=1)
    return np.asarray(likelihood - 0.5 * (((at - mean) / deviation) ** 2).sum(axis=1))


def _lines(states: int, *, signal: bool) -> Floats:
    """Return, for each state and then none, which coefficients add up to its line."""
    size = 2 + 2 * states + signal
    lines = np.zeros((states + 1, 3, size))
    lines[:, 0, 0] = lines[:, 1, 1] = 1
    for s in range(states):
        lines[s, 0, 2 + s] = lines[s, 1, 2 + states + s] = 1
    if signal:
        lines[:, 2, -1] = 1
    return lines
