"""A plain function from prompt to reply, as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.calls import GREEDY, Attempt, Reply
from novarag.llm.functions import CallerFunction
from novarag.records import Completion

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from novarag.calls import Sampling, Tell

UNNAMED = "unknown"
"""How a model is called whose function does not name it."""


class FunctionLLM:
    """A function `str -> str`, plain or async, as an `LLM`.

    A plain one runs in a thread, so that it does not hold up the event loop. How it samples is its
    own business. What it raises is said as a `ServiceError`, with its own error as the cause. If
    the function has an attribute `model`, that names the model.
    """

    def __init__(self, call: Callable[[str], str | Awaitable[str]]) -> None:
        self._call = CallerFunction(call, parameter="llm", may_repeat=True)
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
        text = await self._call(prompt)
        if not isinstance(text, str):
            raise self._call.refusal(f"returned {type(text).__name__}, not text")
        return text
