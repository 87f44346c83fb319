"""A TCP proxy that misbehaves on purpose, in toxiproxy's vocabulary.

Each direction of a connection is a chain of queues: a reader, one stage per toxic in the order of
the list, a writer. Items carry their time of entry, so latency delays data without thinning it
out, and the end of a stream travels behind its data through the same stages.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter, TaskGroup
    from collections.abc import Callable, Iterator

    Stream = Literal["downstream", "upstream"]
    Count = Callable[[int], None]
    Pipe = asyncio.Queue[tuple[float, "bytes | End"]]
    Plan = Iterator[tuple[float, "bytes | End"]]

_ATTRIBUTES = {
    "latency": {"latency", "jitter"},
    "bandwidth": {"rate"},
    "slow_close": {"delay"},
    "timeout": {"timeout"},
    "reset_peer": {"timeout"},
    "slicer": {"average_size", "size_variation", "delay"},
    "limit_data": {"bytes"},
}
# How a stream ends: half-closed by its sender, closed by the proxy, or reset.
End = Enum("End", ["EOF", "CLOSE", "RESET"])
_READ_SIZE = 1 << 16
_PIPE_LENGTH = 256
_RST_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(frozen=True, init=False)
class Toxic:
    """One fault: its kind, the stream it sits on, its odds for a connection, its attributes.

    Times are milliseconds, but a slicer's delay is microseconds; `rate` is in KB (1000 bytes) per
    second. Downstream flows from the server to the client.
    """

    kind: str
    stream: Stream = "downstream"
    toxicity: float = 1.0
    latency: int = 0
    jitter: int = 0
    rate: int = 0
    delay: int = 0
    timeout: int = 0
    average_size: int = 0
    size_variation: int = 0
    bytes: int = 0

    def __init__(
        self, kind: str, *, stream: Stream = "downstream", toxicity: float = 1.0, **attributes: int
    ) -> None:
        if kind not in _ATTRIBUTES or stream not in {"downstream", "upstream"}:
            raise ValueError(f"no toxic {kind!r} on {stream!r}; kinds are {', '.join(_ATTRIBUTES)}")
        if unknown := attributes.keys() - _ATTRIBUTES[kind]:
            raise ValueError(f"a {kind} toxic has no {sorted(unknown)}")
        if not 0 <= toxicity <= 1 or min(attributes.values(), default=0) < 0:
            raise ValueError(f"out of range: toxicity {toxicity}, {attributes}")
        if not all(map(attributes.get, _ATTRIBUTES[kind] & {"rate", "average_size"})):
            raise ValueError(f"a {kind} toxic needs a rate or size above 0, not {attributes}")
        vars(self).update(attributes, kind=kind, stream=stream, toxicity=toxicity)


@dataclass
class _Stage:
    """A toxic at work on one connection: when it last let something pass, and how many bytes."""

    toxic: Toxic
    rng: random.Random
    last: float = 0.0
    sent: int = 0


def _cut(stage: _Stage, at: float, data: bytes) -> Plan:
    """Slice data to the slicer's sizes, or to what a slow line carries in a twentieth second."""
    toxic, start = stage.toxic, 0
    low, high = (toxic.average_size + sign * toxic.size_variation for sign in (-1, 1))
    while start < len(data):
        size = toxic.rate * 50 or max(1, stage.rng.randint(low, high))
        piece = data[start : start + size]
        pause = len(piece) / (toxic.rate * 1000) if toxic.rate else toxic.delay / 1e6
        yield max(at, stage.last) + pause, piece
        start += size


def _plan(stage: _Stage, at: float, item: bytes | End) -> Plan:
    """Say what leaves the stage, and when; an empty item stands for the opening."""
    toxic = stage.toxic
    if toxic.kind in {"timeout", "reset_peer"}:
        end = End.RESET if toxic.kind == "reset_peer" else End.CLOSE
        if not item and (toxic.timeout or end is End.RESET):
            yield at + toxic.timeout / 1000, end
    elif toxic.kind == "latency" and item:
        jitter = stage.rng.uniform(-toxic.jitter, toxic.jitter)
        yield at + (toxic.latency + jitter) / 1000, item
    elif isinstance(item, End):
        yield at + (toxic.delay / 1000 if toxic.kind == "slow_close" else 0), item
    elif toxic.kind in {"bandwidth", "slicer"}:
        yield from _cut(stage, at, item)
    elif toxic.kind == "limit_data" and len(item) >= toxic.bytes - stage.sent:
        yield at, item[: toxic.bytes - stage.sent]
        yield at, End.CLOSE
    else:
        yield at, item


