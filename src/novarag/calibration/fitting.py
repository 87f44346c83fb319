"""Fit a calibration on graded answers, and judge it on questions that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp, ndtri, stdtrit

from novarag.calibration.calibration import (
    COVERS,
    Calibration,
    Fitted,
    Level,
    Line,
    Seen,
    SignalScale,
    StateMap,
    percents,
)
from novarag.calibration.known import pack_questions
from novarag.calibration.levels import level_effects
from novarag.calibration.models import CENTRE, LEAST, MOST, Cells, fit_models, log_odds
from novarag.calibration.reference import count_reference
from novarag.calibration.scores import score
from novarag.errors import UsageError
from novarag.seeding import rng_for

if TYPE_CHECKING:
    from novarag.calibration.graded import Graded
    from novarag.calibration.models import Fits
    from novarag.stats.arrays import Floats, Ints

LEAST_QUESTIONS = 30
"""Graded questions below which nothing is fitted."""

FOLDS = 10
_LEAVE_ALONE = 0.5  # the prior weight of leaving a confidence as it is
_INTERVAL_LEAVE_ALONE = 0.1  # and for the interval, which must not trust in it before the rows do
_FREEDOM = 1 / 3  # degrees of freedom a question, of Student's t in place of the normal
_KNOTS = 21
_LEAST_WEIGHT = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """When, by which version and with which seed something was fitted."""

    date: str
    version: str
    seed: int = 0


def fit(graded: Graded, *, stamp: Stamp) -> Calibration:
    """Fit a calibration; the figures it carries are cross-validated by question."""
    fitted = _fitted(graded, stamp)
    made = fit_rows(graded.rows(graded.read), fitted)
    return replace(made, reference=count_reference(graded, seed=stamp.seed))


def cross_fit(graded: Graded, *, seed: int = 0, folds: int = FOLDS) -> Floats:
    """Calibrate every row by a fit on the other folds of questions; NaN where it was not read."""
    out = np.full(len(graded), np.nan)
    fold = _folds(graded.question, seed, folds)
    for held in np.unique(fold):
        ours = fold == held
        rest = graded.rows(~ours & graded.read)
        made = fit_rows(rest)
        out[ours] = made.apply(
            graded.confidence[ours],
            [graded.state_name(s) for s in graded.state[ours]],
            None if graded.signal is None else graded.signal[ours],
        ).probability
    return out


def _folds(question: Ints, seed: int, folds: int) -> Ints:
    """Deal questions out to folds of one size, by seed."""
    names, back = np.unique(question, return_inverse=True)
    order = list(range(names.size))
    rng_for(seed, "folds").shuffle(order)
    dealt = np.empty(names.size, dtype=np.intp)
    dealt[order] = np.arange(names.size) % folds
    return dealt[back]


def _fitted(graded: Graded, stamp: Stamp) -> Fitted:
    """Check that there is enough to fit on, and say what there is and how a fit does."""
    read = graded.read
    questions = np.unique(graded.question[read]).size
    if questions < LEAST_QUESTIONS:
        raise UsageError(
            f"{questions} graded questions are too few to calibrate on: {LEAST_QUESTIONS} are the"
            " least, about 100 make it worth while."
        )
    after = cross_fit(graded, seed=stamp.seed)
    return Fitted(
        rows=int(read.sum()),
        questions=questions,
        unread=int((~read).sum()),
        ungraded=graded.ungraded,
        digest=graded.digest,
        date=stamp.date,
        seed=stamp.seed,
        version=stamp.version,
        stated=score(graded.confidence[read], graded.correct[read], graded.weights[read]),
        calibrated=score(after[read], graded.correct[read], graded.weights[read]),
        design_effect=design_effect(graded.rows(read)),
        known=pack_questions(graded.question_ids),
    )


def fit_rows(graded: Graded, fitted: Fitted | None = None) -> Calibration:
    """Fit on rows that were all read, however few; `fitted` is what is to be said of them."""
    part = 1 / design_effect(graded)
    states = graded.seen_states
    number = {name: i for i, name in enumerate(states)}
    state = np.array([number[graded.state_name(s)] for s in graded.state], dtype=np.intp)
    scale = _scale(graded)
    cells, back = _cells(graded, state, len(states), scale, part)
    fits = fit_models(cells)
    alone = np.clip(graded.confidence, LEAST, MOST)
    stays = part * np.log(np.where(graded.correct, alone, 1 - alone)).sum()
    weights, identity = _weigh(fits.evidence, stays, _LEAVE_ALONE)
    wide, wide_identity = _weigh(fits.evidence, stays, _INTERVAL_LEAVE_ALONE)
    eta = _average(fits, cells, wide, wide_identity)[back]
    levels, unseen_variance = _levels(graded, state, states, eta, part)
    *maps, unseen = _state_maps(fits, weights, wide, wide_identity)
    freedom = _FREEDOM * np.unique(graded.question).size
    return Calibration(
        states=dict(zip(states, maps, strict=True)),
        unseen=unseen,
        identity=identity,
        levels=levels,
        unseen_variance=unseen_variance,
        quantile=float(-stdtrit(freedom, (1 - COVERS) / 2)),
        seen=_seen(graded, state, states),
        source=graded.source,
        signal=scale,
        fitted=fitted,
    )


def design_effect(graded: Graded) -> float:
    """How many rows of one question say as much as one of its own: 1 where each has its own.

    The variance of the residuals' sums by question, over that of as many rows that share nothing.
    """
    names, back = np.unique(graded.question, return_inverse=True)
    if names.size == len(graded):
        return 1.0
    rate = graded.correct.mean()
    residual = graded.correct - rate
    alone = float((residual**2).sum())
    together = float((np.bincount(back, residual) ** 2).sum())
    most = len(graded) / names.size
    return float(np.clip(together / alone, 1.0, most)) if alone > 0 else most


def _scale(graded: Graded) -> SignalScale | None:
    """Learn how values of the signal become normal scores; None where it says nothing."""
    if graded.signal is None:
        return None
    values = np.sort(graded.signal[np.isfinite(graded.signal)])
    if values.size < LEAST_QUESTIONS // 2 or values[0] == values[-1]:
        return None
    ranks = np.linspace(0, values.size - 1, _KNOTS)
    knots = np.interp(ranks, np.arange(values.size), values)
    scores = ndtri((ranks + 0.5) / values.size)
    distinct, back = np.unique(knots, return_inverse=True)
    middle = np.bincount(back, scores) / np.bincount(back)
    name = graded.signal_name or "signal"
    return SignalScale(name, tuple(distinct.tolist()), tuple(middle.tolist()))


def _cells(
    graded: Graded, state: Ints, states: int, scale: SignalScale | None, part: float
) -> tuple[Cells, Ints]:
    """Count rows that are alike; `part` is what one row counts. Also say which cell each is in."""
    x = log_odds(graded.confidence)
    z = None if scale is None or graded.signal is None else _scored(graded.signal, scale)
    key = np.stack([x, state, np.zeros_like(x) if z is None else z], axis=1)
    alike, back = np.unique(key, axis=0, return_inverse=True)
    back = back.ravel()
    return Cells(
        x=alike[:, 0],
        state=alike[:, 1].astype(np.intp),
        states=states,
        count=part * np.bincount(back).astype(float),
        right=np.bincount(back, part * graded.correct).astype(float),
        z=None if z is None else alike[:, 2],
    ), back


def _scored(signal: Floats, scale: SignalScale) -> Floats:
    return np.where(np.isfinite(signal), np.interp(signal, scale.values, scale.scores), 0.0)


def _weigh(evidence: Floats, stays: float, prior: float) -> tuple[Floats, float]:
    """Return the weights of the models, and of leaving confidences alone, by evidence.

    A model that weighs next to nothing is left out.
    """
    logs = np.append(evidence + np.log((1 - prior) / evidence.size), stays + np.log(prior))
    weight = np.exp(logs - logsumexp(logs))
    weight[weight < _LEAST_WEIGHT] = 0.0
    weight /= weight.sum()
    return weight[:-1], float(weight[-1])


def _average(fits: Fits, cells: Cells, weight: Floats, identity: float) -> Floats:
    """Return the averaged log-odds of each cell."""
    z = np.zeros_like(cells.x) if cells.z is None else cells.z
    line = fits.lines[:, cells.state]
    eta = line[..., 0] + line[..., 1] * cells.x + line[..., 2] * z
    return np.asarray(weight @ eta + identity * (cells.x + CENTRE))


def _state_maps(fits: Fits, weights: Floats, wide: Floats, wide_identity: float) -> list[StateMap]:
    """Gather, for each state and then one not seen, the lines and the moments of log-odds."""
    stays = np.array([CENTRE, 1.0, 0.0])  # log-odds of a confidence that is left alone
    mean = np.einsum("m,msi->si", wide, fits.lines) + wide_identity * stays
    square = np.einsum("m,msij->sij", wide, fits.spread)
    square += np.einsum("m,msi,msj->sij", wide, fits.lines, fits.lines)
    square += wide_identity * np.outer(stays, stays)
    kept = np.flatnonzero(weights)
    return [
        StateMap(
            tuple(Line(float(weights[m]), *fits.lines[m, s].tolist()) for m in kept),
            tuple(mean[s].tolist()),
            tuple(square[s][np.triu_indices(3)].tolist()),
        )
        for s in range(mean.shape[0])
    ]


def _levels(
    graded: Graded, state: Ints, states: tuple[str, ...], eta: Floats, part: float
) -> tuple[dict[str, dict[int, Level]], float]:
    """Return what single stated values do in each state, and the variance of one not seen."""
    percent = percents(graded.confidence)
    pairs, level = np.unique(np.stack([state, percent]), axis=1, return_inverse=True)
    right = part * graded.correct.astype(float)
    found = level_effects(eta, right, np.full(len(graded), part), level.ravel())
    levels: dict[str, dict[int, Level]] = {name: {} for name in states}
    for (at, value), shift, variance in zip(pairs.T, found.shift, found.variance, strict=True):
        levels[states[at]][int(value)] = Level(float(shift), float(variance))
    return levels, found.unseen


def _seen(graded: Graded, state: Ints, states: tuple[str, ...]) -> dict[str, Seen]:
    rows = [graded.rows(state == i) for i in range(len(states))]
    return {
        name: Seen(
            rows=len(own),
            right=int(own.correct.sum()),
            least=float(own.confidence.min()),
            most=float(own.confidence.max()),
        )
        for name, own in zip(states, rows, strict=True)
    }
