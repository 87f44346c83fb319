"""A plain function from prompt to reply, as a model."""

from __future__ import annotations

import asyncio
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING

from novarag.calls import GREEDY, Attempt, Reply
from novarag.errors import ServiceError
from novarag.records import Completion
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from novarag.calls import Sampling, Tell

UNNAMED = "unknown"
"""How a model is called whose function does not name it."""


class CalledLLM:
    """A function `str -> str`, plain or async, as an `LLM`.

    A plain one runs in a thread, so that it does not hold up the event loop. How it samples is its
    own business. What it raises is said as a `ServiceError`, with its own error as the cause. If
    the function has an attribute `model`, that names the model.
    """

    def __init__(self, call: Callable[[str], str | Awaitable[str]]) -> None:
        self._call = call
        self._is_async = iscoroutinefunction(call) or iscoroutinefunction(type(call).__call__)
        named = getattr(call, "model", None)
        self.model = named if isinstance(named, str) and named else UNNAMED

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: Tell | None = None,
    ) -> Reply:
        """Call the function once for each sample."""
        attempt = Attempt(id=f"called-{key}", endpoint=self.model)
        if tell is not None:
            tell(attempt)
        texts = [await self._reply(prompt) for _ in range(sampling.n)]
        completions = tuple(Completion(text=text, model=self.model) for text in texts)
        return Reply(completions=completions, attempt=attempt.id)

    async def _reply(self, prompt: str) -> str:
        text: object
        if self._is_async:
            text = self._begin(prompt)
        else:
            text = await asyncio.to_thread(self._begin, prompt)
        if isawaitable(text):
            try:
                text = await text
            except Exception as error:
                raise _failure(error) from error
        if not isinstance(text, str):
            problem = f"the function given as `llm` returned {type(text).__name__}, not text"
            raise ServiceError(problem, retryable=False)
        return text

    def _begin(self, prompt: str) -> str | Awaitable[str]:
        # Said in the thread already: a future takes no StopIteration.
        try:
            return self._call(prompt)
        except Exception as error:
            raise _failure(error) from error


def _failure(error: Exception) -> ServiceError:
    """Say what a caller's function raised; what is a `ServiceError` already keeps its words."""
    retryable = isinstance(error, ServiceError) and error.retryable
    said = plain_text(f"{type(error).__name__}: {error}")
    return ServiceError(f"the function given as `llm` raised {said}", retryable=retryable)
