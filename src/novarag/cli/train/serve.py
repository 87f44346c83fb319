"""The verb that serves a trained model."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from typer.core import TyperCommand

from novarag.cli.options import KeyEnv
from novarag.cli.translate import said
from novarag.serving.options import ServingOptions, ServingTimes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.flows.serving import ServingCheck

_USUAL = ServingOptions()


class PassThroughCommand(TyperCommand):
    """A command that keeps what stands after `--` apart, for another command."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Take off what is passed on, before the rest is read."""
        at = args.index("--") if "--" in args else len(args)
        ctx.obj = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


def serve(
    ctx: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Folders that `novarag train fit` wrote, all of one base; served by the folder's"
            " name, or by NAME with NAME=FOLDER. After `--`, more arguments for vLLM.",
        ),
    ],
    base: Annotated[
        str | None,
        typer.Option(
            help="Model that is trained: a folder or a name on the hub, if it is not where it was"
            " in training."
        ),
    ] = None,
    base_name: Annotated[str, typer.Option(help="Name to serve the base by.")] = _USUAL.base,
    merged: Annotated[
        bool, typer.Option("--merged", help="Serve the merged weights of one MODEL, alone.")
    ] = False,
    cpu: Annotated[bool, typer.Option("--cpu", help="For vLLM's CPU build.")] = False,
    compiled: Annotated[
        bool,
        typer.Option(
            "--compile", help="With --cpu --merged: start minutes later, and generate faster."
        ),
    ] = _USUAL.compiled,
    max_model_len: Annotated[
        int | None,
        typer.Option(min=1, help="Most tokens of prompt and reply; default 4096, or the model's."),
    ] = _USUAL.max_model_len,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = _USUAL.host,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen at.")] = _USUAL.port,
    run: Annotated[
        bool,
        typer.Option(
            "--run",
            help="Start it, check it as --check-server does, and serve until it is stopped.",
        ),
    ] = False,
    vllm: Annotated[
        str, typer.Option(help="vLLM's command, if it is in another environment.")
    ] = _USUAL.vllm,
    wait: Annotated[
        float, typer.Option(min=1, help="With --run: seconds until it must be up.")
    ] = ServingTimes().start,
    check_server: Annotated[
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
    from novarag.flows.serving import check_serving, serving_plan, start_serving

    if check_server is not None and run:
        raise UsageError("--run checks the server that it starts; leave out --check-server")
    plan = serving_plan(
        models, base=base, base_name=base_name, merged=merged, cpu=cpu, compiled=compiled,
        max_model_len=max_model_len, host=host, port=port, vllm=vllm, extra=ctx.obj,
    )  # fmt: skip
    for note in plan.notes:
        print(f"note: {said(note)}", file=sys.stderr)
    if check_server is not None:
        print(_said(check_serving(plan, check_server, key_env=key_env)))
        return
    print(plan.command.typed(), flush=True)
    if not run:
        return
    with ended_by(signal.SIGTERM, signal.SIGHUP), start_serving(plan, wait=wait) as server:
        print(_said(check_serving(plan, server.url, key_env=key_env)), flush=True)
        raise typer.Exit(server.process.wait())


def _said(found: ServingCheck) -> str:
    names = ", ".join(found.names)
    return f"{found.url} serves {names}; all {found.tokens:,} tokens of the sample as in training"


@contextmanager
def ended_by(*numbers: signal.Signals) -> Iterator[None]:
    """Let signals that would end this process at once end it in order; ignored ones stay so."""

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    heard = [n for n in numbers if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, leave) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


serve.command_class = PassThroughCommand  # type: ignore[attr-defined]
