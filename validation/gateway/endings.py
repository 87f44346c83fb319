"""Replies that end early, clients that leave, and what a stop does to streams that are open."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.support.audited import until
from tests.support.raw_client import RawClient, request
from validation.gateway.harness import (
    PLAIN,
    Upstream,
    asked,
    chunked,
    gateway,
    now,
    outcomes,
    proper,
    quantile,
    settings,
    spread,
    sse,
    stream_of,
    tell,
)

if TYPE_CHECKING:
    from pathlib import Path

    from validation.gateway.harness import Wire

KINDS: dict[str, dict[str, Any]] = {
    "held": asked(), "held stream": asked(stream=True), "live stream": asked("live", stream=True),
    "passed": PLAIN, "passed stream": PLAIN | {"stream": True},
}  # fmt: skip
FAILED = {502, 503, 504}


def failing(status: int, body: bytes) -> str | None:
    """Say what is wrong with a reply that must be a failure; None where it is one."""
    if b"[DONE]" in body:
        return "[DONE]"
    if b'"confidence"' in body:
        return "a confidence"
    try:
        last = body if status != 200 else body.strip().rpartition(b"data: ")[2]
        error = json.loads(last)["error"]
    except (ValueError, KeyError, TypeError):
        return f"no error ({status}, {body[:80]!r})"
    if status != 200 and status not in FAILED:
        return f"status {status}"
    return (
        None if {"message", "type", "param", "code"} <= set(error) else "no error in OpenAI's shape"
    )


async def cuts(folder: Path, count: int = 2_000) -> bool:
    """Cut replies at random bytes: none may look whole."""
    draw, wrong = random.Random(0), Counter[str]()

    async def cut(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        content = proper(body)
        await wire.send(content[: draw.randrange(len(content))])
        wire.cut(reset=draw.random() < 0.5)

    async with Upstream(cut) as upstream, gateway(settings(folder, upstream.url)) as served:

        async def one(number: int) -> None:
            client = RawClient(served.port)
            body = list(KINDS.values())[number % len(KINDS)]
            reply = await client.send(request(body))
            client.close()
            flaw = "no end" if not reply.whole else failing(reply.status, reply.body)
            if flaw is not None:
                wrong[flaw] += 1

        await spread(count, 20, one)
        alive = served.alive()
    kept = outcomes(folder)
    figures = {"cuts": count, "wrong": dict(wrong) or 0, "rows": dict(kept), "alive": alive}
    return tell(
        "cuts at random bytes", figures, holds=alive and not wrong and kept == {"failed": count}
    )


async def leaving(folder: Path, count: int = 1_000) -> bool:
    """Leave before the answer: the upstream must hear of it."""
    heard: dict[str, asyncio.Future[float]] = {}
    left: dict[str, float] = {}
    draw = random.Random(4)
    took: list[float] = []

    async def hang(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        if body.get("stream") and body["seed"] % 2:
            start = chunked(sse({"choices": [{"delta": {"content": "x"}}]}))
            await wire.send(start[: start.rindex(b"0\r\n\r\n")])
        began = heard[str(body["seed"])]
        if await wire.until_left():
            began.set_result(now())

    async with Upstream(hang) as upstream, gateway(settings(folder, upstream.url)) as served:

        async def one(number: int) -> None:
            name = str(number)
            heard[name] = asyncio.get_running_loop().create_future()
            before = upstream.seen
            body = list(KINDS.values())[number % len(KINDS)] | {"seed": number}
            _, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(request(body))
            await until(lambda: upstream.seen > before)
            await asyncio.sleep(draw.random() * 0.02)
            writer.transport.abort()
            left[name] = now()
            async with asyncio.timeout(5):
                took.append(await heard.pop(name) - left[name])

        await spread(count, 1, one)
        alive = served.alive()
    soon = sum(one <= 0.25 for one in took)
    kept = outcomes(folder)
    figures = {
        "left": count, "heard within 250 ms": soon, "p50": f"{quantile(took, 0.5) * 1e3:.1f} ms",
        "p99": f"{quantile(took, 0.99) * 1e3:.1f} ms", "rows": dict(kept),
    }  # fmt: skip
    holds = alive and soon >= 0.999 * count and kept == {"failed": count}
    return tell("clients that leave", figures, holds=holds)


async def stop(folder: Path, count: int = 100, drain: float = 5) -> bool:
    """Stop a gateway with streams open that never end."""

    async def drip(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        head, piece = chunked(sse({"choices": [{"delta": {"content": "x"}}]})).split(b"\r\n\r\n", 1)
        await wire.send(head + b"\r\n\r\n")
        while True:
            await wire.send(piece.removesuffix(b"0\r\n\r\n"))
            await asyncio.sleep(0.1)

    kinds = [PLAIN | {"stream": True}, asked("live", stream=True)]
    limits = f"drain = {drain:g}"
    async with (
        Upstream(drip) as upstream,
        gateway(settings(folder, upstream.url, limits=limits)) as served,
    ):
        tasks = [
            asyncio.create_task(_until_end(served.port, request(kinds[number % 2])))
            for number in range(count)
        ]
        await until(lambda: upstream.now == count)
        took = await asyncio.to_thread(served.end, 60)
        code = served.process.returncode
        bodies = await asyncio.gather(*tasks)
    clean = sum(b"[DONE]" in body for body in bodies)
    informed = sum(b'"error"' in body for body in bodies)
    kept = outcomes(folder)
    figures = {
        "streams": count, "drain": f"{drain:g} s", "ended in": f"{took:.1f} s", "exit": code,
        "clean ends": clean, "told of the end": informed, "rows": dict(kept),
    }  # fmt: skip
    holds = took <= drain + 3 and not clean and kept == {"failed": count} and informed == count
    return tell("SIGTERM with streams open", figures, holds=holds)


async def _until_end(port: int, content: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(content)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def splits(folder: Path, count: int = 200) -> bool:
    """Split streams at every byte, and send them a byte at a time: they pass byte by byte."""
    from novarag.gateway.http.sse import EventCutter

    draw, wrong, places = random.Random(1), 0, 0
    words = ["Grüße", "日本", "🎈", "x\\ny", "data: ", "line", "\u2028", "end"]
    texts = [" ".join(draw.choices(words, k=draw.randrange(1, 12))) for _ in range(count)]
    streams = [stream_of(text, size=draw.randrange(1, 9)) for text in texts]
    breaks = [b"\n", b"\r\n", b"\r"]
    streams = [stream.replace(b"\n", draw.choice(breaks)) for stream in streams]
    for stream in streams:
        want = [*EventCutter(10**6).feed(stream)]
        for place in range(len(stream) + 1):
            cutter = EventCutter(10**6)
            found = [*cutter.feed(stream[:place]), *cutter.feed(stream[place:])]
            wrong += found != want or b"".join(found) != stream
            places += 1
    slow = iter(range(count))

    async def slice_(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        for byte in chunked(streams[int(body["seed"])], size=1):
            wire.writer.write(bytes([byte]))
        await wire.writer.drain()

    async with Upstream(slice_) as upstream, gateway(settings(folder, upstream.url)) as served:

        async def one(number: int) -> None:
            nonlocal wrong
            client = RawClient(served.port)
            reply = await client.send(request(PLAIN | {"stream": True, "seed": number}))
            client.close()
            wrong += reply.body != streams[number]

        await spread(count, 4, one)
    del slow
    figures = {"streams": count, "places": places, "wrong": wrong}
    return tell("split streams", figures, holds=not wrong)
