"""The stories: plain async functions that walk records past ports."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from novarag.annotation.judging import PATTERN, read_judge, render_judge
from novarag.calls import Sampling
from novarag.errors import ServiceError
from novarag.trials import make_trial

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag.annotation import Vote
    from novarag.ports import LLM
    from novarag.records import PassageGroup, Trial
    from novarag.strategies import Strategy

JUDGING = Sampling(temperature=0.0, max_tokens=120, regex=PATTERN)
"""How a judge of passages is asked, where the server can hold it to the form."""


async def ask(
    groups: Iterable[PassageGroup],
    strategy: Strategy,
    llm: LLM,
    *,
    samples: int = 1,
    temperature: float = 0.0,
    sampling: Sampling | None = None,
) -> list[Trial]:
    """Ask every group, read every reply, grade what could be read.

    `sampling` says more than `samples` and `temperature` can, and replaces both. Everything is
    kept in memory and a request that fails for good raises: `novarag ask` is for large runs.
    """
    how = sampling or Sampling(n=samples, temperature=temperature)

    async def one(group: PassageGroup) -> list[Trial]:
        prompt = strategy.render(group)
        reply = await llm.complete(prompt.text, how)
        if len(reply.completions) != how.n:
            problem = f"asked for {how.n} samples, got {len(reply.completions)}"
            raise ServiceError(problem, retryable=False)
        return [make_trial(group, strategy, i, c) for i, c in enumerate(reply.completions)]

    return [t for ts in await asyncio.gather(*map(one, groups)) for t in ts]


async def judge(
    groups: Sequence[PassageGroup], llm: LLM, *, sampling: Sampling = JUDGING
) -> list[list[Vote | None]]:
    """Ask a model what each passage is; None where it failed or its reply cannot be read."""

    async def one(group: PassageGroup, number: int) -> Vote | None:
        prompt = render_judge(group.question, group.passages[number])
        try:
            reply = await llm.complete(prompt.text, sampling)
        except ServiceError:
            return None  # one passage is not worth the others; the caller counts
        return read_judge(reply.completions[0].text)

    said = iter(await asyncio.gather(*(one(g, i) for g in groups for i in range(len(g.passages)))))
    return [[next(said) for _ in g.passages] for g in groups]
