"""Fit a calibration on graded answers, and judge it on questions that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp, stdtrit

from novarag.calibration.calibration import (
    CONSTANT_BESIDE,
    COVERS,
    EDGE,
    STATED_BESIDE,
    Calibration,
    ConfidenceFigures,
    FitRecord,
    LevelShift,
    ObservedRange,
    StateLine,
    StateMap,
    percents,
)
from novarag.calibration.fused_rows import (
    GAIN_FOLDS,
    calibrate_rows,
    cross_fuse,
    deal_folds,
    fit_row_fusion,
    fuse_rows,
    in_place,
    signal_gains,
)
from novarag.calibration.graded_answers import count_answers, pack_questions
from novarag.calibration.level_effects import level_effects
from novarag.calibration.logistic_models import (
    CENTRE,
    LEAST,
    MOST,
    CellCounts,
    fit_models,
    log_odds,
)
from novarag.calibration.reference import count_reference
from novarag.calibration.signal_scale import learn_scale
from novarag.errors import UsageError
from novarag.metrics.calibration import brier, smooth_ece
from novarag.metrics.ranking import auroc
from novarag.metrics.tally import fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from novarag.calibration.graded_answers import CountedAnswers, GradedAnswers
    from novarag.calibration.logistic_models import FittedModels
    from novarag.calibration.signal_scale import SignalScale
    from novarag.stats.arrays import Floats, Ints


LEAST_QUESTIONS = 30
"""Graded questions below which nothing is fitted."""

FOLDS = 10  # the usual ten: each fit sees nine tenths of the questions
_LEAVE_ALONE = 0.5  # the prior weight of leaving a confidence as it is
_INTERVAL_LEAVE_ALONE = 0.1  # and for the interval, which must not trust in it before the rows do
_FREEDOM = 1 / 3  # degrees of freedom a question, of Student's t in place of the normal
_LEAST_WEIGHT = (
    1e-4  # of a model, below which it moves no confidence by more than a hundredth of a point
)
_DIGITS = 12  # of a cross-fitted probability: what differs by rounding alone is to tie
_PERCENTS = 101  # whole percents from 0 to 100


@dataclass(frozen=True, slots=True, kw_only=True)
class FitStamp:
    """When, by which version and with which seed something was fitted."""

    date: str
    version: str
    seed: int = 0


def fit(graded: GradedAnswers, *, stamp: FitStamp) -> Calibration:
    """Fit a calibration; the figures it carries are cross-validated by question."""
    fitted = _fitted(graded, stamp)
    read = graded.rows(graded.read)
    if graded.scores is not None:
        made = _fit_fused(read, seed=stamp.seed, fitted=fitted)
        gains = signal_gains(read, seed=stamp.seed)
        made = replace(
            made, fusion=None if made.fusion is None else replace(made.fusion, gains=gains)
        )
        if not graded.states_confidence:  # what is stated may drift, and nothing is
            return made
        return replace(made, reference=count_reference(graded, seed=stamp.seed))
    made = fit_rows(read, fitted)
    return replace(made, reference=count_reference(graded, seed=stamp.seed))


def _fit_fused(
    read: GradedAnswers, *, seed: int, folds: int = FOLDS, fitted: FitRecord | None = None
) -> Calibration:
    """Fit a fusion, and lines on its scores.

    Lines are fitted on cross-fitted scores: those of the rows that a fusion was fitted on flatter
    it. What was seen is said of the fusion's own scores, as new rows get them.
    """
    crossed = in_place(read, cross_fuse(read, seed=seed, folds=folds))
    made = _fit_counted(count_answers(crossed)[0], crossed, fitted, fused=True)
    made = replace(made, fusion=fit_row_fusion(read))
    counted = count_answers(fuse_rows(made, read))[0]
    number = {name: i for i, name in enumerate(counted.names)}
    state = np.array([number[counted.state_name(s)] for s in counted.state], dtype=np.intp)
    return replace(made, seen=_seen(counted, state, counted.names))


def cross_fit(graded: GradedAnswers, *, seed: int = 0, folds: int = FOLDS) -> Floats:
    """Calibrate every row by a fit on the other folds of questions; NaN where it was not read."""
    read = graded.read
    if graded.scores is None:
        after = _cross_fit_counted(graded, seed=seed, folds=folds)
    else:
        after = _cross_fit_fused(graded.rows(read), seed=seed, folds=folds)
    out = np.full(len(graded), np.nan)
    out[read] = after.round(_DIGITS)
    return out


def _cross_fit_fused(read: GradedAnswers, *, seed: int, folds: int) -> Floats:
    """Calibrate rows by fusions; lines are fitted where there are states to tell apart."""
    if len(read.seen_states) == 1:  # the score is left as it is
        return np.clip(cross_fuse(read, seed=seed, folds=folds), EDGE, 1 - EDGE)
    fold = deal_folds(read.question, seed, folds)
    after = np.full(len(read), np.nan)
    for held in np.unique(fold):
        made = _fit_fused(read.rows(fold != held), seed=seed, folds=GAIN_FOLDS)
        after[fold == held] = calibrate_rows(made, read.rows(fold == held)).probability
    return after


def _cross_fit_counted(graded: GradedAnswers, *, seed: int, folds: int) -> Floats:
    """Calibrate rows that were read by what is left of the cells without their fold."""
    read = graded.read
    counted, at = count_answers(graded.rows(read))
    fold = deal_folds(graded.question, seed, folds)[read]
    of_question = np.empty(counted.question_rows.size, dtype=np.intp)
    of_question[at.question] = fold  # all rows of a question are in one fold
    correct = graded.correct[read]
    after = np.full(fold.size, np.nan)
    for held in np.unique(fold):
        ours = fold == held
        cell = at.cell[ours]
        rows = np.bincount(cell, minlength=counted.rows.size)
        right = np.bincount(cell, correct[ours], minlength=counted.rows.size)
        rest = counted.keep(counted.rows - rows, counted.right - right, of_question != held)
        after[ours] = _applied(_fit_counted(rest, graded), counted)[cell]
    return after


def _applied(made: Calibration, counted: CountedAnswers) -> Floats:
    """Calibrate each cell once."""
    states = [counted.state_name(s) for s in counted.state]
    return made.apply(counted.confidence, states, counted.signal).probability


def _fitted(graded: GradedAnswers, stamp: FitStamp) -> FitRecord:
    """Check that there is enough to fit on, and say what there is and how a fit does."""
    read = graded.read
    questions = np.unique(graded.question[read]).size
    if questions < LEAST_QUESTIONS:
        raise UsageError(
            f"{questions} graded questions are too few to calibrate on: {LEAST_QUESTIONS} are the"
            " least, about 100 make it worth while."
        )
    after = cross_fit(graded, seed=stamp.seed)
    before = graded.confidence[read]
    if not graded.states_confidence:
        before = np.full(before.size, graded.correct[read].mean())
    counted, _ = count_answers(graded.rows(read))
    return FitRecord(
        rows=int(read.sum()),
        questions=questions,
        unread=int((~read).sum()) + graded.unread_ungraded,
        unread_graded=int((~read).sum()),
        ungraded=graded.ungraded,
        digest=graded.digest,
        date=stamp.date,
        seed=stamp.seed,
        version=stamp.version,
        stated=score_confidences(before, graded.correct[read], graded.weights[read]),
        calibrated=score_confidences(after[read], graded.correct[read], graded.weights[read]),
        design_effect=counted.design_effect,
        known=pack_questions(graded.question_ids),
        remarks=graded.remarks,
        beside=STATED_BESIDE if graded.states_confidence else CONSTANT_BESIDE,
    )


def fit_rows(graded: GradedAnswers, fitted: FitRecord | None = None) -> Calibration:
    """Fit on rows that were all read, however few; `fitted` is what is to be said of them."""
    return _fit_counted(count_answers(graded)[0], graded, fitted)


def _fit_counted(
    counted: CountedAnswers,
    graded: GradedAnswers,
    fitted: FitRecord | None = None,
    *,
    fused: bool = False,
) -> Calibration:
    """Fit on counted answers; `graded`, of which they are, says whose they are.

    A `fused` score is a chance already: it stays as it is but for lines by state, and a higher one
    never means less, so that neither falling lines nor effects of single values have a part.
    """
    part = 1 / counted.design_effect
    states = counted.names
    number = {name: i for i, name in enumerate(states)}
    state = np.array([number[counted.state_name(s)] for s in counted.state], dtype=np.intp)
    scale = _scale(counted, graded.signal_name)
    cells = _cells(counted, state, len(states), scale, part)
    fits = fit_models(cells)
    alone = np.clip(counted.confidence, LEAST, MOST)
    wrong = cells.count - cells.right
    stays = float((cells.right * np.log(alone) + wrong * np.log(1 - alone)).sum())
    weights, identity = _weigh(fits.evidence, stays, _LEAVE_ALONE)
    if fused:
        rising = (fits.lines[..., 1].min(axis=1) >= 0) & (len(states) > 1)
        weights, identity = _only(weights, identity, rising)
    wide, wide_identity = _weigh(fits.evidence, stays, _INTERVAL_LEAVE_ALONE)
    eta = _average(fits, cells, wide, wide_identity)
    levels, unseen_variance = _levels(counted, cells, states, eta)
    if fused:
        levels = {
            name: {at: LevelShift(0.0, one.shift**2 + one.variance) for at, one in own.items()}
            for name, own in levels.items()
        }
    *maps, unseen = _state_maps(fits, weights, wide, wide_identity)
    freedom = _FREEDOM * counted.question_rows.size
    return Calibration(
        states=dict(zip(states, maps, strict=True)),
        unseen=unseen,
        identity=identity,
        levels=levels,
        unseen_variance=unseen_variance,
        quantile=float(-stdtrit(freedom, (1 - COVERS) / 2)),
        seen=_seen(counted, state, states),
        source=graded.source,
        signal=scale,
        fitted=fitted,
    )


def _scale(counted: CountedAnswers, name: str | None) -> SignalScale | None:
    """Learn how values of the signal become normal scores; None where it says nothing."""
    if counted.signal is None:
        return None
    known = np.isfinite(counted.signal)
    values, rows = counted.signal[known], counted.rows[known]
    if np.unique(values).size <= 1 or rows.sum() < LEAST_QUESTIONS // 2:
        return None
    return learn_scale(name or "signal", values, rows)


def _cells(
    counted: CountedAnswers, state: Ints, states: int, scale: SignalScale | None, part: float
) -> CellCounts:
    """Lay counted answers out for the models; `part` is what one row counts."""
    signal = None if scale is None else counted.signal
    return CellCounts(
        x=log_odds(counted.confidence),
        state=state,
        states=states,
        count=part * counted.rows,
        right=part * counted.right,
        z=None if scale is None or signal is None else _scored(signal, scale),
    )


def _scored(signal: Floats, scale: SignalScale) -> Floats:
    return np.where(np.isfinite(signal), scale.many(signal), 0.0)


def _weigh(evidence: Floats, stays: float, prior: float) -> tuple[Floats, float]:
    """Return the weights of the models, and of leaving confidences alone, by evidence.

    A model that weighs next to nothing is left out.
    """
    logs = np.append(evidence + np.log((1 - prior) / evidence.size), stays + np.log(prior))
    weight = np.exp(logs - logsumexp(logs))
    weight[weight < _LEAST_WEIGHT] = 0.0
    weight /= weight.sum()
    return weight[:-1], float(weight[-1])


def _only(weights: Floats, identity: float, which: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Leave all but some of the models out of an average."""
    kept = np.where(which, weights, 0.0)
    total = float(kept.sum()) + identity
    return (kept / total, identity / total) if total > 0 else (kept, 1.0)


