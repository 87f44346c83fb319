"""Set a gate on graded rows: choose the rows, walk the tests, say what would do where none passes.

Rows of one question depend on each other, so one row a question is drawn by seed; or all are used
with their effective number, which is an approximation and is called one. Rows that were picked at
unequal rates are thinned by coins to the lowest rate among those answered, so that each test sees
a simple random sample of the answers at or above its threshold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from novarag.calibration.gate import Gate, RiskCoverage, RowCounts, ThresholdTest
from novarag.calibration.sample_size import estimate_sample_size
from novarag.calibration.threshold_tests import (
    ChainWalk,
    RankedRows,
    ThresholdCounts,
    count,
    starts,
    walk,
)
from novarag.errors import UsageError
from novarag.records import TOLERANCE
from novarag.seeding import seed_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.stats.arrays import Floats, Ints

ALL = "all"
"""The chain of tests over all evidence states."""

RISKS = (0.05, 0.1, 0.2, 0.3)
"""Risks at which a gate says what one would keep."""

SURE = 0.9
"""The probability of a gate's promise over the graded rows, unless told otherwise."""

RowChoice = Literal["one", "all"]


class ThresholdChain(NamedTuple):
    """Counts for one chain of tests: all rows, or those of one state, and its share of level."""

    state: str | None
    counts: ThresholdCounts
    share: float  # of the level

    def walked(self, risk: float, confidence_level: float) -> ChainWalk:
        """Test this chain at a risk."""
        total = self.counts.answered.max(initial=0.0)
        return walk(self.counts, risk, starts(total, risk, self.share * (1 - confidence_level)))


class ChosenThreshold(NamedTuple):
    """The threshold that answers most, of the chain it belongs to."""

    chain: ThresholdChain
    at: int

    @property
    def answered(self) -> float:
        """Return how many rows it answers."""
        return float(self.chain.counts.answered[self.at])


def fit_gate(  # noqa: PLR0913 - settings, by keyword
    graded: GradedAnswers,
    *,
    risk: float,
    confidence_level: float = SURE,
    score: Floats | None = None,
    state: str | None = None,
    rows: RowChoice = "one",
    seed: int = 0,
) -> Gate:
    """Set a gate on graded rows, or say that the risk is not attainable with them.

    `score` stands in for the stated confidences, NaN where a reply could not be read. With `state`
    a second chain of tests looks at rows of that state alone; both share the level.
    """
    check_chances(risk, confidence_level)
    used, sample_rows = chosen_rows(graded, rows, seed)
    values = graded.confidence if score is None else score
    chains = make_chains(graded, values, sample_rows, state=state, rows=rows, seed=seed)
    best = choose(chains, risk, confidence_level)
    total = float(used)
    refused = best is None
    return Gate(
        risk=float(risk),
        confidence_level=float(confidence_level),
        threshold=None if best is None else float(best.chain.counts.threshold[best.at]),
        state=None if best is None else best.chain.state,
        share=0.0 if best is None else _share(graded, values, sample_rows, best),
        errors=0.0 if best is None else float(best.chain.counts.errors[best.at]),
        counted=_counted(graded, values, sample_rows),
        path=tuple(_steps(chains, risk, confidence_level)),
        kept=tuple(
            kept_at(graded, values, sample_rows, chains, other, confidence_level) for other in RISKS
        ),
        least_risk=least_risk(chains, risk, confidence_level) if refused else None,
        need=estimate_sample_size(
            [(chain.counts, chain.share * (1 - confidence_level)) for chain in chains],
            total=total, risk=risk, seed=seed,
        ) if refused else None,
        approximate=rows == "all" and graded.questions < len(graded),
        source=graded.source,
        digest=graded.digest,
        seed=seed,
        remarks=graded.remarks,
    )  # fmt: skip


def check_chances(risk: float, confidence_level: float) -> None:
    """Refuse a risk or a probability that is none."""
    for name, value in (("risk", risk), ("confidence_level", confidence_level)):
        if not 0 < value < 1:
            raise UsageError.saying("`{}` must be between 0 and 1, not {!r}", name, value)


def chosen_rows(graded: GradedAnswers, rows: RowChoice, seed: int) -> tuple[int, Ints]:
    """Return the rows to use: one a question, drawn by seed, or all; and how many they count."""
    if rows == "all":
        return graded.questions, np.arange(len(graded))
    if rows != "one":
        raise UsageError.saying("`rows` is 'one' or 'all', not {!r}", rows)
    own_seed = seed_for(seed, "gate", "rows")
    order = np.random.default_rng(own_seed).permutation(len(graded))
    first = np.unique(graded.question[order], return_index=True)[1]
    chosen = np.sort(order[first])
    return chosen.size, chosen


