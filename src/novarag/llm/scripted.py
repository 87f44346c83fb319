"""A model that reads from a script: for tests, tutorials and dry runs, never for results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.errors import ServiceError
from novarag.records import Completion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class ScriptedLLM:
    """Answers from a script: the first cue found in the prompt gives the reply.

    A reply may be one text, or several: sample i gets text i, starting over at the end.
    """

    script: Mapping[str, str | Sequence[str]]

    async def complete(
        self,
        prompt: str,
        *,
        n: int = 1,
        temperature: float = 0.0,  # noqa: ARG002 - a script has no temperature
    ) -> Sequence[Completion]:
        """Return the scripted reply `n` times."""
        for cue, reply in self.script.items():
            if cue in prompt:
                texts = [reply] if isinstance(reply, str) else reply
                return [Completion(text=texts[i % len(texts)], model="scripted") for i in range(n)]
        raise ServiceError("no cue of the script occurs in this prompt", retryable=False)
