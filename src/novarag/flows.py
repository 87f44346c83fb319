"""The stories: plain async functions that walk records past ports."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.errors import ServiceError
from novarag.grading import grade_in
from novarag.records import Flaw, Trial

if TYPE_CHECKING:
    from collections.abc import Iterable

    from novarag.ports import LLM
    from novarag.records import Completion, PassageGroup
    from novarag.strategies import Strategy


async def ask(
    groups: Iterable[PassageGroup],
    strategy: Strategy,
    llm: LLM,
    *,
    samples: int = 1,
    temperature: float = 0.0,
) -> list[Trial]:
    """Ask every group, read every reply, grade what could be read."""

    async def one(group: PassageGroup) -> list[Trial]:
        prompt = strategy.render(group)
        replies = await llm.complete(prompt.text, n=samples, temperature=temperature)
        if len(replies) != samples:
            raise ServiceError(f"asked for {samples} samples, got {len(replies)}", retryable=False)
        return [make_trial(group, strategy, i, reply) for i, reply in enumerate(replies)]

    return [t for ts in await asyncio.gather(*map(one, groups)) for t in ts]


def make_trial(
    group: PassageGroup, strategy: Strategy, sample: int, completion: Completion
) -> Trial:
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
