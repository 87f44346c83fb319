"""What every proof needs: a gateway's process, upstreams that misbehave, rows of the audit."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from novarag.gateway.audit.codes import DECISIONS
from novarag.gateway.audit.spool import scan_records
from tests.support.audited import VARIABLE
from tests.support.gateways import PASSAGES, QUESTION, REPLY, completion, framed
from tests.support.machine import described
from tests.support.processes import running, until_ready

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.support.processes import Running

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_STEADY = "failures = 1000000\n"
PLAIN: dict[str, Any] = {"model": "held", "messages": [{"role": "user", "content": "Hi"}]}


def asked(model: str = "held", **more: Any) -> dict[str, Any]:
    """Write a request that is ours; `held` decides first, `live` streams."""
    messages = [{"role": "user", "content": QUESTION}]
    return {"model": model, "messages": messages, "novarag": {"passages": PASSAGES}} | more


def sse(*chunks: object) -> bytes:
    """Write events."""
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def stream_of(text: str, size: int = 9) -> bytes:
    """Write a reply as the events of a stream, whole."""
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return sse(*chunks, last) + b"data: [DONE]\n\n"


def chunked(content: bytes, kind: bytes = b"text/event-stream", size: int = 64) -> bytes:
    """Write a whole reply in HTTP's chunks."""
    pieces = [content[i : i + size] for i in range(0, len(content), size)]
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n\r\n%b0\r\n\r\n" % (kind, body)  # fmt: skip


def whole(content: bytes, *, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    """Write a whole reply with its length."""
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b\r\n"
    return head % (status, len(content), more) + content


def proper(body: dict[str, Any]) -> bytes:
    """Write what a sound server would reply."""
    prompt = body["messages"][-1].get("content")
    text = framed(REPLY, prompt) if isinstance(prompt, str) else REPLY
    if body.get("stream"):
        return chunked(stream_of(text))
    return whole(json.dumps(completion(text)).encode())


class Upstream:
    """A server of chat completions that does what it is told with raw bytes."""

    def __init__(self, act: Callable[[Upstream, dict[str, Any], Wire], Awaitable[None]]) -> None:
        self.act, self.seen, self.now = act, 0, 0
        self.url = ""

    async def __aenter__(self) -> Upstream:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, backlog=4096, limit=2**20
        )
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        self._tasks: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                self.seen, self.now = self.seen + 1, self.now + 1
                wire = Wire(reader, writer, head)
                try:
                    await self.act(self, json.loads(body or b"{}"), wire)
                finally:
                    self.now -= 1
                if wire.ended:
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()


class Wire:
    """The connection of one request, as an upstream has it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        self.reader, self.writer, self.head, self.ended = reader, writer, head, False

    async def send(self, content: bytes) -> None:
        self.writer.write(content)
        await self.writer.drain()

    def cut(self, *, reset: bool = False) -> None:
        """End the connection here."""
        self.ended = True
        if reset:
            self.writer.transport.abort()

    async def until_left(self, seconds: float = 60.0) -> bool:
        """Wait until the gateway closes its side."""
        try:
            async with asyncio.timeout(seconds):
                await self.reader.read(1)
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        self.ended = True
        return True


async def answers(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
    """Reply as a sound server does."""
    await wire.send(proper(body))


def settings(
    folder: Path, url: str, *, upstream: str = _STEADY, limits: str = "", tail: str = ""
) -> Path:
    """Write a settings file with a model that holds replies and one that streams them."""
    path = folder / "gateway.toml"
    path.write_text(
        f'[upstreams.main]\nurl = "{url}"\nkey_env = "NOVARAG_PROOF_KEY"\nin_flight = 4000\n{upstream}'
        '[models.held]\nupstream = "main"\nname = "llama"\n'
        '[models.live]\nupstream = "main"\nname = "llama"\nmode = "annotate"\n'
        f'[limits]\nin_flight = 4000\n{limits}\n[audit]\nspool = "spool"\n{tail}'
    )
    return path


KEY = "sk-proof-0123456789abcdefghijklmnopqrstuvwxyz"


@asynccontextmanager
async def gateway(
    path: Path, *, dsn: str = NOWHERE, at: Any = None, **env: str
) -> AsyncIterator[Running]:
    """Run a gateway's process."""
    command = ["novarag", "gateway", "serve", path, "--fd", "{fd}"]
    with (
        (path.parent / "log").open("ab") as log,
        running(
            command, at=at, env={VARIABLE: dsn, "NOVARAG_PROOF_KEY": KEY, **env}, log=log
        ) as made,
    ):
        await until_ready(made)
        yield made


def rows(folder: Path) -> list[dict[str, Any]]:
    """Read the rows that wait in the spool, whose database cannot be reached."""
    found = []
    for path in sorted((folder / "spool").glob("*.spool")):
        content = path.read_bytes()
        found += [json.loads(one) for one in scan_records(content, 10**9, final=True).records]
    return [_row(values) for values in found if values[0] == "d"]


def _row(values: list[Any]) -> dict[str, Any]:
    """Name what proofs look at of a row as the spool holds it."""
    return {
        "id": values[2], "settings": values[4][5], "status": values[7],
        "decision": DECISIONS[values[8] - 1], "confidence": values[13], "content": values,
    }  # fmt: skip


def outcomes(folder: Path) -> Counter[str]:
    """Count the rows by decision."""
    return Counter(row["decision"] for row in rows(folder))


async def spread(count: int, at_once: int, work: Callable[[int], Awaitable[None]]) -> None:
    """Do something so many times, so many at once."""
    numbers = iter(range(count))

    async def some() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(some() for _ in range(min(at_once, count))))


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def tell(what: str, figures: dict[str, object], *, holds: bool) -> bool:
    """Print a line with the figures."""
    said = ", ".join(f"{name} {value}" for name, value in figures.items())
    print(f"{'ok  ' if holds else 'NOT '}{what}: {said} ({described()})", flush=True)
    return holds


def now() -> float:
    return time.monotonic()