def _average(fits: FittedModels, cells: CellCounts, weight: Floats, identity: float) -> Floats:
    """Return the averaged log-odds of each cell."""
    z = np.zeros_like(cells.x) if cells.z is None else cells.z
    line = fits.lines[:, cells.state]
    eta = line[..., 0] + line[..., 1] * cells.x + line[..., 2] * z
    return np.asarray(weight @ eta + identity * (cells.x + CENTRE))


def _state_maps(
    fits: FittedModels, weights: Floats, wide: Floats, wide_identity: float
) -> list[StateMap]:
    """Gather, for each state and then one not seen, the lines and the moments of log-odds."""
    stays = np.array([CENTRE, 1.0, 0.0])  # log-odds of a confidence that is left alone
    mean = np.einsum("m,msi->si", wide, fits.lines) + wide_identity * stays
    square = np.einsum("m,msij->sij", wide, fits.spread)
    square += np.einsum("m,msi,msj->sij", wide, fits.lines, fits.lines)
    square += wide_identity * np.outer(stays, stays)
    kept = np.flatnonzero(weights)
    return [
        StateMap(
            tuple(StateLine(float(weights[m]), *fits.lines[m, s].tolist()) for m in kept),
            tuple(mean[s].tolist()),
            tuple(square[s][np.triu_indices(3)].tolist()),
        )
        for s in range(mean.shape[0])
    ]


