"""`novarag demo`: from install to a decision on the screen."""

from __future__ import annotations

from typing import Annotated

import typer

from novarag.cli.console import screen


def demo(
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65_535, help="Port to listen at, on 127.0.0.1; by default a free one."
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser of this machine.")
    ] = False,
) -> None:
    """Show the whole chain on a made-up log, as a page on this machine; nothing to configure.

    It needs no network, keeps nothing, and serves until Ctrl-C. The model and the log are
    simulated: what the page shows says nothing about any real model.
    """
    from novarag.demo.serve import serve_demo

    with screen() as on_event:
        serve_demo(port=port, open_page=open_page, on_event=on_event)
