"""What the outside world must look like to us. The only Protocols in the house."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.records import Completion, Passage


class LLM(Protocol):
    """Anything that completes a prompt."""

    async def complete(
        self, prompt: str, *, n: int = 1, temperature: float = 0.0
    ) -> Sequence[Completion]:
        """Return exactly `n` completions, or raise `ServiceError`."""
        ...


class Retriever(Protocol):
    """Anything that finds passages."""

    async def search(self, query: str, *, k: int) -> Sequence[Passage]:
        """Return at most `k` passages, best first."""
        ...
