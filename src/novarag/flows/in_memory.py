"""The stories: plain async functions that walk records past ports."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.calls import Cost, Sampling, Usage
from novarag.errors import ServiceError
from novarag.strategies import STRATEGIES
from novarag.strategies.follow_up import FOLLOW_UPS, propose
from novarag.trials import make_estimate, make_trial
from novarag.uncertainty import GREEDY, METHODS, serving, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag.calls import Reply
    from novarag.ports import LLM, Asking
    from novarag.records import PassageGroup, Trial
    from novarag.strategies import Strategy
    from novarag.uncertainty import Method, Need


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
        reply = _whole(await llm.complete(prompt.text, how), how)
        return [make_trial(group, strategy, i, c) for i, c in enumerate(reply.completions)]

    return [t for ts in await asyncio.gather(*map(one, groups)) for t in ts]


def _whole(reply: Reply, sampling: Sampling) -> Reply:
    """Return a reply that has as many samples as were asked for."""
    if len(reply.completions) != sampling.n:
        problem = f"asked for {sampling.n} samples, got {len(reply.completions)}"
        raise ServiceError(problem, retryable=False)
    return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """The trials of each method, what each would cost by itself, and what all cost together."""

    trials: dict[str, list[Trial]]
    costs: dict[str, Cost]
    paid: Cost


async def estimate(
    groups: Sequence[PassageGroup],
    strategy: Strategy,
    llm: LLM,
    *,
    methods: Iterable[Method] = tuple(METHODS.values()),
    max_tokens: int | None = None,
) -> Estimates:
    """Put several methods to the same groups, asking once for what several of them need.

    Everything is kept in memory: `novarag estimate` is for large runs.
    """
    methods = tuple(method.beside(strategy.name) for method in methods)
    needs = union(need for method in methods for need in method.needs)
    drawn: dict[Need, tuple[list[list[Trial]], Cost]] = {}
    for need in needs:
        basis = drawn[serving(GREEDY, needs)][0] if need.follow_up else None
        drawn[need] = await _draw(groups, need, strategy, llm, basis, max_tokens)
    trials: dict[str, list[Trial]] = {}
    for method in methods:
        served = [(drawn[serving(need, needs)][0], need.samples) for need in method.needs]
        trials[method.name] = [
            make_estimate(group, strategy.name, method, [found[i][:n] for found, n in served])
            for i, group in enumerate(groups)
        ]
    costs = {
        m.name: _add(drawn[n][1] for n in {serving(need, needs) for need in union(m.needs)})
        for m in methods
    }
    return Estimates(trials=trials, costs=costs, paid=_add(cost for _, cost in drawn.values()))


def _add(costs: Iterable[Cost]) -> Cost:
    return sum(costs, Cost())


async def _draw(
    groups: Sequence[PassageGroup],
    need: Need,
    strategy: Strategy,
    llm: LLM,
    basis: list[list[Trial]] | None,
    max_tokens: int | None,
) -> tuple[list[list[Trial]], Cost]:
    """Get the replies of one need for every group; none where there is nothing to follow up on."""
    asking: Asking = strategy if need.strategy is None else STRATEGIES[need.strategy]
    asked: Sequence[PassageGroup | None] = groups
    if need.follow_up is not None and basis is not None:
        asking = FOLLOW_UPS[need.follow_up]
        answers = [trials[0].response for trials in basis]
        pairs = zip(groups, answers, strict=True)
        asked = [None if found is None else propose(g, found.answer) for g, found in pairs]
    how = need.sampling(max_tokens)

    async def one(group: PassageGroup | None) -> tuple[list[Trial], Cost]:
        if group is None:
            return [], Cost()
        reply = _whole(await llm.complete(asking.render(group).text, how), how)
        usage = reply.usage or Usage()
        trials = [make_trial(group, asking, i, c) for i, c in enumerate(reply.completions)]
        return trials, Cost(calls=1, prompt_tokens=usage.prompt, completion_tokens=usage.completion)

    found = await asyncio.gather(*map(one, asked))
    return [trials for trials, _ in found], _add(cost for _, cost in found)
