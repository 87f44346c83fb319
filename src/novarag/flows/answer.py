"""Answer one question beside its passages, by one strategy or by several."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from novarag.flows.access import AT_A_DESK
from novarag.flows.looping import synchronous

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.calls import Sampling
    from novarag.flows.access import Access
    from novarag.flows.answerer import Respondent
    from novarag.flows.scoring import Answer
    from novarag.records import Passage, PassageGroup
    from novarag.strategies import Strategy


async def answer_async(
    question: str,
    passages: Iterable[str | Path | Passage],
    llm: Respondent,
    *,
    strategy: str | Strategy = "nova",
    calibration: str | Path | Calibration | None = None,
    gate: str | Path | Gate | None = None,
    signal: float | None = None,
    sampling: Sampling | None = None,
    frame: bool = False,
    structured: bool = True,
    other_source: bool = False,
    access: Access = AT_A_DESK,
) -> Answer:
    """Answer one question beside its passages: answer, confidence, evidence, decision.

    A passage is its text, a `Passage`, or the `Path` of a file with one or many. `llm` is an
    address, an `LLM`, or a function from prompt to reply. With a `calibration` (or its file) the
    confidence is a probability with an interval; with a `gate` (or its file) there is a decision. A
    calibration fitted on another model or prompt is refused unless `other_source` says that it is
    meant; `signal` is the value of the calibration's second signal where a reply's tokens do not
    give it. A reply that cannot be read is no error: the answer says what is wrong in `flaw`. With
    `frame` the labels carry a fresh mark that no passage can know. The server holds the reply to
    the strategy's form, where it can, unless `structured` is False.
    """
    from novarag.flows.answerer import Answerer

    answerer = Answerer(
        llm,
        strategy=strategy,
        calibration=calibration,
        gate=gate,
        sampling=sampling,
        frame=frame,
        structured=structured,
        other_source=other_source,
        access=access,
    )
    return await answerer.answer_async(question, passages, signal=signal)


answer = synchronous(answer_async)


async def answer_by_each_async(
    group: PassageGroup,
    strategies: Sequence[str | Strategy],
    llm: Respondent,
    *,
    calibration: str | Path | Calibration | None = None,
    gate: str | Path | Gate | None = None,
    sampling: Sampling | None = None,
    frame: bool = False,
    structured: bool = True,
    other_source: bool = False,
    access: Access = AT_A_DESK,
) -> list[Answer]:
    """Answer one question by several strategies at once; the answers stand in their order."""
    from novarag.flows.answerer import Answerer

    answerers = [
        Answerer(
            llm,
            strategy=strategy,
            calibration=calibration,
            gate=gate,
            sampling=sampling,
            frame=frame,
            structured=structured,
            other_source=other_source,
            access=access,
        )
        for strategy in strategies
    ]
    return list(await asyncio.gather(*(one.answer_group_async(group) for one in answerers)))


answer_by_each = synchronous(answer_by_each_async)
