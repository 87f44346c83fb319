"""The levels of confidence that a model is taught to state, and where a completion states one.

Ten levels are 5 %, 15 % … 95 %, written with two digits (`05%`), so that the first digit alone says
which: with a tokenizer that takes digits one by one, one token decides the level. A hundred and one
are the whole percents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import floor, isclose
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.records import TOLERANCE
from novarag.strategies import Labels, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.records import Reading

NO_NUMBER = "the confidence is not one number that stands there once"
"""Why a completion is left out where its number is to be masked or rewritten."""

# Every number within the stated confidence; one of them is it, as a percent or a share.
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")


def usual_reading(completion: str) -> Reading:
    """Read a completion by the labels that all strategies but `multi-step` share."""
    return read(completion, Labels())


def number_span(
    completion: str, reader: Callable[[str], Reading] = usual_reading
) -> tuple[int, int] | None:
    r"""Say from where to where the number of the stated confidence stands, without its sign.

    None where no confidence is read, or where it is no plain number, such as 7/10.

    >>> said = "Answer: 1871\nConfidence: 85%"
    >>> said[slice(*number_span(said))]
    '85'
    """
    reading = reader(completion)
    if reading.confidence is None or reading.flaw is not None:
        return None
    stated = reading.confidence
    found = [
        match.span()
        for match in _NUMBER.finditer(completion, *reading.spans["confidence"])
        if _is_close(float(match[0]), stated) or _is_close(float(match[0]) / 100, stated)
    ]
    return found[0] if len(found) == 1 else None


def write_level(
    completion: str,
    levels: ConfidenceLevels,
    level: int,
    reader: Callable[[str], Reading] = usual_reading,
) -> str | None:
    r"""Put a level in the place of the stated confidence; None where that cannot be read back.

    >>> from novarag.sft.levels import ConfidenceLevels
    >>> write_level("Answer: 1871\nConfidence: 100%", ConfidenceLevels(10), 7)
    'Answer: 1871\nConfidence: 75%'
    """
    span = number_span(completion, reader)
    if span is None:
        return None
    rest = completion[span[1] :]
    sign = "" if rest.lstrip(" \t").startswith("%") else "%"
    made = f"{completion[: span[0]]}{levels.digits[level]}{sign}{rest}"
    before, after = reader(completion), reader(made)
    is_object = before.spans["answer"] == before.spans["confidence"]  # a sign would break it
    same = after.flaw is None and after.answer == before.answer and not is_object
    return made if same and after.confidence == levels.values[level] else None


def _is_close(value: float, other: float) -> bool:
    return isclose(value, other, abs_tol=TOLERANCE)


COUNTS = (10, 101)
"""How many levels there may be."""

_DIGITS = 9  # beyond which a share that floating point holds is what was meant


@dataclass(frozen=True, slots=True)
class ConfidenceLevels:
    """Ten levels, or a hundred and one.

    >>> ten, hundred = ConfidenceLevels(10), ConfidenceLevels(101)
    >>> ten.digits[0], ten.values[7], hundred.digits[7]
    ('05', 0.75, '7')
    """

    count: int = COUNTS[0]

    def __post_init__(self) -> None:
        if self.count not in COUNTS:
            raise UsageError.saying("`levels` is 10 or 101, not {}", self.count)

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

        >>> ten, hundred = ConfidenceLevels(10), ConfidenceLevels(101)
        >>> ten.nearest(0.3), ten.nearest(1.0), hundred.nearest(0.625)
        (3, 9, 63)
        """
        if not 0 <= confidence <= 1:
            raise ValueError(f"a confidence is from 0 to 1, not {confidence!r}")
        if self.count == COUNTS[0]:
            return min(floor(round(10 * confidence, _DIGITS)), 9)
        return floor(round(100 * confidence, _DIGITS) + 0.5)
