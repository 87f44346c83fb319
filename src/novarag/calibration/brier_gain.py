"""What one set of confidences gains over another on the same graded answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

if TYPE_CHECKING:
    from novarag.calibration.graded_answers import GradedAnswers
    from novarag.stats.arrays import Floats

_TAIL = 0.025  # of a 95 % interval


@dataclass(frozen=True, slots=True, kw_only=True)
class BrierGain:
    """Two Brier scores on the same answers, and the mean of their paired differences.

    `gain` is above zero where the new confidences are better; `low` and `high` are its 95 %
    interval over questions. `beside` names the old confidences.
    """

    beside: str
    rows: int
    questions: int
    before: float
    after: float
    gain: float
    low: float
    high: float

    @property
    def word(self) -> str:
        """Say whether the answers show a gain."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "not better"

    def sentence(self) -> str:
        """Say it in a sentence."""
        return (
            f"It is {self.word} than {self.beside}: Brier score {self.before:.4f} to"
            f" {self.after:.4f}, a gain of {self.gain:+.4f} ({self.low:+.4f} to"
            f" {self.high:+.4f}) on the same {self.rows:,} answers to"
            f" {self.questions:,} questions, each scored by a fit that had not seen its question."
        )


def paired_gain(graded: GradedAnswers, before: Floats, after: Floats, *, beside: str) -> BrierGain:
    """Compare two confidences of the same graded answers; answers of one question stay together."""
    right = graded.correct.astype(float)
    scores = (before - right) ** 2, (after - right) ** 2
    difference = scores[0] - scores[1]
    names, back = np.unique(graded.question, return_inverse=True)
    gain = float(difference.mean())
    sums = np.bincount(back, difference - gain)
    questions = names.size
    # the variance of a mean of clusters: sums of residuals by question, as if drawn with them
    spread = np.sqrt((sums**2).sum() * questions / (questions - 1)) / len(graded)
    reach = float(-stdtrit(questions - 1, _TAIL) * spread)
    return BrierGain(
        beside=beside,
        rows=len(graded),
        questions=questions,
        before=float(scores[0].mean()),
        after=float(scores[1].mean()),
        gain=gain,
        low=gain - reach,
        high=gain + reach,
    )
