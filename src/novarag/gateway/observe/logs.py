"""Logs of a gateway: one JSON object a line, with names and numbers, never texts or keys.

Only what this package logs is written as it stands. Of other libraries' messages only their place
is kept (and for a few the first line of the pattern, without what was put into it), of an exception
its kind and its place: messages of both may quote what a client sent.
"""

from __future__ import annotations

import logging
import sys
import traceback
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from queue import Full, Queue
from typing import TYPE_CHECKING, Any, TextIO

import orjson

from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = "novarag"
_WITH_PATTERN = frozenset({"asyncio", "opentelemetry", "uvicorn"})
_log = logging.getLogger("novarag.gateway")
_WAITING = 10_000  # lines that a slow reader of the log may be behind
_LAST = 2.0  # seconds that an end waits for what is not written yet
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def log_event(event: str, *, level: str = "info", **facts: object) -> None:
    """Log something that happened, with facts that are names of the settings, kinds or numbers."""
    number = _LEVELS[level]
    if _log.isEnabledFor(number):
        said = " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
        _log.log(number, "%s %s", event, said, extra={"event": event, "facts": facts})


class JsonLines(logging.Formatter):
    """Writes a record as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one line."""
        facts: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            **_describe_record(record),
        }
        if record.exc_info and record.exc_info[0] is not None:
            facts |= {"error": record.exc_info[0].__name__, "at": _find_place(record.exc_info[2])}
        return orjson.dumps(facts, default=str).decode()


def _describe_record(record: logging.LogRecord) -> dict[str, Any]:
    if hasattr(record, "event"):
        facts = getattr(record, "facts", {})
        return {
            "event": record.event,
            **{n: _clean_value(v) for n, v in facts.items() if v is not None},
        }
    library, said = record.name.partition(".")[0], f"{record.module}, line {record.lineno}"
    if library == OURS:
        said = record.getMessage()
    elif library in _WITH_PATTERN:
        said = str(record.msg).partition("\n")[0]
    return {"event": record.name, "message": plain_text(said, longest=500)}


def _clean_value(value: object) -> object:
    if isinstance(value, str):
        return plain_text(value, longest=1000)
    return round(value, 6) if isinstance(value, float) else value


def _find_place(trace: Any) -> str | None:  # noqa: ANN401 - a traceback, if there is one
    frames = traceback.extract_tb(trace)
    return f"{frames[-1].name}, line {frames[-1].lineno}" if frames else None


class _DroppingHandler(QueueHandler):
    """Hands lines to a thread that writes; where that is too far behind, a line is dropped."""

    queue: Queue[Any]

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
        except Full:
            return


class _LogWriter(QueueListener):
    """Writes lines in a thread; a reader that is stuck does not hold up the end for ever."""

    def __init__(self, lines: Queue[Any], out: logging.Handler) -> None:
        super().__init__(lines, out)
        self._lines = lines

    def stop(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            with suppress(Full):
                self._lines.put(None, timeout=_LAST)
                thread.join(_LAST)


@contextmanager
def json_logs(stream: TextIO | None = None) -> Iterator[None]:
    """Write all logs as JSON lines to a stream, standard error unless said, while this is open.

    Lines are written by a thread, so that a log that nobody reads holds up no request.
    """
    lines: Queue[Any] = Queue(_WAITING)
    handler, root, ours = _DroppingHandler(lines), logging.getLogger(), logging.getLogger(OURS)
    handler.setFormatter(JsonLines())
    out = logging.StreamHandler(sys.stderr if stream is None else stream)
    out.setFormatter(logging.Formatter("%(message)s"))
    listener = _LogWriter(lines, out)
    before = ours.level
    listener.start()
    root.addHandler(handler)
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        ours.setLevel(before)
        listener.stop()
