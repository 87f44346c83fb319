"""From a score to a decision: the one place, for a reply as for a row of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.formatting import fixed_percent

if TYPE_CHECKING:
    from novarag.calibration.gate import Gate
    from novarag.scoring.answer import Answer, GateWord


def decide_by_gate(gate: Gate, score: float | None, state: str | None) -> tuple[GateWord, str]:
    """Return a gate's decision on a score beside evidence in this state, and its reason."""
    answers, reason = gate.decide(score, state)
    return "answer" if answers else "abstain", reason


def decide_by_threshold(answer: Answer, threshold: float) -> Answer:
    """Decide by a bare threshold, which promises nothing; what was not read stays as it is."""
    if answer.confidence is None:
        return answer
    at_least = answer.confidence >= threshold
    return replace(
        answer,
        decision="answer" if at_least else "abstain",
        reason=f"{fixed_percent(answer.confidence)} is {'' if at_least else 'not '}at least"
        f" {fixed_percent(threshold)}",
    )
