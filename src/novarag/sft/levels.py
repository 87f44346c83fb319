"""The levels of confidence that a model is taught to state, and how each is written.

Ten levels are 5 %, 15 % … 95 %, written with two digits (`05%`), so that the first digit alone says
which: with a tokenizer that takes digits one by one, one token decides the level. A hundred and one
are the whole percents.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from novarag.errors import UsageError

COUNTS = (10, 101)
"""How many levels there may be."""

_DIGITS = 9  # beyond which a share that floating point holds is what was meant


@dataclass(frozen=True, slots=True)
class ConfidenceLevels:
    """Ten levels, or a hundred and one.

    >>> Levels(10).digits[0], Levels(10).values[7], Levels(101).digits[7]
    ('05', 0.75, '7')
    """

    count: int = COUNTS[0]

    def __post_init__(self) -> None:
        if self.count not in COUNTS:
            raise UsageError(f"`levels` is 10 or 101, not {self.count}")

    @property
    def _percents(self) -> list[int]:
        return [10 * i + 5 for i in range(10)] if self.count == COUNTS[0] else list(range(101))

    @property
    def values(self) -> tuple[float, ...]:
        """The confidence that each level states."""
        return tuple(percent / 100 for percent in self._percents)

    @property
    def digits(self) -> tuple[str, ...]:
        """The digits that each level is written with, before its percent sign."""
        width = 2 if self.count == COUNTS[0] else 1
        return tuple(f"{percent:0{width}}" for percent in self._percents)

    def nearest(self, confidence: float) -> int:
        """Return the number of the nearest level; between two, the upper one.

        >>> Levels(10).nearest(0.3), Levels(10).nearest(1.0), Levels(101).nearest(0.625)
        (3, 9, 63)
        """
        if not 0 <= confidence <= 1:
            raise ValueError(f"a confidence is from 0 to 1, not {confidence!r}")
        if self.count == COUNTS[0]:
            return min(floor(round(10 * confidence, _DIGITS)), 9)
        return floor(round(100 * confidence, _DIGITS) + 0.5)