def make_chains(
    graded: GradedAnswers,
    score: Floats,
    chosen: Ints,
    *,
    state: str | None,
    rows: RowChoice,
    seed: int,
) -> list[ThresholdChain]:
    """Count what the chains of tests need; unread rows are in none of them."""
    read = chosen[~np.isnan(score[chosen])]
    if score[read].size and not (score[read].min() >= 0 and score[read].max() <= 1):
        raise UsageError("scores lie from 0 to 1")
    own_seed = seed_for(seed, "gate", "coins")
    coin = None if graded.weight is None else np.random.default_rng(own_seed).random(len(graded))
    together = rows == "all"

    def chain(which: Ints, name: str | None, share: float) -> ThresholdChain:
        order = which[np.argsort(-score[which], kind="stable")]
        sample = RankedRows(
            score=score[order],
            wrong=~graded.correct[order],
            weight=None if graded.weight is None else graded.weight[order],
            coin=None if coin is None else coin[order],
            question=graded.question[order] if together else None,
        )
        return ThresholdChain(name, count(sample), share)

    if state is None:
        return [chain(read, None, 1.0)]
    if state not in graded.states:
        known = ", ".join(graded.states) or "none"
        raise UsageError(f"no graded row has the evidence state {state!r}; states are: {known}")
    own = read[graded.state[read] == graded.states.index(state)]
    return [chain(read, None, 0.5), chain(own, state, 0.5)]


def choose(
    chains: Sequence[ThresholdChain], risk: float, confidence_level: float
) -> ChosenThreshold | None:
    """Walk all chains; of what they certify choose what answers most rows."""
    ends = [ChosenThreshold(chain, chain.walked(risk, confidence_level).last) for chain in chains]
    passed = [end for end in ends if end.at >= 0]
    return max(passed, key=lambda end: end.answered, default=None)


def least_risk(
    chains: Sequence[ThresholdChain], above: float, confidence_level: float
) -> float | None:
    """Return the least whole percent over `above` at which some threshold passes."""
    for whole in range(int(100 * above + 1e-9) + 1, 100):
        if choose(chains, whole / 100, confidence_level) is not None:
            return whole / 100
    return None


def _share(graded: GradedAnswers, score: Floats, chosen: Ints, best: ChosenThreshold) -> float:
    """Return the share of the rows used that are at or above a threshold, unread ones included."""
    weight = graded.weights[chosen]
    over = score[chosen] >= best.chain.counts.threshold[best.at] - TOLERANCE
    if best.chain.state is not None:
        over &= graded.state[chosen] == graded.states.index(best.chain.state)
    return float(weight[over].sum() / weight.sum())


def kept_at(
    graded: GradedAnswers,
    score: Floats,
    chosen: Ints,
    chains: Sequence[ThresholdChain],
    risk: float,
    confidence_level: float,
) -> RiskCoverage:
    """Say which threshold a gate would have at a risk, and what it would keep."""
    best = choose(chains, risk, confidence_level)
    if best is None:
        return RiskCoverage(risk, None, None, 0.0)
    threshold = float(best.chain.counts.threshold[best.at])
    return RiskCoverage(risk, threshold, best.chain.state, _share(graded, score, chosen, best))


def _counted(graded: GradedAnswers, score: Floats, chosen: Ints) -> RowCounts:
    return RowCounts(
        rows=len(graded),
        questions=graded.questions,
        used=chosen.size,
        unread=int(np.isnan(score[chosen]).sum()),
        wrong=int((~graded.correct[chosen]).sum()),
        ungraded=graded.ungraded,
        unread_ungraded=graded.unread_ungraded,
        weighted=graded.weight is not None,
    )


def _steps(
    chains: Sequence[ThresholdChain], risk: float, confidence_level: float
) -> list[ThresholdTest]:
    """Return the tests that were made, chain by chain."""
    steps = []
    for chain in chains:
        taken, counts = chain.walked(risk, confidence_level), chain.counts
        steps += [
            ThresholdTest(
                states=chain.state or ALL,
                threshold=float(counts.threshold[at]),
                answered=float(counts.size[at]),
                errors=float(counts.errors[at]),
                p_value=float(taken.p_value[at]),
                level=float(taken.level[at]),
                passed=bool(taken.p_value[at] <= taken.level[at]),
            )
            for at in np.flatnonzero(taken.level > 0).tolist()
        ]
    return steps
