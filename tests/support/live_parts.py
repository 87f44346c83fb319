"""Made-up graded answers, and calibrations fitted on them, for tests of what uses one."""

import numpy as np

from novarag.calibration.fitting import Stamp, fit
from novarag.calibration.graded import Graded, Source

STATES = ("conflicting", "consistent", "insufficient")
RIGHT = {"conflicting": 0.3, "consistent": 0.9, "insufficient": 0.5}
"""How often answers are right in each state, whatever they state."""


def graded(rows=240, seed=0, source=Source(), signal=None):  # noqa: B008 - frozen
    """Answers that state 80 to 100 % and are right as often as their state says.

    With `signal`, the name of one, it is high where an answer is right.
    """
    rng = np.random.default_rng(seed)
    state = np.arange(rows) % 3
    right = rng.random(rows) < np.array([RIGHT[s] for s in STATES])[state]
    tells = None if signal is None else np.clip(rng.normal(0.4 + 0.3 * right, 0.15), 0, 1)
    return Graded(
        confidence=rng.choice([0.8, 0.9, 0.95, 1.0], rows),
        correct=right,
        question=np.arange(rows),
        state=state,
        states=STATES,
        signal=tells,
        signal_name=signal,
        source=source,
        digest="made up",
        question_ids=tuple(f"q{i}" for i in range(rows)),
    )


def calibration(**how):
    """A calibration fitted on `graded`."""
    return fit(graded(**how), stamp=Stamp(date="2026-01-01", version="0"))


class gate:
    def __init__(self, made, threshold): self.threshold=threshold
    def decide(self, score, state=None):
        from types import SimpleNamespace
        return SimpleNamespace(answer=score >= self.threshold, reason=f"{score:.1%} in {state}")
