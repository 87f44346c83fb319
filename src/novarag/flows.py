"""The stories: plain async functions that walk records past ports."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import TYPE_CHECKING

from novarag.annotation.judging import PATTERN, read_judge, render_judge
from novarag.calls import CallError, Outcome, Sampling
from novarag.errors import ServiceError
from novarag.trials import make_trial

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping, Sequence

    from novarag.annotation import Vote
    from novarag.ports import LLM
    from novarag.records import PassageGroup, Trial
    from novarag.strategies import Strategy

JUDGING = Sampling(temperature=0.0, max_tokens=120, regex=PATTERN)
"""How a judge of passages is asked, where the server can hold it to the form."""

_HOPELESS = frozenset({Outcome.DENIED, Outcome.REDIRECTED})


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
    groups: Sequence[PassageGroup],
    llm: LLM,
    *,
    sampling: Sampling = JUDGING,
    replies: MutableMapping[str, str] | None = None,
) -> list[list[Vote | None]]:
    """Ask a model what each passage is; None where it failed or its reply cannot be read.

    `replies` holds replies by the hash of their prompt: what is there is not asked, what is asked
    is put there at once. A request that can never succeed raises, and so does it if all failed.
    """
    known: MutableMapping[str, str] = {} if replies is None else replies
    prompts = [[render_judge(g.question, p).text for p in g.passages] for g in groups]
    keys = {prompt: _hash(prompt, sampling) for row in prompts for prompt in row}
    missing = [prompt for prompt, key in keys.items() if key not in known]
    failed: list[ServiceError] = []

    async def one(prompt: str) -> None:
        try:
            reply = await llm.complete(prompt, sampling)
        except ServiceError as error:
            if isinstance(error, CallError) and error.outcome in _HOPELESS:
                raise  # the others would fare no better
            failed.append(error)  # one passage is not worth the others; the caller counts
        else:
            known[keys[prompt]] = reply.completions[0].text

    try:
        async with asyncio.TaskGroup() as tasks:  # a request that is hopeless stops the others
            for prompt in missing:
                tasks.create_task(one(prompt))
    except* ServiceError as errors:
        raise errors.exceptions[0] from None
    if failed and len(failed) == len(missing):
        raise failed[0]
    said = {prompt: read_judge(known[key]) for prompt, key in keys.items() if key in known}
    return [[said.get(prompt) for prompt in row] for row in prompts]


def _hash(prompt: str, sampling: Sampling) -> str:
    """Name what is asked: a reply held to a form answers another request than a free one."""
    whole = f"{sampling.regex or ''}\0{prompt}"
    return sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
