"""From a trial to what a caller gets: answer, confidence and decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.attacks import AttackOutcome
from novarag.errors import UsageError
from novarag.formatting import percent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.ports import Asking
    from novarag.records import Trial

    Judge = Callable[[Trial], AttackOutcome]

THRESHOLD = 0.5
"""From which stated confidence on an answer is given where there is no gate."""


def judge_of(
    asking: Asking,
    model: str,
    *,
    threshold: float | None,
    gate: str | Path | Gate | None,
    calibration: str | Path | Calibration | None,
    other_source: bool,
) -> tuple[Judge, str]:
    """Return what makes an outcome of a trial, and how it decides."""
    from novarag.flows.attack.gateway import gateway_outcome
    from novarag.flows.calibrate import as_calibration
    from novarag.flows.gate import as_gate
    from novarag.scoring import Scorer
    from novarag.strategies import Strategy

    if sum(part is not None for part in (threshold, gate)) > 1:
        raise UsageError("a `gate` has its own threshold: leave `threshold` out")
    if not isinstance(asking, Strategy):  # a gateway
        if (threshold, gate, calibration) != (None, None, None):
            raise UsageError("a `gateway` decides by itself: leave `threshold` and `gate` out")
        return gateway_outcome, "the gateway decides"
    least = THRESHOLD if threshold is None else threshold
    if not 0 <= least <= 1:
        raise UsageError(f"`threshold` is a share of one, not {least}")
    scorer = Scorer(
        asking,
        None if calibration is None else as_calibration(calibration),
        None if gate is None else as_gate(gate),
        source=model,
        other_source=other_source,
    )
    stated = gate is None and calibration is None

    def judge(trial: Trial) -> AttackOutcome:
        scored = scorer.score_trial(trial)
        decision = scored.decision
        if stated and scored.confidence is not None:
            decision = "answer" if scored.confidence >= least else "abstain"
        return AttackOutcome(
            answer=scored.answer,
            confidence=scored.confidence,
            decision=decision,
            flaw=None if scored.flaw is None else str(scored.flaw),
        )

    if stated:
        return judge, f"an answer is given from a stated confidence of {percent(least)} on"
    return judge, "the calibration scores" if gate is None else "the gate decides"
