"""Ask a model what each passage of a group is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from novarag.annotation.votes import JUDGING, judge_key, read_judge, render_judge
from novarag.calls import CallError, Outcome
from novarag.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence

    from novarag.annotation import Vote
    from novarag.calls import Sampling
    from novarag.ports import LLM
    from novarag.records import PassageGroup

_HOPELESS = frozenset({Outcome.DENIED, Outcome.REDIRECTED})


async def judge_passages(
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
    keys = {prompt: judge_key(prompt, sampling) for row in prompts for prompt in row}
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
