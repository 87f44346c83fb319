"""What stated confidences allow: thresholds that were checked, the worth of a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.stats.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A threshold for one risk, chosen on half of the questions and checked on the other half.

    `threshold` is None where none could be certified; `need` then says about how many graded
    questions would do, None where no number is likely to. `kept` is the share of the answers
    checked that are at or above it, unread ones counted among the withheld; `error` is the share
    of those kept that is wrong, None where none was kept.
    """

    risk: float
    threshold: float | None
    kept: float = 0.0
    answered: int = 0
    wrong: int = 0
    error: Figure | None = None
    need: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalibrated:
    """What a calibration fitted on other questions would change; a gain above 0 is a better one.

    `questions` is how many were looked at: a sample drawn by seed where there are very many.
    """

    before: float
    after: float
    gain: Figure
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What the answers of one panel allow: thresholds by risk, and the worth of a calibration."""

    sure: float
    chosen_on: int
    checked_on: int
    thresholds: tuple[Checked, ...]
    recalibrated: Recalibrated | None = None
