"""What every pipeline and experiment says of its model, and of how replies are asked for."""

from __future__ import annotations

from dataclasses import dataclass

from novarag.config.tables import at_least
from novarag.defaults import ACCESS, ASK
from novarag.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Which model is asked, and how hard."""

    endpoints: tuple[str, ...]
    key_env: str | None = None
    concurrency: int = at_least(1, ACCESS.concurrency)
    timeout: float = at_least(0.01, ACCESS.timeout)
    attempts: int = at_least(1, ACCESS.attempts)

    def __post_init__(self) -> None:
        if not self.endpoints:
            raise UsageError('write endpoints = ["http://localhost:8000/v1=llama"], one at least')


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySettings:
    """How replies are asked for, whatever the prompt; what is left out is left to the server."""

    top_p: float | None = None
    max_tokens: int | None = at_least(1, None)
    seed: int | None = at_least(0, None)
    structured: bool = False
    step_length: int = at_least(1, ASK.step_length)
    per_request: int | None = at_least(1, None)
    shard_size: int = at_least(1, ASK.shard_size)
