"""The verb that serves a trained model."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from novarag.cli.models import KeyEnv  # noqa: TC001 - typer looks at annotations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.sft.serving import Options, Plan

_SLOW = (
    "on a CPU an adapter applied at run time is several times slower than merged weights:"
    " serve those with --merged"
)


class PassingOn(TyperCommand):
    """A command that keeps what stands after `--` apart, for another command."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Take off what is passed on, before the rest is read."""
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


def serve_model(
    ctx: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Folders that `novarag train` wrote, all of one base; served by the folder's name,"
            " or by NAME with NAME=FOLDER. After `--`, more arguments for vLLM.",
        ),
    ],
    base: Annotated[str, typer.Option(help="Name to serve the base by.")] = "base",
    model: Annotated[
        str | None,
        typer.Option(help="Folder or name of the base, if it is not where it was in training."),
    ] = None,
    merged: Annotated[
        bool, typer.Option("--merged", help="Serve the merged weights of one MODEL, alone.")
    ] = False,
    cpu: Annotated[bool, typer.Option("--cpu", help="For vLLM's CPU build.")] = False,
    compiled: Annotated[
        bool,
        typer.Option(
            "--compile", help="With --cpu --merged: start minutes later, and generate faster."
        ),
    ] = False,
    max_model_len: Annotated[
        int | None,
        typer.Option(min=1, help="Most tokens of prompt and reply; default 4096, or the model's."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen at.")] = 8000,
    run: Annotated[
        bool,
        typer.Option(
            "--run", help="Start it, check it as --check does, and serve until it is stopped."
        ),
    ] = False,
    vllm: Annotated[
        str, typer.Option(help="vLLM's command, if it is in another environment.")
    ] = "vllm",
    wait: Annotated[
        float, typer.Option(min=1, help="With --run: seconds until it must be up.")
    ] = 1800.0,
    check: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Start nothing: ask a server that runs for its names and its tokens.",
        ),
    ] = None,
    key_env: KeyEnv = None,
) -> None:
    """Print the vLLM command that serves a base and its adapters as they were trained.

    Chat template and tokenizer are compared with training, one prompt token by token.
    """
    from novarag.errors import UsageError
    from novarag.sft.serving import Options, Times, address, cpu_dtype, cpu_environment, running

    if check is not None and run:
        raise UsageError("--run checks the server that it starts; leave out --check")
    if compiled and not (cpu and merged):
        raise UsageError("--compile goes with --cpu and --merged: elsewhere vLLM decides by itself")
    options = Options(
        base=base,
        vllm=vllm,
        host=host,
        port=port,
        max_model_len=max_model_len,
        dtype=cpu_dtype(_processor()) if cpu else "bfloat16",
        cpu=cpu_environment(os.environ, _cores()) if cpu else None,
        compiled=compiled,
        extra=ctx.obj,
    )
    plan = _plan(models, options, place=model, merged=merged)
    for note in plan.notes:
        print(f"note: {note}", file=sys.stderr)
    if check is not None:
        print(_checked(plan, check, key_env))
        return
    if cpu and not merged:
        print(f"note: {_SLOW}", file=sys.stderr)
    print(plan.command.typed(), flush=True)
    if not run:
        return
    times = Times(start=wait)
    command = plan.command
    with running(command.words, command.environment, place=(host, port), times=times) as process:
        print(_checked(plan, address(host, port), key_env), flush=True)
        raise typer.Exit(process.wait())


def _plan(models: Sequence[str], options: Options, *, place: str | None, merged: bool) -> Plan:
    from novarag.errors import UsageError
    from novarag.sft.serving import plan_adapters, plan_merged, read_model

    read = [read_model(text) for text in models]
    if not merged:
        return plan_adapters(read, options, place=place)
    if len(read) > 1:
        raise UsageError("merged weights are a whole model: serve one MODEL with --merged")
    if place is not None:
        raise UsageError("merged weights need no base; leave out --model")
    return plan_merged(read[0], options)


def _checked(plan: Plan, url: str, key_env: str | None) -> str:
    from novarag.sft.serving import check_server

    names = plan.command.names
    checking = check_server(url, names, plan.samples, spell=plan.spell, key_env=key_env)
    count = asyncio.run(checking)
    return f"{url} serves {', '.join(names)}; all {count:,} tokens of the sample as in training"


def _processor() -> str:
    """Read what the system says of its processor; only Linux tells."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""


def _cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


serve_model.command_class = PassingOn  # type: ignore[attr-defined]
