"""Where a completion states its confidence, and the same completion with another number there."""

from __future__ import annotations

import re
from math import isclose
from typing import TYPE_CHECKING

from novarag.records import TOLERANCE
from novarag.strategies import Labels, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.records import Reading
    from novarag.sft.levels import ConfidenceLevels

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

    >>> from novarag.sft.levels import Levels
    >>> write_level("Answer: 1871\nConfidence: 100%", Levels(10), 7)
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
