"""One question with its passages, and what was said to it: what a `Scorer` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.records import Reading

if TYPE_CHECKING:
    from novarag.ports import Asking
    from novarag.records import Completion, PassageGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A group and the completion that answers it.

    The completion is a whole reply, which is read as the scorer's strategy lays replies out, or as
    `asking` does, which is that strategy with labels of this one prompt. A `reading` saves reading
    it. `signal` is the value of the calibration's second signal, where its tokens do not give it.
    """

    group: PassageGroup
    completion: Completion
    asking: Asking | None = None
    reading: Reading | None = None
    signal: float | None = None


def stated_exchange(group: PassageGroup, completion: Completion, confidence: float) -> Exchange:
    """Make the exchange of an answer, not a reply, beside which a confidence was stated.

    Args:
        group: The question with its passages.
        completion: The answer alone, and who gave it.
        confidence: The stated confidence, from 0 to 1.
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise UsageError(f"`confidence` is a number from 0 to 1, not {type(confidence).__name__}")
    if not 0 <= confidence <= 1:
        raise UsageError(f"`confidence` is from 0 to 1, not {confidence}; divide percents by 100")
    reading = Reading(answer=completion.text, confidence=float(confidence), spans={})
    return Exchange(group=group, completion=completion, reading=reading)
