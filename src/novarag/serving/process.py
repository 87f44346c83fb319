"""A server as a process: started in a group of its own, watched, and ended with all it started.

SIGKILL to vLLM alone would orphan its engine, so signals go to the whole group.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from time import monotonic, sleep
from typing import TYPE_CHECKING

from novarag.errors import ServiceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from novarag.serving.options import ServingTimes

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - to ask, not bind


def address(host: str, port: int) -> str:
    """Return where a server that listens at a host is asked from this machine.

    >>> address("0.0.0.0", 8000), address("::", 8000)
    ('http://127.0.0.1:8000', 'http://[::1]:8000')
    """
    asked = _EVERYWHERE.get(host, host)
    return f"http://[{asked}]:{port}" if ":" in asked else f"http://{asked}:{port}"


def is_healthy(host: str, port: int) -> bool:
    """Ask a server whether it is up; no proxy of the environment is in between."""
    server = HTTPConnection(_EVERYWHERE.get(host, host), port, timeout=5)
    try:
        server.request("GET", "/health")
        return server.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        server.close()


@contextmanager
def running(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    place: tuple[str, int],
    times: ServingTimes,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server and yield once it is healthy; end it on the way out, whatever happens."""
    if is_healthy(*place):
        raise UsageError(f"another server answers at port {place[1]}; name another with `port`")
    try:
        process = subprocess.Popen(  # noqa: S603 - what was printed, without a shell
            words,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(
            f"{words[0]} cannot be started ({error.strerror}); install vLLM, or name its"
            " command with `vllm`"
        ) from None
    try:
        _wait(process, place, times)
        yield process
    finally:
        stop(process, times)


def _wait(process: subprocess.Popen[bytes], place: tuple[str, int], times: ServingTimes) -> None:
    deadline = monotonic() + times.start
    while not is_healthy(*place):
        if process.poll() is not None:
            raise ServiceError(
                f"the server ended before it was up (exit code {process.returncode}); what it"
                " printed says why",
                retryable=False,
            )
        if monotonic() > deadline:
            raise ServiceError(
                f"the server is not up after {times.start:g} s; give it longer with `wait`",
                retryable=True,
            )
        sleep(times.look)


def stop(process: subprocess.Popen[bytes], times: ServingTimes) -> None:
    """End a server and all that it started: asked first, and killed if that is not heard."""
    try:
        _signal(process, signal.SIGTERM)
        deadline = monotonic() + times.end
        while _lives(process) and monotonic() < deadline:
            sleep(min(times.look, 0.1))
    finally:  # also when somebody loses patience
        _signal(process, signal.SIGKILL)
        process.wait()


def _lives(process: subprocess.Popen[bytes]) -> bool:
    process.poll()  # a zombie would count as one of the group
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
