"""The command that starts vLLM: its words, its environment, and how it is typed."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from novarag.serving.models import served_rank
from novarag.serving.templates import PINNED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.serving.models import TrainedModel
    from novarag.serving.options import ServingOptions

LONGEST = 4096
"""Tokens of prompt and reply together: twice the longest sample of the paper's training."""

# A seed with chunked prefill kills the engine on a CPU, hence room for whole prompts.
_CPU = ("--max-num-seqs", "32", "--max-num-batched-tokens", "32768")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCommand:
    """What starts a server, line by line, and the names that it will serve."""

    lines: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """The command without its environment."""
        return [word for line in self.lines for word in line]

    def typed(self) -> str:
        """Write the command for a shell."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        lines = [" ".join([*settings, shlex.join(self.lines[0])])]
        lines += [f"  {shlex.join(line)}" for line in self.lines[1:]]
        return " \\\n".join(lines)


def adapters_command(
    base: str, models: Sequence[TrainedModel], options: ServingOptions, *, longest: int, dated: bool
) -> ServerCommand:
    """Serve a base and its adapters side by side."""
    rank, names = served_rank(models), (options.base, *(model.name for model in models))
    lines = [
        (options.vllm, "serve", base, "--served-model-name", options.base),
        ("--enable-lora", "--max-lora-rank", str(rank), "--max-loras", str(len(models))),
        ("--lora-modules", *(_module(model) for model in models)),
    ]
    return _command(lines, names, options, longest=longest, dated=dated)


def merged_command(
    model: TrainedModel, options: ServingOptions, *, longest: int, dated: bool
) -> ServerCommand:
    """Serve a model whose adapter was worked into its weights."""
    first = (options.vllm, "serve", str(model.merged), "--served-model-name", model.name)
    return _command([first], (model.name,), options, longest=longest, dated=dated)


def _module(model: TrainedModel) -> str:
    """Name an adapter and its place; vLLM reads what holds a comma as JSON."""
    place = str(model.adapter)
    if "," in place:
        return json.dumps({"name": model.name, "path": place}, ensure_ascii=False)
    return f"{model.name}={place}"


def _command(
    lines: list[tuple[str, ...]],
    names: tuple[str, ...],
    options: ServingOptions,
    *,
    longest: int,
    dated: bool,
) -> ServerCommand:
    length = str(options.max_model_len or min(LONGEST, longest))
    lines.append(("--max-model-len", length, "--dtype", options.dtype))
    if dated:
        lines.append(("--default-chat-template-kwargs", json.dumps(PINNED)))
    if options.cpu is not None:
        lines.append(_CPU if options.compiled else (*_CPU, "--enforce-eager"))
    lines.append(("--host", options.host, "--port", str(options.port)))
    if options.extra:
        lines.append(options.extra)
    return ServerCommand(lines=tuple(lines), names=names, environment=options.cpu or {})
