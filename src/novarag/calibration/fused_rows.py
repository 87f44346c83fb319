"""Graded answers with a fused score in the place of their confidence, and what each signal adds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.brier_gain import paired_gain
from novarag.calibration.fuse_signals import fit_fusion
from novarag.calibration.graded_answers import SignalTable, count_answers
from novarag.calibration.signal_fusion import FUSED_DIGITS, STATED_SIGNAL, SignalGain
from novarag.errors import UsageError
from novarag.seeding import rng_for

if TYPE_CHECKING:
    from novarag.calibration.calibration import CalibratedRows, Calibration
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.calibration.signal_fusion import SignalFusion
    from novarag.stats.arrays import Floats, Ints

GAIN_FOLDS = 5  # for what each signal adds, which takes a fit for each signal and fold


def deal_folds(question: Ints, seed: int, folds: int) -> Ints:
    """Deal questions out to folds of one size, by seed."""
    names, back = np.unique(question, return_inverse=True)
    order = list(range(names.size))
    rng_for(seed, "folds").shuffle(order)
    dealt = np.empty(names.size, dtype=np.intp)
    dealt[order] = np.arange(names.size) % folds
    return dealt[back]


def signals_of(rows: GradedAnswers) -> SignalTable:
    """Return the signals of rows to fuse; a stated confidence is one of them."""
    if rows.scores is None:
        raise ValueError("rows without scores have nothing to fuse")
    if not rows.states_confidence:
        return rows.scores
    return SignalTable(
        (STATED_SIGNAL, *rows.scores.names),
        np.column_stack([rows.confidence, rows.scores.values]),
        (False, *rows.scores.lower),
    )


def fit_row_fusion(rows: GradedAnswers) -> SignalFusion:
    """Fit a fusion on rows that were all read."""
    effect = count_answers(rows)[0].design_effect
    return fit_fusion(signals_of(rows), rows.correct.astype(float), part=1 / effect)


def cross_fuse(rows: GradedAnswers, *, seed: int, folds: int) -> Floats:
    """Score every row by a fusion of the other folds of questions; all rows were read."""
    return _cross_fused(rows, signals_of(rows), seed=seed, folds=folds)


def _cross_fused(rows: GradedAnswers, table: SignalTable, *, seed: int, folds: int) -> Floats:
    fold = deal_folds(rows.question, seed, folds)
    right = rows.correct.astype(float)
    out = np.empty(len(rows))
    for held in np.unique(fold):
        rest = fold != held
        effect = count_answers(rows.rows(rest))[0].design_effect
        made = fit_fusion(table.rows(rest), right[rest], part=1 / effect)
        out[~rest] = made.many(table.rows(~rest).values)
    return out.round(FUSED_DIGITS)


def signal_gains(rows: GradedAnswers, *, seed: int) -> tuple[SignalGain, ...]:
    """Say what each signal adds beside the others, on questions that no fit had seen."""
    table = signals_of(rows)
    after = _cross_fused(rows, table, seed=seed, folds=GAIN_FOLDS)
    gains = []
    for at, name in enumerate(table.names):
        before = _cross_fused(rows, table.without(at), seed=seed, folds=GAIN_FOLDS)
        found = paired_gain(rows, before, after, beside=name)
        gains.append(SignalGain(name, found.gain, found.low, found.high))
    return tuple(gains)


def in_place(rows: GradedAnswers, score: Floats) -> GradedAnswers:
    """Put scores in the place of the confidences; what was not read stays so."""
    return replace(
        rows, confidence=np.where(rows.read, score, np.nan), scores=None, states_confidence=True
    )


def fuse_rows(made: Calibration, rows: GradedAnswers) -> GradedAnswers:
    """Put the score of a calibration's fusion in the place of the confidences, if it has one."""
    fusion = made.fusion
    if fusion is None:
        if rows.states_confidence:
            return rows
        raise UsageError("the calibration was fitted on stated confidences; these rows have none")
    return in_place(rows, fuse_table(fusion, rows))


def fuse_table(fusion: SignalFusion, rows: GradedAnswers) -> Floats:
    """Return the fused score of each row; `UsageError` names signals that rows lack."""
    return fusion.many(_wanted(fusion, rows)).round(FUSED_DIGITS)


def mean_ranks(table: SignalTable) -> Floats:
    """Return the mean rank of each row's scores, from 0 to 1; no grade is looked at.

    Where nobody said which way a score is better, higher counts as better. A missing one is last.
    """
    ranks = [
        _ranks(-column if lower else column)
        for column, lower in zip(table.values.T, table.lower, strict=True)
    ]
    return np.asarray(np.mean(ranks, axis=0))


def _ranks(column: Floats) -> Floats:
    last = np.where(np.isnan(column), -np.inf, column)
    _, back, count = np.unique(last, return_inverse=True, return_counts=True)
    return np.asarray(((np.cumsum(count) - count / 2) / column.size)[back.ravel()])


def _wanted(fusion: SignalFusion, rows: GradedAnswers) -> Floats:
    """Return the signals of a fusion in its order; `UsageError` names those that rows lack."""
    given = {} if rows.scores is None else dict(
        zip(rows.scores.names, rows.scores.values.T, strict=True)
    )  # fmt: skip
    if rows.states_confidence:
        given[STATED_SIGNAL] = rows.confidence
    lacking = [name for name in fusion.names if name not in given]
    if lacking:
        raise UsageError.saying(
            "the calibration takes {}, which these rows lack; name their columns as `scores`",
            ", ".join(map(repr, lacking)),
        )
    return np.stack([given[name] for name in fusion.names], axis=1)


def calibrate_rows(made: Calibration, rows: GradedAnswers) -> CalibratedRows:
    """Calibrate the confidences, or the scores, of rows."""
    fused = fuse_rows(made, rows)
    states = [fused.state_name(number) for number in fused.state]
    return made.apply(fused.confidence, states, fused.signal)
