"""Functions that a caller hands in: called without holding up the event loop, or as a model."""

from __future__ import annotations

import asyncio
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING

from novarag.calls import GREEDY, Attempt, Reply
from novarag.errors import ServiceError
from novarag.prose import say
from novarag.records import Completion
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from novarag.calls import AttemptListener, Sampling


class CallerFunction:
    """A caller's function: a plain one runs in a thread, an async one is awaited.

    What it raises is said as a `ServiceError` that names the `parameter` it came as, with its own
    error as the cause. It is not to be called again for that unless `may_repeat` and its own error
    is a `ServiceError` that says so.
    """

    def __init__(
        self, call: Callable[..., object], *, parameter: str, may_repeat: bool = False
    ) -> None:
        self._call, self._parameter, self._may_repeat = call, parameter, may_repeat
        self._is_async = iscoroutinefunction(call) or iscoroutinefunction(type(call).__call__)

    async def __call__(self, *given: object) -> object:
        """Call it, and wait for what it returns."""
        said = (
            self._begin(*given) if self._is_async else await asyncio.to_thread(self._begin, *given)
        )
        if not isawaitable(said):
            return said
        try:
            return await said
        except Exception as error:
            raise self._failure(error) from error

    def _begin(self, *given: object) -> object:
        # Said in the thread already: a future takes no StopIteration.
        try:
            return self._call(*given)
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> ServiceError:
        again = self._may_repeat and isinstance(error, ServiceError) and error.retryable
        return self.refusal(f"raised {plain_text(f'{type(error).__name__}: {error}')}", again)

    def refusal(self, problem: str, retryable: bool = False) -> ServiceError:
        """Say what is wrong with what the function did."""
        said = say("the function given as `{}` {}", self._parameter, problem)
        return ServiceError(said, retryable=retryable)


UNNAMED = "unknown"
"""How a model is called whose function does not name it."""


class FunctionLLM:
    """A function `str -> str`, plain or async, as an `LLM`.

    A plain one runs in a thread, so that it does not hold up the event loop. How it samples is its
    own business. What it raises is said as a `ServiceError`, with its own error as the cause. If
    the function has an attribute `model`, that names the model.
    """

    def __init__(self, call: Callable[[str], str | Awaitable[str]]) -> None:
        self._call = CallerFunction(call, parameter="model", may_repeat=True)
        named = getattr(call, "model", None)
        self.model = named if isinstance(named, str) and named else UNNAMED

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Call the function once for each sample."""
        attempt = Attempt(id=f"called-{key}", endpoint=self.model)
        if tell is not None:
            tell(attempt)
        texts = [await self._reply(prompt) for _ in range(sampling.n)]
        completions = tuple(Completion(text=text, model=self.model) for text in texts)
        return Reply(completions=completions, attempt=attempt.id)

    async def _reply(self, prompt: str) -> str:
        text = await self._call(prompt)
        if not isinstance(text, str):
            raise self._call.refusal(f"returned {type(text).__name__}, not text")
        return text
