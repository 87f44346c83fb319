"""What stated confidences allow: thresholds that were checked, the worth of a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.stats.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfCheck:
    """A threshold that half of the questions chose, and what is let through of the other half.

    Counted is at `at`: what that half chose, or the gate's threshold where it is stricter. `kept`
    is the share of the answers checked that are at or above it, unread ones counted among the
    withheld; `error` is the share of those kept that is wrong, None where none was kept.
    """

    threshold: float
    at: float
    kept: float
    answered: int
    wrong: int
    error: Figure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedThreshold:
    """A threshold for one risk: the one that a gate on the same rows has, and a check of it.

    `threshold` is None where none could be certified; `need` then says about how many graded
    questions would do, None where no number is likely to. `kept` is the share of all answers at
    or above it. `half` is None where half of the questions choose none. `failed` says that more
    than the risk was wrong in the check: then the threshold is no advice.
    """

    risk: float
    threshold: float | None
    kept: float = 0.0
    need: int | None = None
    half: HalfCheck | None = None
    failed: bool = False

    @property
    def advised(self) -> float | None:
        """The threshold to act on, None where there is none, or where its check failed."""
        return None if self.failed else self.threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalibrationGain:
    """What a calibration fitted on other questions would change; a gain above 0 is a better one.

    `questions` is how many were looked at: a sample drawn by seed where there are very many.
    """

    before: float
    after: float
    gain: Figure
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What the answers of one panel allow: thresholds by risk, and the worth of a calibration.

    `used` rows, one a question, chose the thresholds, at the `confidence_level` that a gate has by
    default. For the check `chosen_on` of them chose, and `checked_on` were looked at.
    """

    confidence_level: float
    used: int
    chosen_on: int
    checked_on: int
    thresholds: tuple[CheckedThreshold, ...]
    recalibrated: RecalibrationGain | None = None