def _levels(
    counted: CountedAnswers, cells: CellCounts, states: tuple[str, ...], eta: Floats
) -> tuple[dict[str, dict[int, LevelShift]], float]:
    """Return what single stated values do in each state, and the variance of one not seen."""
    at = cells.state * _PERCENTS + percents(counted.confidence)
    pairs, level = np.unique(at, return_inverse=True)
    found = level_effects(eta, cells.right, cells.count, level.ravel())
    levels: dict[str, dict[int, LevelShift]] = {name: {} for name in states}
    for pair, shift, variance in zip(pairs.tolist(), found.shift, found.variance, strict=True):
        state, percent = divmod(pair, _PERCENTS)
        levels[states[state]][percent] = LevelShift(float(shift), float(variance))
    return levels, found.unseen


def _seen(
    counted: CountedAnswers, state: Ints, states: tuple[str, ...]
) -> dict[str, ObservedRange]:
    return {
        name: ObservedRange(
            rows=int(counted.rows[own].sum()),
            right=int(counted.right[own].sum()),
            least=float(counted.confidence[own].min()),
            most=float(counted.confidence[own].max()),
        )
        for name, own in ((name, state == i) for i, name in enumerate(states))
    }


def score_confidences(
    confidence: Floats, correct: NDArray[np.bool_], weight: Floats
) -> ConfidenceFigures:
    """Score confidences; `weight` is how many answers a row stands for."""
    level, at = np.unique(confidence, return_inverse=True)
    tally = fold(level, at, correct, [weight])
    order = float(auroc(tally)[0])
    return ConfidenceFigures(
        brier=float(brier(tally)[0]),
        smooth_ece=float(smooth_ece(tally)[0]),
        auroc=None if np.isnan(order) else order,
    )
