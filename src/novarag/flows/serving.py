"""Serving what was trained: the command that starts vLLM, the server it starts, and its check."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.flows.sync import synchronous
from novarag.prose import say
from novarag.serving.options import ServingOptions, ServingTimes

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence

    from novarag.serving.models import TrainedModel
    from novarag.serving.preparing import ServingPlan

_USUAL = ServingOptions()
_SLOW = say(
    "on a CPU an adapter applied at run time is several times slower than merged weights:"
    " serve those with `merged=True`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingCheck:
    """A server that serves every name, and asks as the models were trained."""

    url: str
    names: tuple[str, ...]
    tokens: int  # compared for each name


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that was started here: where it is asked, and its process."""

    url: str
    process: subprocess.Popen[bytes]


def serving_plan(
    models: str | Path | Sequence[str | Path],
    *,
    base: str | Path | None = None,
    base_name: str = _USUAL.base,
    merged: bool = False,
    cpu: bool = False,
    compiled: bool = _USUAL.compiled,
    max_model_len: int | None = _USUAL.max_model_len,
    host: str = _USUAL.host,
    port: int = _USUAL.port,
    vllm: str = _USUAL.vllm,
    extra: Sequence[str] = _USUAL.extra,
) -> ServingPlan:
    """Check that a base and its adapters can be served as they were trained, and say how.

    `plan.command.typed()` is the vLLM command for a shell; `start_serving` runs it.

    Args:
        models: Folders that `train_model` wrote, all of one base; "NAME=FOLDER" names the model.
        base: The model that is trained, if it is not where it was in training: a folder, or a
            name on the hub.
        base_name: Name to serve the base by.
        merged: Serve the merged weights of one model, alone.
        cpu: For vLLM's CPU build, on this machine.
        compiled: With `cpu` and `merged`: start minutes later, and generate faster.
        max_model_len: Most tokens of prompt and reply; 4096 by default, or the model's.
        host: Address to listen at.
        port: Port to listen at.
        vllm: vLLM's command, if it is in another environment.
        extra: More arguments for vLLM.
    """
    from novarag.serving.models import read_model
    from novarag.serving.preparing import (
        cores,
        cpu_dtype,
        cpu_environment,
        plan_adapters,
        processor,
    )

    if compiled and not (cpu and merged):
        raise UsageError.saying(
            "`compiled` goes with `cpu` and `merged`: elsewhere vLLM decides by itself"
        )
    options = ServingOptions(
        base=base_name,
        vllm=vllm,
        host=host,
        port=port,
        max_model_len=max_model_len,
        dtype=cpu_dtype(processor()) if cpu else _USUAL.dtype,
        cpu=cpu_environment(os.environ, cores()) if cpu else None,
        compiled=compiled,
        extra=tuple(extra),
    )
    read = [read_model(place) for place in _places(models)]
    if merged:
        return _plan_merged(read, options, base)
    plan = plan_adapters(read, options, place=None if base is None else str(base))
    return replace(plan, notes=(*plan.notes, _SLOW)) if cpu else plan


def _places(models: str | Path | Sequence[str | Path]) -> list[str]:
    several = [models] if isinstance(models, (str, Path)) else list(models)
    for one in several:
        if not isinstance(one, (str, Path)):
            raise TypeError(f"models must be folders, or 'NAME=FOLDER', not {type(one).__name__}")
    if not several:
        raise UsageError.saying(
            "there is nothing to serve: give a folder that `train_model(...)` wrote"
        )
    return [str(one) for one in several]


def _plan_merged(
    read: Sequence[TrainedModel], options: ServingOptions, base: str | Path | None
) -> ServingPlan:
    from novarag.serving.preparing import plan_merged

    if len(read) > 1:
        raise UsageError.saying(
            "merged weights are a whole model: serve one model with `merged=True`"
        )
    if base is not None:
        raise UsageError.saying("merged weights need no base; leave out `base`")
    return plan_merged(read[0], options)


async def check_serving_async(
    plan: ServingPlan, url: str, *, key_env: str | None = None
) -> ServingCheck:
    """Refuse a server that lacks a model of the plan, or whose tokens are not training's.

    Args:
        plan: What `serving_plan` returned: the names of the models, and the sample of the training
            whose tokens are compared.
        url: The address of the server that runs, such as http://localhost:8000/v1.
        key_env: Environment variable that holds the key of the server; None takes NOVARAG_API_KEY
            where that is set.
    """
    from novarag.serving.server import check_server

    names = plan.command.names
    tokens = await check_server(url, names, plan.samples, spell=plan.spell, key_env=key_env)
    return ServingCheck(url=url, names=tuple(names), tokens=tokens)


check_serving = synchronous(check_serving_async)


@contextmanager
def start_serving(plan: ServingPlan, *, wait: float = ServingTimes().start) -> Iterator[Server]:
    """Start the server of a plan and yield once it is up; it ends with the `with` block.

    What the server prints goes where this process prints.

    Args:
        plan: What `serving_plan` returned: the command, and where the server listens.
        wait: Seconds until the server must be up; half an hour by default.
    """
    from novarag.serving.server import address, running

    command, times = plan.command, ServingTimes(start=wait)
    place = (plan.host, plan.port)
    with running(command.words, command.environment, place=place, times=times) as process:
        yield Server(url=address(*place), process=process)
