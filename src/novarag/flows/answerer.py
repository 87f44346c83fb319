"""The parts of a live answer, put together once: model, strategy, calibration, gate."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from novarag.calls import GREEDY, CallError, Outcome
from novarag.errors import UsageError
from novarag.flows.calibrate import as_calibration
from novarag.flows.gate import as_gate
from novarag.flows.inputs import load_passages
from novarag.flows.sync import LoopThread, run_sync, wait_in
from novarag.llm.functions import FunctionLLM
from novarag.prose import say
from novarag.records import Passage, PassageGroup, Question
from novarag.runner.access import INTERACTIVE_ACCESS, reach
from novarag.scoring import Exchange, Scorer
from novarag.strategies import find_strategy
from novarag.strategies.reply_form import form_of
from novarag.web.form_support import FormLLM

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from novarag.calibration.calibration import Calibration
    from novarag.calibration.gate import Gate
    from novarag.calls import Reply, Sampling
    from novarag.ports import LLM
    from novarag.records import Completion
    from novarag.runner.access import Access, Model, ModelAccess
    from novarag.scoring import Answer
    from novarag.strategies import Strategy
    from novarag.web.endpoint import Endpoint

    ReplyFunction = Callable[[str], str | Awaitable[str]]
    Respondent = str | Sequence[str] | Endpoint | LLM | ReplyFunction

_NO_LOGPROBS = frozenset({Outcome.INCOMPLETE, Outcome.REFUSED})


@dataclass(frozen=True, slots=True)
class _HeldModel:
    """An open model and the event loop that it belongs to; a simulated one is opened for each."""

    llm: LLM | None
    stack: AsyncExitStack
    loop: asyncio.AbstractEventLoop
    thread: LoopThread | None = None


class Answerer:
    """Answers questions one by one, with all that it takes put together once.

    `with` or `async with` keeps one connection for all of them; without, each answer makes its own.
    Threads may share it. In a running event loop, `answer` holds up that loop until there is an
    answer, as every function does that is not awaited; `answer_async` does not.

    Args:
        model: The model to ask: `URL=NAME` (or a list of them, for replicas), `simulated:NAME`, an
            `Endpoint`, an `LLM`, or a function from prompt to reply.
        strategy: The strategy that makes the prompt and reads the reply: its name, the object, or
            "package.module:OBJECT".
        calibration: A calibration or its file, which makes the confidence a probability with an
            interval; None leaves it as stated.
        gate: A gate or its file, which decides whether the answer may be given; None leaves that
            open. One that was set on a calibration needs the same `calibration`.
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

    def __init__(
        self,
        model: Respondent,
        *,
        strategy: str | Strategy = "nova",
        calibration: str | Path | Calibration | None = None,
        gate: str | Path | Gate | None = None,
        sampling: Sampling | None = None,
        frame: bool = False,
        structured: bool = True,
        other_source: bool = False,
        access: Access = INTERACTIVE_ACCESS,
    ) -> None:
        self._strategy, self._frame = find_strategy(strategy), frame
        if frame:
            self._strategy.framed()  # complains now about a template that takes none
        self._reached = _reach(model, access)
        self._holding = self._reached.holding if structured else None
        self._sampling = _one_sample(sampling, model)
        self._scorer = Scorer(
            self._strategy,
            None if calibration is None else as_calibration(calibration),
            None if gate is None else as_gate(gate),
            source=_model_name(model, self._reached),
            other_source=other_source,
        )
        self._with_logprobs = (
            replace(self._sampling, logprobs=True) if self._scorer.needs_logprobs else None
        )
        self._held: _HeldModel | None = None

    def answer(
        self,
        question: str,
        passages: Iterable[str | Path | Passage],
        *,
        signal: float | None = None,
        signals: Mapping[str, float] | None = None,
    ) -> Answer:
        """Answer one question beside its passages, and wait for the answer.

        Args:
            question: The question, as text.
            passages: The passages in their order, each as its text, a `Passage`, or the `Path` of a
                file with one or many; a `str` is always text, never a path.
            signal: Value of the calibration's second signal, where it has one that the reply's
                tokens do not give.
            signals: Values of the scores of a calibration that takes several, by name; a missing
                one counts as the worst.
        """
        group, held = make_group(question, passages), self._held
        if held is None:
            return run_sync(self._ask(None, group, signal, signals))
        if held.loop is _running_loop():
            raise UsageError.saying(
                "`answer(...)` would wait for its own event loop; await `answer_async(...)`"
            )
        return wait_in(held.loop, self._ask(held.llm, group, signal, signals))

    async def answer_async(
        self,
        question: str,
        passages: Iterable[str | Path | Passage],
        *,
        signal: float | None = None,
        signals: Mapping[str, float] | None = None,
    ) -> Answer:
        """Answer one question beside its passages, as `answer` does.

        Args:
            question: The question, as text.
            passages: The passages in their order, each as its text, a `Passage`, or the `Path` of a
                file with one or many; a `str` is always text, never a path.
            signal: Value of the calibration's second signal, where it has one that the reply's
                tokens do not give.
            signals: Values of the scores of a calibration that takes several, by name; a missing
                one counts as the worst.
        """
        return await self.answer_group_async(
            make_group(question, passages), signal=signal, signals=signals
        )

    async def answer_group_async(
        self,
        group: PassageGroup,
        *,
        signal: float | None = None,
        signals: Mapping[str, float] | None = None,
    ) -> Answer:
        """Answer the question of a group."""
        held = self._held
        if held is None:
            return await self._ask(None, group, signal, signals)
        work = self._ask(held.llm, group, signal, signals)
        if held.loop is asyncio.get_running_loop():
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, held.loop))

    def __enter__(self) -> Self:
        self._refuse_open()
        thread = LoopThread()
        try:
            self._held = thread.run(self._hold(thread))
        except BaseException:
            thread.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        held, self._held = self._held, None
        if held is not None and held.thread is not None:
            try:
                held.thread.run(held.stack.aclose())
            finally:
                held.thread.close()

    async def __aenter__(self) -> Self:
        self._refuse_open()
        self._held = await self._hold()
        return self

    async def __aexit__(self, *error: object) -> None:
        held, self._held = self._held, None
        if held is not None:
            await held.stack.aclose()

    def _refuse_open(self) -> None:
        if self._held is not None:
            raise UsageError("this Answerer is open already")

    async def _hold(self, thread: LoopThread | None = None) -> _HeldModel:
        async with AsyncExitStack() as stack:
            llm = None if self._reached.simulated else await self._open(stack)
            return _HeldModel(llm, stack.pop_all(), asyncio.get_running_loop(), thread)

    async def _open(self, stack: AsyncExitStack, *groups: PassageGroup) -> LLM:
        llm = await stack.enter_async_context(self._reached.connector(groups)())
        check = getattr(llm, "check", None)
        if check is not None:
            await check()
        return llm

    async def _ask(
        self,
        llm: LLM | None,
        group: PassageGroup,
        signal: float | None,
        signals: Mapping[str, float] | None,
    ) -> Answer:
        """Ask a model; where none is open, open it for this group alone."""
        strategy = self._strategy.framed() if self._frame else self._strategy
        prompt = strategy.render(group).text
        async with AsyncExitStack() as stack:
            asked = await self._open(stack, group) if llm is None else llm
            form = None if self._holding is None else form_of(strategy, group)
            completion = await self._complete(asked, prompt, form)
        return self._scorer.score(
            Exchange(
                group=group, completion=completion, asking=strategy, signal=signal, signals=signals
            )
        )

    async def _complete(self, llm: LLM, prompt: str, form: str | None) -> Completion:
        """Ask once; a server that gives no log-probabilities is asked without from then on."""
        if self._with_logprobs is not None:
            try:
                reply = await self._reply(llm, prompt, self._with_logprobs, form)
                return reply.completions[0]
            except CallError as error:
                if error.outcome not in _NO_LOGPROBS:
                    raise
        reply = await self._reply(llm, prompt, self._sampling, form)
        self._with_logprobs = None
        return reply.completions[0]

    async def _reply(self, llm: LLM, prompt: str, sampling: Sampling, form: str | None) -> Reply:
        """Ask for a reply of a form; a server that cannot hold it to one is asked freely."""
        own = sampling.regex is not None or sampling.schema is not None
        if self._holding is None or own:
            return await llm.complete(prompt, sampling)
        return await FormLLM(llm, self._holding).complete(prompt, sampling, form)


