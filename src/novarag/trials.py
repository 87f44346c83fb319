"""From what came back to what it means: a completion, or what a method makes of some, as trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.grading import grade_in
from novarag.records import Completion, Flaw, Trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.ports import Asking
    from novarag.records import PassageGroup, Reading
    from novarag.uncertainty import Method


def make_trial(group: PassageGroup, strategy: Asking, sample: int, completion: Completion) -> Trial:
    """Turn one completion into one trial; an unreadable reply is a result, not a crash."""
    reading = strategy.read(completion.text, group=group, truncated=completion.truncated)
    return trial_of(reading, group, strategy, sample, completion)


def trial_of(
    reading: Reading, group: PassageGroup, strategy: Asking, sample: int, completion: Completion
) -> Trial:
    """Put a completion that was read together with its reading."""
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


def make_estimate(
    group: PassageGroup, strategy: str, method: Method, draws: Sequence[Sequence[Trial]]
) -> Trial:
    """Turn what a method makes of the trials it needs into a trial of its own.

    `draws` holds the trials of each need. A need that could not be met (a follow-up where there
    was no answer to follow up on) has none, and leaves the flaw of the reply that was missing.
    """
    missing = any(not draw for draw in draws)
    found = _flaw(draws) if missing else method.of(*draws)
    response = None if isinstance(found, Flaw) else found
    graded = response is not None and bool(group.question.answers)
    models = [t.completion.model for draw in draws for t in draw]
    return Trial(
        group=group,
        strategy=strategy,
        sample=0,
        completion=Completion(text="", model=models[0] if models else ""),
        response=response,
        flaw=found if isinstance(found, Flaw) else None,
        grade=grade_in(group, response.answer) if response is not None and graded else None,
    )


def _flaw(draws: Sequence[Sequence[Trial]]) -> Flaw:
    return next((t.flaw for draw in draws for t in draw if t.flaw is not None), Flaw.NO_ANSWER)
