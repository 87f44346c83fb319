"""Answer one question beside its passages, by one strategy or by several."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from novarag.flows.sync import synchronous
from novarag.runner.access import INTERACTIVE_ACCESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.calls import Sampling
    from novarag.flows.answerer import Respondent
    from novarag.records import Passage, PassageGroup
    from novarag.runner.access import Access
    from novarag.scoring import Answer
    from novarag.strategies import Strategy


async def answer_async(
    question: str,
    passages: Iterable[str | Path | Passage],
    model: Respondent,
    *,
    strategy: str | Strategy = "nova",
    calibration: str | Path | Calibration | None = None,
    gate: str | Path | Gate | None = None,
    signal: float | None = None,
    signals: Mapping[str, float] | None = None,
    sampling: Sampling | None = None,
    frame: bool = False,
    structured: bool = True,
    other_source: bool = False,
    access: Access = INTERACTIVE_ACCESS,
) -> Answer:
    """Answer one question beside its passages: answer, confidence, evidence, decision.

    A reply that cannot be read is no error: the answer says what is wrong in `flaw`.

    Args:
        question: The question, as text.
        passages: The passages in their order, each as its text, a `Passage`, or the `Path` of a
            file with one or many; a `str` is always text, never a path.
        model: The model to ask: `URL=NAME` (or a list of them, for replicas), `simulated:NAME`, an
            `Endpoint`, an `LLM`, or a function from prompt to reply.
        strategy: The strategy that makes the prompt and reads the reply: its name, the object, or
            "package.module:OBJECT".
        calibration: A calibration or its file, which makes the confidence a probability with an
            interval; None leaves it as stated.
        gate: A gate or its file, which decides whether the answer may be given; None leaves that
            open. One that was set on a calibration needs the same `calibration`.
        signal: Value of the calibration's second signal, where it has one that the reply's tokens
            do not give.
        signals: Values of the scores of a calibration that takes several, by name, such as
            `{"similarity": 0.61}`; a missing one counts as the worst.
        sampling: How the one reply is sampled; None takes the likeliest tokens. A function as
            `model` takes none.
        frame: Give the labels of each prompt a fresh mark that no passage can know
            (`Answer[7f3a2c]:`); labels without it do not count.
        structured: Have the server hold replies to the strategy's form, where it can.
        other_source: Take a `calibration` or `gate` made from answers of another model or prompt,
            which is refused otherwise.
        access: How servers are reached: time-outs, concurrency, retries, keys. The default waits
            120 seconds for a reply, in up to 4 attempts.
    """
    from novarag.flows.answerer import Answerer

    answerer = Answerer(
        model,
        strategy=strategy,
        calibration=calibration,
        gate=gate,
        sampling=sampling,
        frame=frame,
        structured=structured,
        other_source=other_source,
        access=access,
    )
    return await answerer.answer_async(question, passages, signal=signal, signals=signals)


answer = synchronous(answer_async)


async def answer_by_each_async(
    group: PassageGroup,
    strategies: Sequence[str | Strategy],
    model: Respondent,
    *,
    calibration: str | Path | Calibration | None = None,
    gate: str | Path | Gate | None = None,
    sampling: Sampling | None = None,
    frame: bool = False,
    structured: bool = True,
    other_source: bool = False,
    access: Access = INTERACTIVE_ACCESS,
) -> list[Answer]:
    """Answer one question by several strategies at once; the answers stand in their order."""
    from novarag.flows.answerer import Answerer

    answerers = [
        Answerer(
            model,
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
