"""What stands before a request and around a reply: half-sent headers, and an upstream's own."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from novarag.gateway.http.openapi import make_document
from tests.support.audited import until
from tests.support.gateways import completion
from tests.support.raw_client import RawClient, request
from validation.gateway.endings import KINDS
from validation.gateway.harness import (
    KEY,
    Upstream,
    answers,
    asked,
    gateway,
    now,
    proper,
    quantile,
    rows,
    settings,
    spread,
    tell,
)

if TYPE_CHECKING:
    from pathlib import Path

    from validation.gateway.harness import Wire

_HALF = b"POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nX-Slow: "
_NAMES = [
    b"Retry-After", b"Content-Type", b"Content-Encoding", b"Content-Length", b"Connection",
    b"Transfer-Encoding", b"Set-Cookie", b"Location", b"Date", b"WWW-Authenticate", b"Trailer",
    b"X-Novarag-Confidence", b"X-Novarag-Id", b"Upgrade", b"Keep-Alive", b"Link", b"Via", b"X",
]  # fmt: skip
_VALUES = [
    b"", b" ", b"0", b"1", b"-1", b"1.5", b"1e9", b"9" * 20, b"9" * 400, b"9" * 5_000, b"0x10",
    "²".encode(), "²".encode("latin-1"), "١".encode(), b"soon", b"Wed, 21 Oct 2026 07:28:00 GMT",
    b"application/json", b"text/html; charset=\x00", b"text/\x01plain", b"a/b\x7f", b"\t\x0b\x0c",
    b"application/json\x1b[31m", "text/é".encode("latin-1"), b"text/plain; charset=utf-99",
    b"text/event-stream", b"multipart/form-data; boundary=" + b"x" * 3_000, b"/", b"//", b"a/b" * 200,
    b"gzip", b"br, gzip", b"identity", b"chunked", b"close", b"keep-alive, \x80", b"upgrade", b"h2c",
    b"a=b; Path=/; HttpOnly", b"http://127.0.0.1:1/", b"\xff\xfe", b"%s%n{0}", b"<script>", b"y" * 9_000,
]  # fmt: skip
_STATUSES = [
    *[b"200 OK"] * 16, *[b"429 Full"] * 6, b"400 Bad", b"404 No", b"408 Late", b"418 Tea", b"422 No",
    b"499 Left", b"201 Made", b"204 None", b"206 Part", b"301 Go", b"304 Same", b"500 Oops",
    b"503 Full", b"599 Odd", b"600 Odd", b"999 Odd", b"200", b"200 \x01",
]  # fmt: skip


def _drawn(draw: random.Random) -> bytes:
    """Draw a value: one of the list, or bytes of any kind that end no line."""
    if draw.random() < 0.7:
        return draw.choice(_VALUES)
    some = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 30)))
    return some.replace(b"\r", b"\x01").replace(b"\n", b"\x02")


def hostile_reply(number: int, body: dict[str, Any]) -> bytes:
    """Write a reply with headers drawn by a number; the body is a sound one."""
    draw = random.Random(number)
    head, _, content = proper(body).partition(b"\r\n\r\n")
    if draw.random() < 0.3:
        content = json.dumps(completion("x") | {"usage": {"prompt_tokens": 2 ** draw.randrange(80)}}).encode()  # fmt: skip
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d" % len(content)
    _, *lines = head.split(b"\r\n")
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        name = draw.choice(_NAMES) if draw.random() < 0.9 else _drawn(draw)
        line = name + b": " + _drawn(draw)
        same = [i for i, one in enumerate(lines) if one.lower().startswith(name.lower() + b":")]
        if same and draw.random() < 0.7:
            lines[same[0]] = line
        else:
            lines.insert(draw.randrange(len(lines) + 1), line)
    return b"\r\n".join([b"HTTP/1.1 " + draw.choice(_STATUSES), *lines]) + b"\r\n\r\n" + content


def documented_statuses(path: str = "/v1/chat/completions") -> set[int]:
    """Return the statuses that the document has for a route, but for a fault of ours."""
    named = make_document()["paths"][path]["post"]["responses"]
    ranges = [range(int(one[0]) * 100, int(one[0]) * 100 + 100) for one in named if "XX" in one]
    single = {int(one) for one in named if "XX" not in one}
    return (single | {status for found in ranges for status in found}) - {500}


async def headers(folder: Path, count: int = 5_000) -> bool:
    """Ask upstreams with hostile headers: every status is documented, and every request has a row."""
    allowed, wrong, found = documented_statuses(), Counter[str](), Counter[int]()

    async def act(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        await wire.send(hostile_reply(body["seed"], body))
        wire.cut()

    limits = "deadline = 20"
    async with (
        Upstream(act) as upstream,
        gateway(settings(folder, upstream.url, limits=limits)) as served,
    ):

        async def one(number: int) -> None:
            kind, body = list(KINDS.items())[number % len(KINDS)]
            client = RawClient(served.port)
            reply = await client.send(request(body | {"seed": number}))
            client.close()
            found[reply.status] += 1
            flaw = (
                f"status {reply.status}" if reply.status not in allowed
                else "no end" if not reply.whole
                else "the key" if KEY in f"{reply.headers}{reply.body!r}"
                else None
            )  # fmt: skip
            if flaw is not None:
                wrong[f"{kind}: {flaw}"] += 1

        await spread(count, 10, one)
        alive = served.alive()
    kept = len(rows(folder))
    log = (folder / "log").read_text("utf-8", "replace")
    faults = log.count('"event":"fault"') + log.count("Traceback")
    for flaw, times in sorted(wrong.items()):
        print(f"     {times} x {flaw}")
    figures = {
        "requests": count, "undocumented or cut": sum(wrong.values()), "replies": dict(sorted(found.items())),
        "rows": kept, "faults in the log": faults, "alive": alive,
    }  # fmt: skip
    return tell(
        "hostile headers", figures, holds=alive and not wrong and kept == count and not faults
    )


async def halves(folder: Path, count: int = 1_000, seconds: float = 5, late: float = 5) -> bool:
    """Half-send so many headers: all are closed in time, and proper requests are served meanwhile.

    Then the same in a room for half as many, where the oldest must make place. `late` is how many
    seconds after its deadline the last may be closed.
    """
    took: list[float] = []
    opened = 0
    served_meanwhile: Counter[int] = Counter()

    async def half(port: int) -> None:
        nonlocal opened
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        began, opened = now(), opened + 1
        writer.write(_HALF)
        try:
            async with asyncio.timeout(seconds + 60):
                await reader.read()
        except ConnectionError:
            pass
        took.append(now() - began)
        writer.close()

    async def story(limits: str) -> bool:
        async with (
            Upstream(answers) as upstream,
            gateway(settings(folder, upstream.url, limits=limits)) as served,
        ):
            waiting, before = [], opened
            for number in range(1, count + 1):
                waiting.append(asyncio.create_task(half(served.port)))
                if number % (count // 20) == 0:
                    await until(lambda number=number: opened == before + number)
                    client = RawClient(served.port)
                    served_meanwhile[(await client.send(request(asked()))).status] += 1
                    client.close()
            await asyncio.gather(*waiting)
            return bool(served.alive())

    alive = [await story(f"headers = {seconds:g}")]
    deadline = [*took]
    took.clear()
    alive.append(await story(f"headers = {seconds:g}\nconnections = {count // 2}"))
    figures = {
        "half-sent": count, "deadline": f"{seconds:g} s", "closed": len(deadline),
        "p50": f"{quantile(deadline, 0.5):.2f} s", "last": f"{max(deadline):.2f} s",
        "in a room for half as many": len(took), "requests meanwhile": dict(served_meanwhile),
    }  # fmt: skip
    early = min(deadline) >= 0.9 * seconds
    holds = all(alive) and early and max(deadline) <= seconds + late and len(deadline) == len(took) == count  # fmt: skip
    return tell("half-sent headers", figures, holds=holds and set(served_meanwhile) == {200})
