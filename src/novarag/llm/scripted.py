"""A model that reads from a script: for tests, tutorials and dry runs, never for results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from novarag.calls import GREEDY, Attempt, Reply
from novarag.errors import ServiceError
from novarag.records import Completion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.calls import AttemptListener, Sampling


@dataclass(frozen=True, slots=True)
class ScriptedLLM:
    """Answers from a script: the first cue found in the prompt gives the reply.

    A reply may be one text, or several: sample i gets text i, starting over at the end.
    """

    model: ClassVar[str] = "scripted"
    script: Mapping[str, str | Sequence[str]]

    async def complete(
        self,
        prompt: str,
        sampling: Sampling = GREEDY,
        *,
        key: str | None = None,
        tell: AttemptListener | None = None,
    ) -> Reply:
        """Return the scripted reply, as often as it was asked for."""
        for cue, reply in self.script.items():
            if cue in prompt:
                texts = [reply] if isinstance(reply, str) else reply
                attempt = Attempt(id=f"scripted-{key}", endpoint="scripted")
                if tell is not None:
                    tell(attempt)
                replies = (texts[i % len(texts)] for i in range(sampling.n))
                completions = tuple(Completion(text=text, model=self.model) for text in replies)
                return Reply(completions=completions, attempt=attempt.id)
        raise ServiceError("no cue of the script occurs in this prompt", retryable=False)
