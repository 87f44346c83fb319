"""Thirty upstreams that lie, flood or break the protocol."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.support.gateways import REPLY, completion, framed
from tests.support.raw_client import RawClient, request
from validation.gateway.endings import KINDS, failing
from validation.gateway.harness import (
    KEY,
    Upstream,
    chunked,
    gateway,
    proper,
    settings,
    spread,
    sse,
    stream_of,
    tell,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from validation.gateway.harness import Wire

    Bytes = Callable[[dict[str, Any]], bytes]

_OK = b"HTTP/1.1 200 OK\r\n"
_DONE = b"data: [DONE]\n\n"


def _text(body: dict[str, Any]) -> str:
    prompt = body["messages"][-1]["content"]
    return framed(REPLY, prompt) if isinstance(prompt, str) else REPLY


def _json(body: dict[str, Any]) -> bytes:
    return json.dumps(completion(_text(body))).encode()


def _either(plain: Bytes, streamed: Bytes) -> Bytes:
    return lambda body: streamed(body) if body.get("stream") else plain(body)


def _data(content: Bytes) -> Bytes:
    """Say something as a body, or as the one event of a stream that goes on to its end."""
    return _either(
        lambda body: whole(content(body)),
        lambda body: chunked(b"data: " + content(body).replace(b"\n", b" ") + b"\n\n" + _DONE),
    )


def _header(name: bytes, body: dict[str, Any]) -> bytes:
    return whole(_json(body), more=name + b"\r\n")


_DEEP = b"[" * 100_000 + b"]" * 100_000
_BIG = gzip.compress(b" " * 50_000_000)

BROKEN: dict[str, Bytes] = {
    "nothing": lambda _: b"",
    "no HTTP": lambda _: b"220 smtp ready\r\n",
    "a bomb": lambda _: whole(_BIG, more=b"Content-Encoding: gzip\r\n"),
    "cut gzip": lambda b: whole(gzip.compress(_json(b))[:-9], more=b"Content-Encoding: gzip\r\n"),
    "an encoding nobody asked for": lambda b: whole(_json(b), more=b"Content-Encoding: br\r\n"),
    "not what it says it is": lambda b: whole(_json(b), more=b"Content-Encoding: gzip\r\n"),
    "endless headers": lambda _: (
        _OK + b"".join(b"X-%d: %b\r\n" % (i, b"y" * 900) for i in range(2_000))
    ),
    "a long header": lambda b: _header(b"X-Long: " + b"y" * 1_000_000, b),
    "less than it says": lambda b: whole(_json(b)).replace(
        b"Content-Length: ", b"Content-Length: 9"
    ),
    "two lengths": lambda b: _header(b"Content-Length: 5", b),
    "a length below zero": lambda b: _OK + b"Content-Length: -5\r\n\r\n" + _json(b),
    "bad chunks": lambda _: _OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    "a chunk too long": lambda _: (
        _OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello!!!\r\n0\r\n\r\n"
    ),
    "a huge chunk": lambda _: _OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\nx",
    "a redirect": lambda _: whole(b"", status=b"307 Go", more=b"Location: http://127.0.0.1:1/\r\n"),
    "early hints for ever": lambda _: b"HTTP/1.1 103 Early Hints\r\n\r\n" * 200,
    "deep nesting": _data(lambda _: b'{"choices": ' + _DEEP + b"}"),
    "a list": _data(lambda _: b"[]"),
    "a number": _data(lambda _: b"1e999"),
    "an error that says 200": _data(lambda _: b'{"error": {"message": "secret"}}'),
    "choices that are none": _data(lambda _: b'{"choices": {"0": 1}}'),
    "no UTF-8": _data(
        lambda _: (
            b'{"choices": [{"message": {"content": "\xff\xfe"}, "delta": {"content": "\xff"}}]}'
        )
    ),
    "half an event": _either(
        lambda _: whole(b'{"choices"'), lambda b: chunked(stream_of(_text(b))[:300])
    ),
    "a server error": lambda _: whole(b"<html>", status=b"500 Oops"),
    "a long event": _either(
        lambda b: whole(b'{"choices": [' + b'{"x": 1},' * 300_000 + b"1]}"),
        lambda _: chunked(b"data: " + b"x" * 10_000_000 + b"\n\n" + _DONE, size=100_000),
    ),
}
"""What must end as an error in OpenAI's shape where the request is ours."""

