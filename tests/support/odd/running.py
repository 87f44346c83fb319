"""One call of the command line in this process, with all that it showed, and a time limit."""

import os
import re
import signal
import socket
import sys
import traceback
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType, FrameType

_TRACE = re.compile(r"Traceback \(most recent call last\)|panicked at")


@dataclass(frozen=True)
class Outcome:
    """How a call ended: its code, what it printed, and the traceback if there was one."""

    code: int | None
    shown: str
    fault: str = ""
    seconds: float = 0.0
    interrupted: bool = False


def call(words: "Sequence[str]", *, stdin: bytes = b"", limit: float = 5.0) -> Outcome:
    """Call `novarag` with some words; past the limit it is interrupted as by Ctrl-C, and again."""
    from novarag.__main__ import main

    began, fault, code = monotonic(), "", None
    argv, sys.argv = sys.argv, ["novarag", *words]
    hook = sys.unraisablehook
    with (
        warnings.catch_warnings(),
        TemporaryFile() as out,
        _redirected(stdin, out.fileno()),
        _limited(limit, main.__code__) as late,
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        except BaseException:  # noqa: BLE001 - a traceback is what is looked for
            fault = traceback.format_exc()
        if late.fired:  # the interrupt may have got lost, and come again
            with suppress(KeyboardInterrupt):
                sleep(0.03)
        sys.stdout.flush()
        sys.stderr.flush()
        out.seek(0)
        shown = out.read().decode("utf-8", "replace")
    sys.argv, sys.unraisablehook = argv, hook
    if not fault and _TRACE.search(shown):
        fault = shown
    return Outcome(code, shown, fault, monotonic() - began, late.fired)


_look_up = socket.getaddrinfo


def look_up(host: str | bytes | None, *more: object, **named: object) -> object:
    """Stand in for `socket.getaddrinfo`: this machine is the only one there is."""
    if host not in {"127.0.0.1", b"127.0.0.1", "::1", "localhost", None}:
        raise socket.gaierror(socket.EAI_NONAME, "no name is looked up here")
    return _look_up(host, *more, **named)


class _Late:
    fired = False


@contextmanager
def _limited(limit: float, inside: "CodeType") -> "Iterator[_Late]":
    """Interrupt what runs inside some code after a while, and nothing around it."""
    late = _Late()

    def ring(_: int, frame: "FrameType | None") -> None:
        while frame is not None and frame.f_code is not inside:
            frame = frame.f_back
        if frame is not None:
            late.fired = True
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGALRM, ring)
    held = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, limit, 0.5)
    try:
        yield late
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.signal(signal.SIGINT, held)


@contextmanager
def _redirected(stdin: bytes, out: int) -> "Iterator[None]":
    """Give the call its standard streams, down to their numbers, which libraries write to."""
    streams = sys.stdin, sys.stdout, sys.stderr
    for stream in streams[1:]:
        with suppress(ValueError, OSError):
            stream.flush()
    numbers = [os.dup(number) for number in (0, 1, 2)]
    with TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        for new, number in zip((given.fileno(), out, out), (0, 1, 2), strict=True):
            os.dup2(new, number)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(  # noqa: SIM115
            2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
        )
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(ValueError, OSError):
                    stream.flush()
            sys.stdin, sys.stdout, sys.stderr = streams
            for old, number in zip(numbers, (0, 1, 2), strict=True):
                os.dup2(old, number)
                os.close(old)
