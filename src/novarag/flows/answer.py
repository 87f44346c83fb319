"""Answer one question beside its passages, by one strategy or by several."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.defaults import DESK
from novarag.errors import UsageError
from novarag.flows.access import Access, reach
from novarag.flows.looping import synchronous

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag.calls import Sampling
    from novarag.flows.access import Model
    from novarag.ports import Asking
    from novarag.records import Passage, PassageGroup, Trial
    from novarag.strategies import Strategy

AT_A_DESK = Access(timeout=DESK.timeout, attempts=DESK.attempts)
"""How a model is reached while somebody waits for one answer."""


async def answer_async(
    question: str,
    passages: Iterable[str | Path | Passage],
    model: Model,
    *,
    strategy: str | Strategy = "nova",
    sampling: Sampling | None = None,
    frame: bool = False,
    access: Access = AT_A_DESK,
) -> Trial:
    """Answer one question beside its passages: answer, confidence, evidence, judgments.

    A passage is its text, a `Passage`, or the `Path` of a file with one or many. A reply that
    cannot be read is no error: the trial says what is wrong with it in `flaw`. With `frame` the
    labels carry a fresh mark that no passage can know.
    """
    group = make_group(question, passages)
    (trial,) = await answer_by_each_async(
        group, [strategy], model, sampling=sampling, frame=frame, access=access
    )
    return trial


answer = synchronous(answer_async)


async def answer_by_each_async(
    group: PassageGroup,
    strategies: Sequence[str | Strategy],
    model: Model,
    *,
    sampling: Sampling | None = None,
    frame: bool = False,
    access: Access = AT_A_DESK,
) -> list[Trial]:
    """Answer one question by several strategies at once; the trials stand in their order."""
    from novarag.calls import GREEDY
    from novarag.strategies import find_strategy
    from novarag.trials import make_trial

    found: list[Asking] = [find_strategy(strategy) for strategy in strategies]
    if frame:
        found = [find_strategy(strategy).framed() for strategy in strategies]
    reached, how = reach(model, access), sampling or GREEDY
    async with reached.connector([group])() as llm:
        check = getattr(llm, "check", None)
        if check is not None:
            await check()

        async def one(strategy: Asking) -> Trial:
            reply = await llm.complete(strategy.render(group).text, how)
            return make_trial(group, strategy, 0, reply.completions[0])

        return list(await asyncio.gather(*map(one, found)))


answer_by_each = synchronous(answer_by_each_async)


def make_group(question: str, passages: Iterable[str | Path | Passage]) -> PassageGroup:
    """Put a question and its passages together as one group."""
    from novarag.records import PassageGroup, Question

    if not isinstance(question, str):
        raise TypeError(f"question must be text, not {type(question).__name__}")
    if isinstance(passages, (str, Path)):
        raise TypeError("passages must be a list, even of one passage")
    if not question.strip():
        raise UsageError("the question is empty")
    return PassageGroup(
        question=Question(id="question", text=question),
        passages=tuple(p for given in passages for p in _passages(given)),
    )


def _passages(given: str | Path | Passage) -> list[Passage]:
    from novarag.datasets import load_passages
    from novarag.records import Passage

    if isinstance(given, Passage):
        return [given]
    if isinstance(given, Path):
        return load_passages(given)
    if isinstance(given, str):
        return [Passage(text=given)]
    raise TypeError(f"a passage is text, a Passage or a Path, not {type(given).__name__}")
