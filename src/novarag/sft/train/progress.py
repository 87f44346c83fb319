"""How far a training is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSnapshot:
    """One look at a training: `fresh` steps, `tokens` and `seconds` are of this process."""

    step: int
    steps: int
    fresh: int
    loss: float
    tokens: int
    seconds: float

    @property
    def left(self) -> float:
        """Return the seconds that the other steps will take at this pace."""
        return self.seconds / max(self.fresh, 1) * (self.steps - self.step)