def make_group(question: str, passages: Iterable[str | Path | Passage]) -> PassageGroup:
    """Put a question and its passages together as one group."""
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
    if isinstance(given, Passage):
        return [given]
    if isinstance(given, Path):
        return load_passages(given)
    if isinstance(given, str):
        return [Passage(text=given)]
    raise TypeError(f"a passage is text, a Passage or a Path, not {type(given).__name__}")


def _reach(model: Respondent, access: Access) -> ModelAccess:
    if _is_function(model):
        return reach(FunctionLLM(cast("ReplyFunction", model)), access)
    try:
        return reach(cast("Model", model), access)
    except TypeError as error:
        raise TypeError(
            "model must be 'URL=NAME' (or a list of them, for replicas), 'simulated:NAME', an"
            f" Endpoint, an LLM or a function from prompt to reply, not {type(model).__name__}"
        ) from error


def _is_function(model: object) -> bool:
    return callable(model) and not hasattr(model, "complete")


def _model_name(model: Respondent, reached: ModelAccess) -> str | None:
    """Name the model, if its address or the object that was given does."""
    if reached.endpoints or reached.simulated:
        return reached.name
    named = getattr(model, "model", None)
    return named if isinstance(named, str) and named else None


def _one_sample(sampling: Sampling | None, model: Respondent) -> Sampling:
    if sampling is not None and _is_function(model):
        raise UsageError(
            say("a function given as `model` samples as it likes: it takes no `sampling`"),
            parameter="sampling",
        )
    if sampling is not None and sampling.n != 1:
        raise UsageError(f"an answer is read from one sample, not from {sampling.n}")
    return sampling or GREEDY


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
