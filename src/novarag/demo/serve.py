"""The demo from start to Ctrl-C."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.flows.events import Note, silent
from novarag.flows.sync import run_sync

if TYPE_CHECKING:
    from novarag.flows.events import EventListener

_LAST_PORT = 65_535  # of TCP


def serve_demo(
    *, port: int | None = None, open_page: bool = False, on_event: EventListener = silent
) -> None:
    """Show the whole chain on a made-up log, as a page on this machine; nothing to configure.

    It needs no network, keeps nothing, and serves until Ctrl-C.

    Args:
        port: Port to listen at, on 127.0.0.1; None takes a free one.
        open_page: Open the page in the browser of this machine.
        on_event: A function that hears what happens, as records of `novarag.flows.events`; the last
            of them says the address.
    """
    if port is not None and not 1 <= port <= _LAST_PORT:
        raise UsageError.saying("`port` is from 1 to {}, not {}", _LAST_PORT, port)
    with _listening(port) as at:
        from novarag.demo.chain import make_chain  # what it computes with loads a second long
        from novarag.demo.server import serving

        chain = make_chain(on_event)

        async def serve() -> None:
            async with serving(chain, at):
                address = f"http://127.0.0.1:{at.getsockname()[1]}/"
                on_event(Note(f"open {address} in a browser; Ctrl-C ends the demo"))
                if open_page and not await asyncio.to_thread(_open, address):
                    on_event(Note("no browser was found; open the address yourself"))
                await asyncio.Event().wait()

        run_sync(serve())


def _listening(port: int | None) -> socket.socket:
    """Take the port at once, so that one that is taken is told before any work is done."""
    try:
        return socket.create_server(("127.0.0.1", port or 0))
    except OSError as error:
        raise UsageError.saying(
            "port {} cannot be had ({}); give another `port`, or none for a free one",
            port or 0,
            error.strerror,
        ) from error


def _open(address: str) -> bool:
    import webbrowser

    return webbrowser.open(address)
