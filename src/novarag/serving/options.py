"""How a model is served, and how long a server may take: every default of serving stands here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_OURS = ("--host", "--port")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOptions:
    """How to serve. `cpu` is what the CPU build finds in its environment; without it, a GPU."""

    base: str = "base"
    vllm: str = "vllm"
    host: str = "127.0.0.1"
    port: int = 8000
    max_model_len: int | None = None
    dtype: str = "bfloat16"
    cpu: Mapping[str, str] | None = None
    compiled: bool = False
    extra: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for word in self.extra:
            if word.partition("=")[0] in _OURS:
                name = word.partition("=")[0].removeprefix("--")
                raise UsageError.saying(
                    "give `{}` by itself, not among the arguments for vLLM", name
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingTimes:
    """Seconds: until a server must be healthy, until it must have ended, between looks."""

    start: float = 1800.0
    end: float = 20.0
    look: float = 0.5
