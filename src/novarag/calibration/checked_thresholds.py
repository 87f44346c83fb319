"""Say what stated confidences allow: the thresholds of a gate, and a check of them on halves.

The thresholds are those of `fit_gate`, by the same code on the same rows. Whether to believe them
is tried once: the same tests on half of the questions choose a threshold, the other half checks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from novarag.calibration.fit_calibration import LEAST_QUESTIONS, cross_fit
from novarag.calibration.fit_gate import RISKS, SURE, choose, chosen_rows, kept_at, make_chains
from novarag.calibration.sample_size import estimate_sample_size
from novarag.metrics.decisions import CheckedThreshold, Decisions, HalfCheck, RecalibrationGain
from novarag.records import TOLERANCE
from novarag.seeding import seed_for
from novarag.stats.binomial import clopper_pearson
from novarag.stats.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from novarag.calibration.fit_gate import ThresholdChain
    from novarag.calibration.gate import RiskCoverage
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.stats.arrays import Floats, Ints

MOST_QUESTIONS = 1000
"""Questions on which the worth of a calibration is estimated, where there are more."""

FOLDS = 5  # half as many as a calibration's own figures have: a page may judge 24 groups
_Z = 1.959964  # standard deviations to either end of a 95 % interval of the normal


def decide(
    graded: GradedAnswers,
    *,
    risks: Sequence[float] = RISKS,
    recalibrate: bool = True,
    seed: int = 0,
) -> Decisions:
    """Say which threshold a gate has at each risk, and check that on halves of the questions.

    One row a question is drawn by seed, of all and of both halves. With `recalibrate` say what a
    calibration would change, cross-fitted.
    """
    used, rows = chosen_rows(graded, "one", seed)
    chains = make_chains(graded, graded.confidence, rows, state=None, rows="one", seed=seed)
    gates = [kept_at(graded, graded.confidence, rows, chains, risk, SURE) for risk in risks]
    halves = _HalfTests.of(graded, seed)
    return Decisions(
        confidence_level=SURE,
        used=used,
        chosen_on=halves.chosen_on,
        checked_on=len(halves.held),
        thresholds=tuple(_checked(kept, chains, used, halves) for kept in gates),
        recalibrated=_recalibrated(graded, seed) if recalibrate else None,
    )


class _HalfTests(NamedTuple):
    """The tests of one half of the questions, and the rows of the other that check them."""

    chains: Sequence[ThresholdChain]
    chosen_on: int
    held: GradedAnswers
    coin: Floats  # thins rows that were picked at unequal rates

    @classmethod
    def of(cls, graded: GradedAnswers, seed: int) -> _HalfTests:
        first = _half(graded.question, seed)
        choosing, checking = graded.rows(first), graded.rows(~first)
        used, rows = chosen_rows(choosing, "one", seed)
        chains = make_chains(choosing, choosing.confidence, rows, state=None, rows="one", seed=seed)
        held = checking.rows(chosen_rows(checking, "one", seed)[1])
        own_seed = seed_for(seed, "decide", "coins")
        return cls(chains, used, held, np.random.default_rng(own_seed).random(len(held)))

    def check(self, risk: float, least: float = 0.0) -> HalfCheck | None:
        """Choose a threshold on one half, and count what it lets through of the other.

        Where all rows chose a stricter one, `least`, that is counted: the other is no advice.
        """
        best = choose(self.chains, risk, SURE)
        if best is None:
            return None
        held, threshold = self.held, float(best.chain.counts.threshold[best.at])
        at = max(threshold, least)
        with np.errstate(invalid="ignore"):
            over = held.confidence >= at - TOLERANCE
        share = float(held.weights[over].sum() / max(held.weights.sum(), TOLERANCE))
        counted = over & (self.coin * held.weights[over].max(initial=0.0) < held.weights)
        answered, wrong = int(counted.sum()), int((counted & ~held.correct).sum())
        return HalfCheck(
            threshold=threshold,
            at=at,
            kept=share,
            answered=answered,
            wrong=wrong,
            error=_share(wrong, answered),
        )


def _half(question: Ints, seed: int) -> NDArray[np.bool_]:
    """Say which rows are of the seeded half of the questions."""
    names, back = np.unique(question, return_inverse=True)
    own_seed = seed_for(seed, "decide", "half")
    order = np.random.default_rng(own_seed).permutation(names.size)
    first = np.zeros(names.size, dtype=np.bool_)
    first[order[: (names.size + 1) // 2]] = True
    return first[back]


def _checked(
    kept: RiskCoverage, chains: Sequence[ThresholdChain], used: int, halves: _HalfTests
) -> CheckedThreshold:
    risk = kept.risk
    if kept.threshold is None:
        levels = [(chain.counts, chain.share * (1 - SURE)) for chain in chains]
        need = estimate_sample_size(levels, total=used, risk=risk, seed=0, replicates=0)
        return CheckedThreshold(risk=risk, threshold=None, need=need.rows)
    half = halves.check(risk, kept.threshold)
    return CheckedThreshold(
        risk=risk,
        threshold=kept.threshold,
        kept=kept.share,
        half=half,
        failed=half is not None and half.error is not None and half.error.value > risk + TOLERANCE,
    )


def _share(hits: int, count: int) -> Figure | None:
    if not count:
        return None
    low, high = clopper_pearson(np.array([float(hits)]), np.array([float(count)]))
    return Figure(hits / count, float(low[0]), float(high[0]), count)


def _recalibrated(graded: GradedAnswers, seed: int) -> RecalibrationGain | None:
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
    return RecalibrationGain(
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
