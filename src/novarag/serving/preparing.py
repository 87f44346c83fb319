"""Everything that can be checked before a server is started, and the command that follows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from novarag.errors import UsageError
from novarag.imports import with_extra
from novarag.serving.command import LONGEST, adapters_command, merged_command
from novarag.serving.models import check_together, check_weights
from novarag.serving.templates import check_rendering, speller
from novarag.sft.lengths import load_ruler
from novarag.sft.train.base import BaseWeights, find_base

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.serving.command import ServerCommand
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
        check_weights(model.adapter, "name a folder that `train_model(...)` wrote")
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
            hint="vLLM asks every adapter with it: copy the tokenizer's files from"
            f" {model.adapter} into the base, or name another base with `model`",
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
    check_weights(model.merged, "make them with `train_model(..., merge=True)`")
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
        raise UsageError(f"{error}. If the base was moved, name its place with `model`") from error
    if base.fingerprint != model.fingerprint:
        raise UsageError(
            f"{base.place} is not the model that {model.name} was trained on ({model.base}): its"
            " configuration or its weights are others; name the right one with `model`"
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
