"""What a stream of many pieces and many calls of a guardrail cost, and what others notice of it."""

from __future__ import annotations

import asyncio
import json
import os
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from novarag.gateway.http.guardrail import GUARDRAIL
from tests.support.gateways import PASSAGES, QUESTION, events, gateway_at
from tests.support.raw_client import RawClient, request
from validation.gateway.harness import (
    KEY,
    Upstream,
    answers,
    asked,
    chunked,
    gateway,
    now,
    quantile,
    rows,
    settings,
    spread,
    tell,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.processes import Running
    from validation.gateway.harness import Wire

_PIECE = b'data: {"choices":[{"delta":{"content":"\\n"}}]}\n\n'
_LIVE = b"GET /livez HTTP/1.1\r\nHost: gateway\r\n\r\n"
_MB = 1e6
_TURNS = 4  # of the loop, that `/livez` takes: its bytes, its task, its reply, and one to spare


async def pieces(folder: Path, count: int = 40_000, parts: int = 8) -> bool:
    """Stream so many chunks of a line break to a model that annotates; `/livez` is asked meanwhile.

    The same number of chunks in so many replies costs as much if a chunk's cost does not grow with
    what came before. How long `/livez` takes depends on what else the machine does. How long a turn
    of the event loop works does not, and `/livez` takes a few of them: so that is held to a bound.
    """
    longest = await _longest_turn(folder, count)

    async with Upstream(_breaks) as upstream, gateway(settings(folder, upstream.url)) as served:
        await _stream(served, count // parts)  # what is done once is done
        few = await _cpu_of(served, [count // parts] * parts)
        looking = asyncio.create_task(_look(served))
        many = await _cpu_of(served, [count])
        looking.cancel()
        took = await looking
    kept = len(rows(folder))
    growth = many / few
    figures = {
        "chunks": count, "cpu": f"{many:.2f} s", f"in {parts} replies": f"{few:.2f} s",
        "a chunk against those of short replies": f"{growth:.2f}", "/livez asked": len(took),
        "p50": f"{quantile(took, 0.5) * 1e3:.1f} ms", "longest": f"{max(took) * 1e3:.1f} ms",
        "longest turn of the loop": f"{longest * 1e3:.1f} ms of work",
        "rows": kept,
    }  # fmt: skip
    holds = many <= 1 and growth <= 1.5 and _TURNS * longest <= 0.05 and kept == parts + 2
    return tell("a stream of line breaks", figures, holds=holds)


async def _cpu_of(served: Running, sizes: list[int]) -> float:
    before = served.cpu()
    for size in sizes:
        await _stream(served, size)
    return max(served.cpu() - before, 0.01)  # as fine as the system counts


async def _stream(served: Running, size: int) -> None:
    client = RawClient(served.port)
    reply = await client.send(request(asked("live", stream=True, seed=size)))
    client.close()
    if reply.status != 200 or b"[DONE]" not in reply.body:
        raise RuntimeError(f"{reply.status} {reply.body[-300:]!r}")


@cache
def _reply(size: int) -> bytes:
    return chunked(_PIECE * size + b"data: [DONE]\n\n", size=len(_PIECE))


async def _breaks(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
    await wire.send(_reply(body["seed"]))


async def _longest_turn(folder: Path, count: int) -> float:
    """Stream to a gateway in this process; return the most that a turn of its loop worked.

    The work of upstream and client is in it, so it is rather too much than too little.
    """
    turns: list[float] = []

    async def tick() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            turns.append(time.thread_time() - before)

    os.environ.setdefault("NOVARAG_PROOF_KEY", KEY)
    async with Upstream(_breaks) as upstream:
        path = settings(folder, upstream.url)
        path.write_text(path.read_text().partition("[audit]")[0] + "[listen]\nport = 0\n")
        async with gateway_at(path) as client:
            body = asked("live", stream=True, seed=count)
            await events(client, asked("live", stream=True, seed=1))
            _reply(count)  # written before, not while it is measured
            ticking = asyncio.create_task(tick())
            status, _, found = await events(client, body)
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)
    if (status, found[-1]) != (200, "[DONE]"):
        raise RuntimeError(f"{status} {found[-1]}")
    return max(turns)


async def _look(served: Running) -> list[float]:
    """Ask for a sign of life until cancelled; return how long each took."""
    client, took = RawClient(served.port), []
    try:
        while True:
            began = now()
            await client.send(_LIVE)
            took.append(now() - began)
            await asyncio.sleep(0.002)
    except asyncio.CancelledError:
        return took
    finally:
        client.close()


def _call(number: int) -> bytes:
    """Write a proxy's request: every other one has no question, and is kept as a refusal."""
    texts = [*PASSAGES, f"{QUESTION} ({number})"]
    parts = [{"type": "text", "text": text} for text in texts]
    messages = [{"role": "user", "content": parts}] if number % 2 else []
    body = {
        "input_type": "request", "litellm_call_id": f"call-{number}", "texts": texts if number % 2 else [],
        "structured_messages": messages,
        "additional_provider_specific_params": {"novarag": {"model": "held"}},
    }  # fmt: skip
    return request(json.dumps(body).encode(), path=GUARDRAIL)


async def guardrail(
    folder: Path, count: int = 100_000, step: int = 1_000, slack: float = 1.1
) -> bool:
    """Tell a guardrail of so many calls: each costs as much as the first ones did, within slack."""
    costs: list[float] = []
    wrong = 0
    async with Upstream(answers) as upstream, gateway(settings(folder, upstream.url)) as served:
        clients = [RawClient(served.port) for _ in range(4)]

        async def one(number: int) -> None:
            nonlocal wrong
            client = clients.pop()
            wrong += (await client.send(_call(begin + number))).body != b'{"action":"NONE"}'
            clients.append(client)

        memory = 0
        for begin in range(0, count, step):  # noqa: B007 - the calls look at it
            before = served.cpu()
            await spread(step, 4, one)
            costs.append((served.cpu() - before) / step)
            memory = memory or served.memory()
        grown = served.memory() - memory
        alive = served.alive()
        for client in clients:
            client.close()
    later = costs[1:]
    against = quantile(later, 0.5) / costs[0]
    last = quantile(costs[-max(1, len(costs) // 10) :], 0.5) / costs[0]
    figures = {
        "calls": count, "wrong": wrong, "first": f"{costs[0] * 1e6:.0f} us a call",
        "later": f"{quantile(later, 0.5) * 1e6:.0f} us", "against the first": f"{against:.2f}",
        "the last tenth": f"{last:.2f}", "grown": f"{grown / _MB:.1f} MB", "alive": alive,
    }  # fmt: skip
    holds = alive and not wrong and max(against, last) <= slack and grown <= 40 * _MB
    return tell("calls of a guardrail", figures, holds=holds)
