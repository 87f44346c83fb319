"""Everything that is checked before a server is started, and the command that starts vLLM here."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from novarag.errors import UsageError
from novarag.imports import with_extra
from novarag.prose import say
from novarag.serving.models import check_together, check_weights, served_rank
from novarag.serving.templates import PINNED, check_rendering, speller
from novarag.sft.lengths import load_ruler
from novarag.sft.train.base import BaseWeights, find_base

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.serving.models import RenderedSample, TrainedModel
    from novarag.serving.options import ServingOptions
    from novarag.serving.templates import Spell
    from novarag.sft.lengths import TokenRuler


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServingPlan:
    """A server that may be started, and what it is asked to prove once it runs."""

    command: ServerCommand
    host: str
    port: int
    samples: tuple[RenderedSample, ...]
    spell: Spell
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(self.command.names)
        head = f"ServingPlan: {names} at {self.host}, port {self.port}"
        return "\n".join([head, self.command.typed(), *(f"note: {note}" for note in self.notes)])


def plan_adapters(
    models: Sequence[TrainedModel], options: ServingOptions, *, place: str | None = None
) -> ServingPlan:
    """Check that a base and its adapters fit each other and their training."""
    check_together(models, options.base)
    for model in models:
        check_weights(model.adapter, say("name a folder that `train_model(...)` wrote"))
    base = _find(models[0], place)
    ruler = _ruler(base.place)
    dated = False
    for model in models:
        own = _ruler(str(model.adapter))
        check_rendering(
            own,
            model.sample,
            whose=f"the tokenizer in {model.adapter}",
            hint="it was changed since; train again, or bring the files of the training back",
        )
        dated |= check_rendering(
            ruler,
            model.sample,
            trained=own,
            whose=f"the tokenizer of the base {base.place}",
            hint=say(
                "vLLM asks every adapter with it: copy the tokenizer's files from {} into the"
                " base, or name another one with `base`",
                model.adapter,
            ),
        )
    command = adapters_command(
        base.place, models, options, longest=_positions(Path(base.place)), dated=dated
    )
    return ServingPlan(
        command=command,
        host=options.host,
        port=options.port,
        samples=tuple(dict.fromkeys(model.sample for model in models)),
        spell=speller(ruler),
        notes=_notes(ruler, models[0]),
    )


def plan_merged(model: TrainedModel, options: ServingOptions) -> ServingPlan:
    """Check that merged weights are there with the tokenizer of their training."""
    check_weights(model.merged, say("make them with `train_model(..., merge=True)`"))
    ruler = _ruler(str(model.merged))
    dated = check_rendering(
        ruler,
        model.sample,
        whose=f"the tokenizer in {model.merged}",
        hint=f"copy the tokenizer's files from {model.adapter}",
    )
    longest = _positions(model.merged)
    command = merged_command(model, options, longest=longest, dated=dated)
    return ServingPlan(
        command=command,
        host=options.host,
        port=options.port,
        samples=(model.sample,),
        spell=speller(ruler),
    )


def _find(model: TrainedModel, place: str | None) -> BaseWeights:
    """Find the base, and refuse one that is not the one trained on."""
    try:
        base = find_base(place or model.place)
    except UsageError as error:
        if place is not None:
            raise
        raise UsageError.saying(
            "{}. If the base was moved, name its place with `base`", error.prose
        ) from error
    if base.fingerprint != model.fingerprint:
        raise UsageError.saying(
            "{} is not the model that {} was trained on ({}): its configuration or its weights are"
            " others; name the right one with `base`",
            base.place,
            model.name,
            model.base,
        )
    return base


def _ruler(place: str) -> TokenRuler:
    try:
        import transformers  # noqa: F401
    except ImportError:
        raise UsageError(f"serving needs: {with_extra('train')}") from None
    return load_ruler(place)


def _notes(ruler: TokenRuler, model: TrainedModel) -> tuple[str, ...]:
    if ruler.fingerprint == model.tokenizer:
        return ()
    return (
        "the base's tokenizer is not the one of the training byte for byte, though the sample"
        " prompt agrees; did its files change, or the version of transformers?",
    )


def _positions(folder: Path) -> int:
    """Read how many tokens a model can attend to."""
    try:
        settings = orjson.loads((folder / "config.json").read_bytes())
        return int(settings["max_position_embeddings"])
    except (OSError, ValueError, KeyError, TypeError):  # not here, or a model that has no limit
        return LONGEST


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


_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}  # the last on ARM


def processor() -> str:
    """Read what the system says of its processor; only Linux tells."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_dtype(processor: str) -> str:
    """Name the quickest arithmetic of a processor by what Linux says of it in /proc/cpuinfo."""
    return "float32" if _BFLOAT16.isdisjoint(processor.split()) else "bfloat16"


def cpu_environment(found: Mapping[str, str], cores: int) -> dict[str, str]:
    """Say what the CPU build needs in its environment; what is set there already stands."""
    needed = {"OMP_NUM_THREADS": str(cores), "VLLM_CPU_KVCACHE_SPACE": "2"}  # the latter in GiB
    return {name: found.get(name) or value for name, value in needed.items()}
