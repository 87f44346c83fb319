"""`novarag gateway serve`: an OpenAI-compatible server whose answers carry a confidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from novarag.texts import plain_text


def serve(
    settings: Annotated[Path, typer.Argument(help="Settings file (.toml); see docs/gateway.md.")],
    fd: Annotated[
        int | None,
        typer.Option(min=0, help="Listen at this open socket, which a parent process keeps."),
    ] = None,
    rolling: Annotated[
        bool,
        typer.Option("--rolling", help="Keep the socket, and restart behind it on SIGUSR2."),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the file and all that it names; start nothing.")
    ] = False,
) -> None:
    """Serve chat completions that carry a calibrated confidence, evidence and a decision.

    SIGHUP reads the settings again; SIGTERM finishes what is in flight and ends.
    """
    from novarag.gateway.admin.running import check_gateway, serve_gateway
    from novarag.gateway.observe.logs import json_logs

    found = check_gateway(settings)
    for line in found.lines():
        print(plain_text(line, longest=400))
    if not check:
        print(f"listening at {found.address}", flush=True)
        with json_logs():
            serve_gateway(settings, fd=fd, rolling=rolling)