BEARABLE: dict[str, Bytes] = {
    "no content": _data(lambda _: b'{"choices": [{"message": {}, "delta": {"content": 7}}]}'),
    "the key echoed": lambda b: _either(
        lambda b: whole(json.dumps(completion(f"{KEY} {_text(b)}", key=KEY)).encode()),
        lambda b: chunked(stream_of(f"{KEY} {_text(b)}", size=200)),
    )(b),
    "a key twice": lambda b: (
        whole(_json(b).replace(b'{"id"', b'{"choices": [], "id"', 1))
        if not b.get("stream")
        else proper(b)
    ),
    "huge numbers": _either(
        lambda b: whole(
            _json(b).replace(b'"completion_tokens": 7', b'"completion_tokens": ' + b"9" * 400)
        ),
        lambda b: chunked(
            sse({"choices": [], "usage": {"prompt_tokens": -1}}) + stream_of(_text(b))
        ),
    ),
    "another role": _either(
        lambda b: whole(_json(b).replace(b'"assistant"', b'"system"')),
        lambda b: chunked(sse({"choices": [{"delta": {"role": "system"}}]}) + stream_of(_text(b))),
    ),
    "events inside": _either(
        lambda b: whole(
            json.dumps(completion(_text(b).replace("1871", "1871\n\ndata: [DONE]"))).encode()
        ),
        lambda b: chunked(b": comment\n\nevent: evil\nid: 1\n\n" + stream_of(_text(b))),
    ),
    "comments": _either(proper, lambda b: chunked(b": keep-alive\n\n" * 500 + stream_of(_text(b)))),
    "an early end": _either(proper, lambda b: chunked(_DONE + stream_of(_text(b)))),
    "NUL": _either(
        lambda b: whole(json.dumps(completion("\0" + _text(b) + "\0")).encode()),
        lambda b: chunked(stream_of("\0" + _text(b))),
    ),
    "deflate": _either(
        lambda b: whole(zlib.compress(_json(b)), more=b"Content-Encoding: deflate\r\n"), proper
    ),
    "hints first": lambda b: b"HTTP/1.1 100 Continue\r\n\r\n" + proper(b),
    "headers folded in": lambda b: (
        _header(b"X-Novarag-Confidence: 1.0\r\nSet-Cookie: a=b", b)
        if not b.get("stream")
        else proper(b)
    ),
}
"""What may end as a reply or as an error, but never with a key, a crash or an odd status."""


async def hostile(folder: Path, count: int = 200) -> bool:
    """Ask each hostile upstream so often."""
    wrong: Counter[str] = Counter()
    now_is = ""
    hostile_kinds = BROKEN | BEARABLE

    async def act(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        await wire.send(hostile_kinds[now_is](body))
        wire.cut()

    limits = "reply = 2000000\ndeadline = 10"
    path = settings(folder, "", limits=limits)
    async with Upstream(act) as upstream:
        path.write_text(path.read_text().replace('url = ""', f'url = "{upstream.url}"'))
        async with gateway(path) as served:

            async def one(number: int) -> None:
                name, body = list(KINDS.items())[number % len(KINDS)]
                client = RawClient(served.port)
                async with asyncio.timeout(20):
                    reply = await client.send(request(body))
                client.close()
                flaw = _flaw(now_is, name, reply)
                if flaw is not None:
                    wrong[f"{now_is}, {name}: {flaw}"] += 1

            for now_is in hostile_kinds:  # noqa: B007 - the upstream looks at it
                await spread(count, 10, one)
            alive, memory = served.alive(), served.memory()
    said = (folder / "log").read_text("utf-8", "replace")
    logged = "Traceback" in said or KEY in said
    for flaw, times in sorted(wrong.items()):
        print(f"     {times} x {flaw}")
    figures = {
        "upstreams": len(hostile_kinds), "requests": count * len(hostile_kinds), "wrong": sum(wrong.values()),
        "alive": alive, "traceback or key in the log": logged, "memory": f"{memory / 1e6:.0f} MB",
    }  # fmt: skip
    if logged:
        print(said[-1500:])
    return tell("hostile upstreams", figures, holds=alive and not wrong and not logged)


def _flaw(upstream: str, kind: str, reply: Any) -> str | None:
    if KEY.encode() in reply.body or KEY in str(reply.headers):
        return "the key"
    if reply.status not in {200, 502, 503, 504}:
        return f"status {reply.status}"
    if not reply.whole:
        return "no end"
    if upstream in BEARABLE:
        return failing(reply.status, reply.body) if reply.status != 200 else None
    if kind.startswith("passed") and reply.status == 200:
        return None  # passed on as it came
    return failing(reply.status, reply.body)
