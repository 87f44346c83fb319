"""The stories: plain async functions that walk records past ports."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from novarag.calls import Sampling
from novarag.errors import ServiceError
from novarag.trials import make_trial

if TYPE_CHECKING:
    from collections.abc import Iterable

    from novarag.ports import LLM
    from novarag.records import PassageGroup, Trial
    from novarag.strategies import Strategy


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
