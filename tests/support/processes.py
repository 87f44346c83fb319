"""Servers as processes of their own, at sockets that we open, and what they cost."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_HEEDING = (
    "import os, signal, sys\n"
    "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
)


def heeding_interrupts(*words):
    """Return the command of a Python that heeds Ctrl-C, also below a shell's job in the background.

    It is not a `preexec_fn`, for which a test's process is forked with all that other tests have
    loaded: gRPC's handlers of forks then abort the child, or never let it go.
    """
    return [sys.executable, "-c", _HEEDING, *words]


def listening(backlog=4096):
    """Open a socket at a free port, named as TCP so that no reply waits for more of it."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", 0))
    made.listen(backlog)
    return made


class Running:
    """A process that serves at a port of this machine."""

    def __init__(self, process, port):
        self.process, self.port = process, port

    @property
    def address(self):
        return f"http://127.0.0.1:{self.port}"

    def cpu(self):
        """Seconds of processor time so far."""
        fields = (
            Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self):
        """Bytes in memory now."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text("utf-8").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def alive(self):
        return self.process.poll() is None

    def end(self, seconds=60):
        """End it as an operator would; return how long that took."""
        began = time.monotonic()
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(seconds)
        return time.monotonic() - began


@contextmanager
def running(command, *, at=None, env=None, log=None):
    """Run a module of Python that serves at an open socket; `{fd}` in the command is its number."""
    socket_of_ours = at or listening()
    fd = socket_of_ours.fileno()
    words = [word.format(fd=fd) for word in map(str, command)]
    process = subprocess.Popen(
        [sys.executable, "-m", *words], pass_fds=[fd], env=os.environ | (env or {}),
        stdout=log or subprocess.DEVNULL, stderr=log,
    )  # fmt: skip
    made = Running(process, socket_of_ours.getsockname()[1])
    try:
        yield made
    finally:
        if made.alive():
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if at is None:
            socket_of_ours.close()


async def until_ready(server, path="/livez", seconds=60.0):
    """Wait until a server answers."""
    end = time.monotonic() + seconds
    while True:
        if not server.alive() or time.monotonic() > end:
            raise RuntimeError(f"the server did not start (exit {server.process.poll()})")
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            async with asyncio.timeout(2):
                line = await reader.readline()
            writer.close()
            if b" 200 " in line:
                return
        except (OSError, TimeoutError):
            pass
        await asyncio.sleep(0.05)
