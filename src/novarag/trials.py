"""From what came back to what it means: one completion becomes one trial."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.grading import grade_in
from novarag.records import Flaw, Trial

if TYPE_CHECKING:
    from novarag.ports import Asking
    from novarag.records import Completion, PassageGroup


def make_trial(group: PassageGroup, strategy: Asking, sample: int, completion: Completion) -> Trial:
    """Turn one completion into one trial; an unreadable reply is a result, not a crash."""
    reading = strategy.read(completion.text, k=len(group.passages))
    _, end = reading.spans.get("confidence", (0, 0))
    if completion.truncated and end >= len(completion.text.rstrip()):
        reading = replace(reading, flaw=Flaw.TRUNCATED)
    response = reading.response
    graded = response is not None and bool(group.question.answers)
    return Trial(
        group=group,
        strategy=strategy.name,
        sample=sample,
        completion=completion,
        response=response,
        flaw=reading.flaw,
        grade=grade_in(group, response.answer) if response is not None and graded else None,
    )