async def _work(stage: _Stage, source: Pipe, sink: Pipe) -> None:
    """Pass items on as the toxic plans it, until it lets the end of the stream pass."""
    entry: tuple[float, bytes | End] = (monotonic(), b"")
    while True:
        for due, out in _plan(stage, *entry):
            await asyncio.sleep(max(0.0, due - monotonic()))
            await sink.put((monotonic(), out))
            if isinstance(out, End):
                return
            stage.last, stage.sent = due, stage.sent + len(out)
        entry = await source.get()


async def _read(reader: StreamReader, sink: Pipe) -> None:
    while data := await reader.read(_READ_SIZE):
        await sink.put((monotonic(), data))
    await sink.put((monotonic(), End.EOF))


async def _write(source: Pipe, writer: StreamWriter, count: Count) -> None:
    """Write up to the end of the stream; raise if that is the end of the connection too."""
    writer.transport.set_write_buffer_limits(0)  # so that nothing is left behind on closing
    while not isinstance(item := (await source.get())[1], End):
        writer.write(item)
        await writer.drain()
        count(len(item))
    if item is not End.EOF:
        raise ConnectionResetError if item is End.RESET else ConnectionAbortedError
    writer.write_eof()


def _lay(
    group: TaskGroup, reader: StreamReader, writer: StreamWriter, stages: list[_Stage], count: Count
) -> None:
    """Start one direction of a connection: a reader, the stages, a writer."""
    pipe: Pipe = asyncio.Queue(_PIPE_LENGTH)
    group.create_task(_read(reader, pipe))
    for stage in stages:
        source, pipe = pipe, asyncio.Queue(_PIPE_LENGTH)
        group.create_task(_work(stage, source, pipe))
    group.create_task(_write(pipe, writer, count))


class Proxy:
    """A listener on 127.0.0.1 that passes connections on to one server, through toxics."""

    def __init__(self, upstream_host: str, upstream_port: int, *, seed: int = 0) -> None:
        self.upstream = (upstream_host, upstream_port)
        self.port = self.connections = self.bytes_up = self.bytes_down = 0
        self.toxics: list[Toxic] = []
        self.applied: Counter[str] = Counter()
        self._seed, self._rng = seed, random.Random(seed)
        self._listener: socket.socket | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self.enabled = True
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.enabled = False
        for result in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(result, Exception) and error is None:
                raise result

    @property
    def enabled(self) -> bool:
        """Whether the proxy listens; disabled, it refuses connections and has closed its own."""
        return self._listener is not None

    @enabled.setter
    def enabled(self, on: bool) -> None:
        loop = asyncio.get_running_loop()
        if on and self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self.port))
            self._listener.setblocking(False)
            self.port = self._listener.getsockname()[1]
            loop.add_reader(self._listener, self._accept, self._listener)
        elif not on and self._listener is not None:
            loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None
            for task in self._tasks:
                task.cancel()

    def _accept(self, listener: socket.socket) -> None:
        sock, _ = listener.accept()
        sock.setblocking(False)
        self.connections += 1
        stages = [
            _Stage(toxic, random.Random(f"{self._seed}/{self.connections}/{i}"))
            for i, toxic in enumerate(self.toxics)
            if self._rng.random() < toxic.toxicity
        ]
        self.applied.update(stage.toxic.kind for stage in stages)
        task = asyncio.get_running_loop().create_task(self._serve(sock, stages))
        task.add_done_callback(lambda _: sock.close())  # for a task cancelled before it began
        self._tasks.append(task)

    async def _serve(self, sock: socket.socket, stages: list[_Stage]) -> None:
        """Carry one connection; an unreachable or resetting server resets it."""
        writers: list[StreamWriter] = []
        up = [stage for stage in stages if stage.toxic.stream == "upstream"]
        down = [stage for stage in stages if stage.toxic.stream == "downstream"]
        try:
            near_reader, near = await asyncio.open_connection(sock=sock)
            writers.append(near)
            far_reader, far = await asyncio.open_connection(*self.upstream)
            writers.append(far)
            async with asyncio.TaskGroup() as group:
                _lay(group, near_reader, far, up, partial(self._count, "bytes_up"))
                _lay(group, far_reader, near, down, partial(self._count, "bytes_down"))
        except* ConnectionAbortedError:
            pass
        except* OSError:
            for writer in writers:
                with suppress(OSError):  # a socket that is gone needs no reset
                    sock = writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)
        finally:
            for writer in writers:
                writer.transport.abort()

    def _count(self, counter: str, size: int) -> None:
        setattr(self, counter, getattr(self, counter) + size)
