"""Running a gateway: uvicorn around the application, reloads on SIGHUP, an end on SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from novarag.errors import NovaragError, UsageError
from novarag.gateway.admin.rolling import tell_ready
from novarag.gateway.http.app import make_app
from novarag.gateway.http.connections import make_protocol
from novarag.gateway.observe.logs import log_event
from novarag.gateway.snapshot import Snapshot
from novarag.gateway.state import Gateway
from novarag.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from novarag.gateway.settings import GatewaySettings

_BACKLOG = 4096  # connections that may wait to be taken; the system may allow fewer
_OTHER_FILES = 100  # of the spool, the database, logs and libraries
_LINGER = 2.0  # seconds that clients have to leave a gateway that stops
_LOOKS = 100  # at who is left, in that time


async def run_server(
    path: str | Path, *, fd: int | None = None, started: Callable[[], None] | None = None
) -> None:
    """Serve until SIGTERM or SIGINT, then finish what is in flight; SIGHUP reads the file again.

    `started` is called once all is in place, before the first request.
    """
    gateway = Gateway(Snapshot(path), host=None if fd is None else _find_host(fd))
    server = make_server(gateway, started=started)
    with _handle_signals(gateway, server):
        _allow_files(gateway.snapshot.settings)
        log_event("start", version=__version__, settings=gateway.snapshot.version)
        try:
            await server.serve(None if fd is None else [socket.socket(fileno=fd)])
        except SystemExit:  # as uvicorn ends where it cannot listen, or its application not start
            raise UsageError("the gateway did not start; its log says why") from None
        finally:
            log_event("end", settings=gateway.snapshot.version)


@contextlib.contextmanager
def _handle_signals(gateway: Gateway, server: uvicorn.Server) -> Iterator[None]:
    """Reload on SIGHUP, and end well on SIGTERM, as far as this thread may say so.

    uvicorn sends itself the signal again when all is done, which must not kill us before we said
    that we ended.
    """
    loop, before = asyncio.get_running_loop(), None
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # off the main thread
        loop.add_signal_handler(signal.SIGHUP, lambda: loop.create_task(reload_settings(gateway)))
        before = signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
            loop.remove_signal_handler(signal.SIGHUP)


def _allow_files(settings: GatewaySettings) -> None:
    """Have as many files open as all connections take, as far as the system lets us."""
    upstream = sum(one.in_flight for one in settings.upstreams.values())
    wanted = settings.limits.connections + min(upstream, settings.limits.in_flight) + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        log_event("few_files", level="warning", allowed=allowed, wanted=wanted)


def _find_host(fd: int) -> str:
    """Return where an open socket listens; one in the file system is this machine's own."""
    with socket.socket(fileno=os.dup(fd)) as opened:
        name = opened.getsockname()
    return str(name[0]) if isinstance(name, tuple) else "unix"


class _DrainingServer(uvicorn.Server):
    """Takes no new connections when it stops, but lets clients leave the old ones by themselves.

    A connection that is closed while a request is on its way fails that request. So each reply says
    that it is the last of its connection, and what is idle is closed a moment later.
    """

    def __init__(
        self, gateway: Gateway, config: uvicorn.Config, started: Callable[[], None] | None
    ) -> None:
        super().__init__(config)
        self._gateway, self._on_start = gateway, started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            if self._on_start is not None:
                self._on_start()
            tell_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gateway.draining = True
        for server in self.servers:
            server.close()
        for _ in range(_LOOKS):
            if not self.server_state.connections:
                break
            await asyncio.sleep(_LINGER / _LOOKS)
        await super().shutdown(sockets)


def make_server(gateway: Gateway, *, started: Callable[[], None] | None = None) -> uvicorn.Server:
    """Make the server around a gateway."""
    settings = gateway.snapshot.settings
    return _DrainingServer(
        gateway,
        uvicorn.Config(
            make_app(gateway),
            host=settings.listen.host,
            port=settings.listen.port,
            http=make_protocol(gateway.room),
            ws="none",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=int(settings.limits.drain),
        ),
        started,
    )


async def reload_settings(gateway: Gateway) -> bool:
    """Read the settings file again; what is wrong with it is said, and the old ones stay."""
    before = gateway.snapshot
    try:
        fresh = Snapshot(before.path)
        await gateway.reload(fresh)
    except NovaragError as error:
        gateway.reloads["refused"] += 1
        log_event("settings_refused", level="error", in_force=before.version, why=str(error))
        return False
    gateway.reloads["taken"] += 1
    log_event("settings_taken", in_force=fresh.version, before=before.version)
    return True
