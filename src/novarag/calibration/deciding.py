"""Say what stated confidences allow: choose thresholds on one half, check them on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.fitting import LEAST_QUESTIONS, cross_fit
from novarag.calibration.gating import RISKS, choose, chosen_rows, make_chains
from novarag.calibration.need import estimate_need
from novarag.metrics.decisions import Checked, Decisions, Recalibrated
from novarag.seeding import seed_for
from novarag.stats.binomial import clopper_pearson
from novarag.stats.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from novarag.calibration.gating import Chain
    from novarag.calibration.graded import Graded
    from novarag.stats.arrays import Floats, Ints

SURE = 0.9
"""The probability with which a threshold keeps its risk, over the graded rows."""

MOST_QUESTIONS = 1000
"""Questions on which the worth of a calibration is estimated, where there are more."""

FOLDS = 5
_ALIKE = 1e-9  # scores are compared to so much
_Z = 1.959964


def decide(
    graded: Graded, *, risks: Sequence[float] = RISKS, recalibrate: bool = True, seed: int = 0
) -> Decisions:
    """Choose a threshold for each risk on half of the questions, and check it on the others.

    One row a question is drawn by seed, in both halves. With `recalibrate` say what a calibration
    would change, cross-fitted.
    """
    first = _half(graded.question, seed)
    choosing, checking = graded.rows(first), graded.rows(~first)
    used, rows = chosen_rows(choosing, "one", seed)
    chains = make_chains(choosing, choosing.confidence, rows, state=None, rows="one", seed=seed)
    held = chosen_rows(checking, "one", seed)[1]
    return Decisions(
        sure=SURE,
        chosen_on=used,
        checked_on=held.size,
        thresholds=tuple(_checked(chains, used, checking.rows(held), risk) for risk in risks),
        recalibrated=_recalibrated(graded, seed) if recalibrate else None,
    )


def _half(question: Ints, seed: int) -> NDArray[np.bool_]:
    """Say which rows are of the seeded half of the questions."""
    names, back = np.unique(question, return_inverse=True)
    own_seed = seed_for(seed, "decide", "half")
    order = np.random.default_rng(own_seed).permutation(names.size)
    first = np.zeros(names.size, dtype=np.bool_)
    first[order[: (names.size + 1) // 2]] = True
    return first[back]


def _checked(chains: Sequence[Chain], used: int, held: Graded, risk: float) -> Checked:
    best = choose(chains, risk, SURE)
    if best is None:
        levels = [(chain.counts, chain.share * (1 - SURE)) for chain in chains]
        need = estimate_need(levels, total=used, risk=risk, seed=0, replicates=0)
        return Checked(risk=risk, threshold=None, need=need.rows)
    threshold = float(best.chain.counts.threshold[best.at])
    with np.errstate(invalid="ignore"):
        over = held.confidence >= threshold - _ALIKE
    answered, wrong = int(over.sum()), int((over & ~held.correct).sum())
    return Checked(
        risk=risk,
        threshold=threshold,
        kept=answered / max(len(held), 1),
        answered=answered,
        wrong=wrong,
        error=_share(wrong, answered),
    )


def _share(hits: int, count: int) -> Figure | None:
    if not count:
        return None
    low, high = clopper_pearson(np.array([float(hits)]), np.array([float(count)]))
    return Figure(hits / count, float(low[0]), float(high[0]), count)


def _recalibrated(graded: Graded, seed: int) -> Recalibrated | None:
    """Compare Brier scores before and after, over questions; None where there are too few."""
    rows = graded.rows(graded.read)
    names = np.unique(rows.question)
    if names.size < LEAST_QUESTIONS:
        return None
    if names.size > MOST_QUESTIONS:
        own_seed = seed_for(seed, "decide", "sample")
        some = np.random.default_rng(own_seed).choice(names, MOST_QUESTIONS, replace=False)
        rows = rows.rows(np.isin(rows.question, some))
    after = cross_fit(rows, seed=seed, folds=FOLDS)
    loss_before = (rows.confidence - rows.correct) ** 2
    loss_after = (after - rows.correct) ** 2
    gain, reach = _clustered(loss_before - loss_after, rows.question)
    return Recalibrated(
        before=float(loss_before.mean()),
        after=float(loss_after.mean()),
        gain=Figure(gain, gain - reach, gain + reach, len(rows)),
        questions=min(names.size, MOST_QUESTIONS),
    )


def _clustered(values: Floats, question: Ints) -> tuple[float, float]:
    """Return the mean, and how far its interval reaches where rows of a question go together."""
    mean = float(values.mean())
    back = np.unique(question, return_inverse=True)[1]
    sums = np.bincount(back, values - mean)
    count = sums.size
    spread = float(np.sqrt((sums**2).sum() * count / max(count - 1, 1))) / values.size
    return mean, _Z * spread
