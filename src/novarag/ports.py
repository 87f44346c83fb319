"""What the outside world must look like to us; encoders, whose vectors need numpy, apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from novarag.calls import GREEDY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.calls import AttemptListener, Reply, Sampling
    from novarag.records import Passage, PassageGroup, Prompt, Reading


class LLM(Protocol):
    """Anything that completes a prompt."""

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Return exactly `sampling.n` completions, or raise `ServiceError`.

        `key` names the request, so that a server that honours idempotency keys charges once.
        `tell` hears of each attempt before it is sent, and of each that failed.
        """
        ...


class Asking(Protocol):
    """Anything that turns groups into prompts and reads the replies: a strategy, or noise."""

    @property
    def name(self) -> str:
        """The name it goes by."""
        ...

    def render(self, group: PassageGroup) -> Prompt:
        """Return the prompt for a group."""
        ...

    def read(self, reply: str, *, group: PassageGroup, truncated: bool = False) -> Reading:
        """Read a reply to the prompt of a group, which the server may have cut off."""
        ...


class Retriever(Protocol):
    """Anything that finds passages."""

    async def search(self, queries: Sequence[str], *, k: int) -> Sequence[Sequence[Passage]]:
        """Return at most `k` passages for each query, best first."""
        ...
