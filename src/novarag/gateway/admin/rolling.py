"""Rolling restarts: a parent that keeps the socket while gateways behind it come and go.

A gateway says that it is ready as systemd's services do (`NOTIFY_SOCKET`), so that systemd with
socket activation can be the parent as well.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.errors import NovaragError

if TYPE_CHECKING:
    from types import FrameType

_log = logging.getLogger("novarag.gateway")
_VARIABLE = "NOTIFY_SOCKET"
_READY = b"READY=1"
_STARTS = 60.0  # seconds that a gateway has to become ready
_AGAIN = 1.0  # seconds before one that ended by itself is started again


def tell_ready() -> None:
    """Tell who started this process that it takes requests, where it wants to know."""
    address = os.environ.get(_VARIABLE)
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
            notices.sendto(_READY, "\0" + address[1:] if address.startswith("@") else address)


def open_socket(host: str, port: int) -> socket.socket:
    """Open the socket that all gateways share, named as TCP so that no reply waits for more."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise NovaragError(f"cannot listen at {host}:{port}: {error.strerror}") from error
    made.listen(4096)
    return made


class GatewaySupervisor:
    """Keeps a socket and one gateway at it.

    SIGUSR2 starts another and, once that is ready, ends the first; one that does not become ready
    is given up, and the first stays. SIGHUP goes on to the gateway, SIGTERM and SIGINT end all. A
    gateway that ends by itself is started again.
    """

    def __init__(self, settings: Path, shared: socket.socket) -> None:
        self._settings, self._shared = settings, shared
        self._child: subprocess.Popen[bytes] | None = None
        self._old: list[subprocess.Popen[bytes]] = []
        self._ending = self._replacing = False

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2, signal.SIGHUP):
            signal.signal(number, self._heard)
        self._child = self._start()
        if self._child is None:
            raise NovaragError("the gateway did not become ready; its own words say why")
        while not self._ending:
            self._look()
            time.sleep(0.05)
        self._end()

    def _end(self) -> None:
        left = self._old if self._child is None else [*self._old, self._child]
        for process in left:
            process.terminate()
        for process in left:
            process.wait()

    def _heard(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGUSR2:
            self._replacing = True
        elif number == signal.SIGHUP:
            if self._child is not None:
                self._child.send_signal(number)
        else:
            self._ending = True

    def _look(self) -> None:
        self._old = [process for process in self._old if process.poll() is None]
        if self._replacing:
            self._replacing = False
            self._replace()
        elif self._child is None or self._child.poll() is not None:
            _log.error("the gateway ended by itself and is started again")
            time.sleep(_AGAIN)
            self._child = self._start()

    def _replace(self) -> None:
        fresh = self._start()
        if fresh is None:
            _log.error("the new gateway did not become ready, the old one stays")
            return
        if self._child is not None:
            self._child.terminate()
            self._old.append(self._child)
        self._child = fresh

    def _start(self) -> subprocess.Popen[bytes] | None:
        """Start a gateway and wait until it is ready; None where it is not."""
        fd = self._shared.fileno()
        command = [
            sys.executable, "-m", "novarag", "gateway", "serve", str(self._settings),
            "--fd", str(fd),
        ]  # fmt: skip
        with (
            tempfile.TemporaryDirectory(prefix="novarag-") as folder,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices,
        ):
            address = str(Path(folder) / "ready")
            notices.bind(address)
            process = subprocess.Popen(  # noqa: S603 - this program again
                command, pass_fds=[fd], env=os.environ | {_VARIABLE: address}
            )
            end = time.monotonic() + _STARTS
            while process.poll() is None and time.monotonic() < end and not self._ending:
                if select.select([notices], [], [], 0.1)[0] and notices.recv(64).startswith(_READY):
                    return process
        process.terminate()
        process.wait()
        return None
