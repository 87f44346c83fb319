"""A calibration fitted row by row: the plain computation that counted answers are held to.

Nothing is grouped: every row is a cell of its own for the models and for the levels, the folds are
gone through as subsets of rows, and how far the rows of a question go together is summed over rows.
It is slow, and takes a hundred numbers a row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, stdtrit

from novarag.calibration import fit_calibration, fused_rows, signal_scale
from novarag.calibration.calibration import (
    COVERS,
    Calibration,
    FitRecord,
    LevelShift,
    ObservedRange,
    percents,
)
from novarag.calibration.fit_calibration import score_confidences
from novarag.calibration.graded_answers import pack_questions
from novarag.calibration.level_effects import level_effects
from novarag.calibration.logistic_models import LEAST, MOST, CellCounts, fit_models, log_odds
from novarag.calibration.reference import count_reference

if TYPE_CHECKING:
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.stats.arrays import Floats


def fit_by_rows(graded: GradedAnswers, *, stamp: fit_calibration.FitStamp) -> Calibration:
    """Fit as `fit_calibration.fit` does, row by row."""
    read = graded.read
    rows = graded.rows(read)
    after = cross_fit_by_rows(graded, seed=stamp.seed)[read]
    fitted = FitRecord(
        rows=len(rows),
        questions=rows.questions,
        unread=int((~read).sum()) + graded.unread_ungraded,
        unread_graded=int((~read).sum()),
        ungraded=graded.ungraded,
        digest=graded.digest,
        date=stamp.date,
        seed=stamp.seed,
        version=stamp.version,
        stated=score_confidences(rows.confidence, rows.correct, rows.weights),
        calibrated=score_confidences(after, rows.correct, rows.weights),
        design_effect=design_effect_by_rows(rows),
        known=pack_questions(graded.question_ids),
    )
    reference = count_reference(graded, seed=stamp.seed)
    return replace(calibrate_rows(rows), fitted=fitted, reference=reference)


def cross_fit_by_rows(
    graded: GradedAnswers, *, seed: int, folds: int = fit_calibration.FOLDS
) -> Floats:
    """Calibrate every row by a fit on the rows of the other folds."""
    out = np.full(len(graded), np.nan)
    fold = fused_rows.deal_folds(graded.question, seed, folds)
    for held in np.unique(fold):
        ours = fold == held
        made = calibrate_rows(graded.rows(~ours & graded.read))
        states = [graded.state_name(s) for s in graded.state[ours]]
        signal = None if graded.signal is None else graded.signal[ours]
        out[ours] = made.apply(graded.confidence[ours], states, signal).probability
    return out.round(fit_calibration._DIGITS)


def design_effect_by_rows(graded: GradedAnswers) -> float:
    """Say how many rows of one question say as much as one of its own."""
    if graded.questions == len(graded):
        return 1.0
    residual = graded.correct - graded.correct.mean()
    sums = np.bincount(graded.question, residual)
    most = len(graded) / graded.questions
    alone = (residual**2).sum()
    return float(np.clip((sums**2).sum() / alone, 1.0, most)) if alone > 0 else most


def calibrate_rows(graded: GradedAnswers) -> Calibration:
    """Fit on rows that were all read, each a cell of its own."""
    part = 1 / design_effect_by_rows(graded)
    states = graded.seen_states
    state = np.array([states.index(graded.state_name(s)) for s in graded.state], dtype=np.intp)
    scale = _scale(graded)
    right, count = part * graded.correct, np.full(len(graded), part)
    signal = None if scale is None else graded.signal
    z = None if scale is None or signal is None else fit_calibration._scored(signal, scale)
    cells = CellCounts(
        x=log_odds(graded.confidence), state=state, states=len(states), count=count, right=right,
        z=z,
    )  # fmt: skip
    fits = fit_models(cells)
    alone = np.clip(graded.confidence, LEAST, MOST)
    stays = part * np.log(np.where(graded.correct, alone, 1 - alone)).sum()
    weights, identity = fit_calibration._weigh(fits.evidence, stays, fit_calibration._LEAVE_ALONE)
    wide = fit_calibration._weigh(fits.evidence, stays, fit_calibration._INTERVAL_LEAVE_ALONE)
    percent = percents(graded.confidence)
    pairs, level = np.unique(np.stack([state, percent]), axis=1, return_inverse=True)
    found = level_effects(fit_calibration._average(fits, cells, *wide), right, count, level.ravel())
    levels: dict[str, dict[int, LevelShift]] = {name: {} for name in states}
    for (at, value), shift, variance in zip(pairs.T, found.shift, found.variance, strict=True):
        levels[states[at]][int(value)] = LevelShift(float(shift), float(variance))
    *maps, unseen = fit_calibration._state_maps(fits, weights, *wide)
    freedom = fit_calibration._FREEDOM * graded.questions
    return Calibration(
        states=dict(zip(states, maps, strict=True)),
        unseen=unseen,
        identity=identity,
        levels=levels,
        unseen_variance=found.unseen,
        quantile=float(-stdtrit(freedom, (1 - COVERS) / 2)),
        seen={name: _seen(graded.rows(state == i)) for i, name in enumerate(states)},
        source=graded.source,
        signal=scale,
    )


def _scale(graded: GradedAnswers) -> signal_scale.SignalScale | None:
    if graded.signal is None:
        return None
    values = np.sort(graded.signal[np.isfinite(graded.signal)])
    if values.size < fit_calibration.LEAST_QUESTIONS // 2 or values[0] == values[-1]:
        return None
    ranks = (signal_scale.COARSE * (values.size - 1)).round(9)
    knots = np.interp(ranks, np.arange(values.size), values)
    scores = ndtri((ranks + 0.5) / values.size)
    distinct, back = np.unique(knots, return_inverse=True)
    middle = np.bincount(back, scores) / np.bincount(back)
    return signal_scale.SignalScale(
        graded.signal_name or "signal", tuple(distinct.tolist()), tuple(middle.tolist())
    )


def _seen(own: GradedAnswers) -> ObservedRange:
    return ObservedRange(
        rows=len(own),
        right=int(own.correct.sum()),
        least=float(own.confidence.min()),
        most=float(own.confidence.max()),
    )


def numbers_of(value: object, where: str = "") -> dict[str, object]:
    """List every single value of a JSON object by its path."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = dict(enumerate(value)).items()
    else:
        return {where: value}
    found: dict[str, object] = {}
    for name, inner in items:
        found |= numbers_of(inner, f"{where}/{name}")
    return found


def largest_difference(one: object, other: object) -> float:
    """Return how far apart the numbers of two JSON objects are at most; infinite if they differ."""
    left, right = numbers_of(one), numbers_of(other)
    if left.keys() != right.keys():
        return float("inf")
    worst = 0.0
    for where, value in left.items():
        theirs = right[where]
        if isinstance(value, float) and isinstance(theirs, (float, int)):
            worst = max(worst, abs(value - theirs) / max(1.0, abs(value)))
        elif value != theirs:
            return float("inf")
    return worst
