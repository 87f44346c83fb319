"""Many requests: held, failing, refused, too many; and what they do to others and to memory."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg

from tests.support.audited import until
from tests.support.postgres import server
from tests.support.raw_client import RawClient, request
from validation.gateway.harness import (
    PLAIN,
    Upstream,
    answers,
    asked,
    gateway,
    now,
    outcomes,
    proper,
    quantile,
    settings,
    spread,
    tell,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from validation.gateway.harness import Wire

STEADY = "failures = 1000000\n"


async def _hangs(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
    await wire.until_left(600)


@asynccontextmanager
async def _stuck(port: int, upstream: Upstream, count: int = 100) -> AsyncIterator[None]:
    """Have so many requests wait for an upstream that hangs."""
    clients = [RawClient(port) for _ in range(count)]
    waiting = [asyncio.create_task(c.send(request(asked("third")))) for c in clients]
    await until(lambda: upstream.now == count)
    yield
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for client in clients:
        client.close()
    await until(lambda: not upstream.now)


async def hung(folder: Path, rounds: int = 10, count: int = 400) -> bool:
    """Stop one of three upstreams: the others must not notice."""
    ratios = []
    async with Upstream(answers) as one, Upstream(answers) as two, Upstream(_hangs) as three:
        tail = "".join(
            f'[upstreams.{name}]\nurl = "{up.url}"\nin_flight = 100\n'
            f'[models.{name}]\nupstream = "{name}"\nname = "llama"\n'
            for name, up in (("second", two), ("third", three))
        )
        async with gateway(settings(folder, one.url, tail=tail)) as served:
            clients = [RawClient(served.port) for _ in range(8)]

            async def p99() -> float:
                took: list[float] = []

                async def ask(number: int) -> None:
                    client, began = clients.pop(), now()
                    reply = await client.send(request(asked(("held", "second")[number % 2])))
                    took.append(now() - began)
                    clients.append(client)
                    if reply.status != 200:
                        raise RuntimeError(f"{reply.status}")

                await spread(count, 4, ask)
                return quantile(took, 0.99)

            await p99()
            for _ in range(rounds):
                alone = await p99()
                async with _stuck(served.port, three):
                    ratios.append(await p99() / alone)
    ratio = quantile(ratios, 0.5)
    figures = {
        "rounds": rounds,
        "requests a round": count,
        "hung": 100,
        "p99 against before": f"{ratio:.2f}",
    }
    return tell("one of three upstreams hung", figures, holds=ratio <= 1.2)


async def in_flight(folder: Path, at_once: int = 2_000, seconds: float = 300) -> bool:
    """Hold so many requests at once for so long: no restart, no failure, memory flat."""
    draw, done, wrong = random.Random(2), 0, Counter[int]()

    async def slow(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        await asyncio.sleep(draw.uniform(0.5, 1.5) * at_once / 100)
        await wire.send(proper(body))

    limits, upstream_limits = "deadline = 600", STEADY + "timeout = 600\n"
    async with (
        Upstream(slow) as upstream,
        gateway(settings(folder, upstream.url, limits=limits, upstream=upstream_limits)) as served,
    ):
        idle, end = served.memory(), now() + seconds

        async def one() -> None:
            nonlocal done
            client = RawClient(served.port)
            while now() < end:
                wrong[(await client.send(request(asked()))).status] += 1
                done += 1
            client.close()

        tasks = []
        for _ in range(at_once):
            tasks.append(asyncio.create_task(one()))
            await asyncio.sleep(0.005)
        most, held = 0, []
        while now() < end:
            await asyncio.sleep(min(1.0, seconds / 10))
            most = max(most, upstream.now)
            held.append(served.memory())
        await asyncio.gather(*tasks)
        alive = served.alive()
    early, late = max(held[: len(held) // 2]), max(held[len(held) // 2 :])
    figures = {
        "at once": most, "seconds": f"{seconds:g}", "replies": dict(wrong), "idle": f"{idle / 1e6:.0f} MB",
        "first half": f"{early / 1e6:.0f} MB", "second half": f"{late / 1e6:.0f} MB",
        "a request": f"{(late - idle) / max(most, 1) / 1e3:.0f} kB", "alive": alive,
    }  # fmt: skip
    return tell(
        "many in flight", figures, holds=alive and set(wrong) <= {200} and late <= 1.05 * early
    )


async def mistakes(folder: Path, count: int = 10_000) -> bool:
    """Make mistakes as a client: the breaker of the upstream stays closed."""
    refusals = [b"400 Bad Request", b"404 Not Found", b"422 Unprocessable Entity"]

    async def refuse(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        number = body.get("seed")
        if number is None:
            await wire.send(proper(body))
        else:
            await wire.send(whole(b'{"error": {"message": "no"}}', status=refusals[number % 3]))

    bad = [
        b"{",
        b"[]",
        b'{"model": "held"}',
        request({"model": "nobody", "messages": [{"role": "user"}]}),
    ]
    found: Counter[int] = Counter()
    async with Upstream(refuse) as upstream, gateway(settings(folder, upstream.url, upstream="failures = 5\n")) as served:  # fmt: skip
        clients = [RawClient(served.port) for _ in range(20)]

        async def one(number: int) -> None:
            client = clients.pop()
            kinds = [
                PLAIN | {"seed": number},
                asked(seed=number),
                asked("live", seed=number, stream=True),
            ]
            kind = number * 10 // count % 5
            content = request(kinds[kind]) if kind < 3 else request(bad[number % 3])
            found[(await client.send(content)).status] += 1
            clients.append(client)

        await spread(count, 20, one)
        after = [(await clients[0].send(request(asked()))).status for _ in range(3)]
    figures = {"mistakes": count, "replies": dict(sorted(found.items())), "after": after}
    return tell("mistakes of clients", figures, holds=after == [200] * 3 and 503 not in found)


async def connections(folder: Path, count: int = 5_000) -> bool:
    """Count the connections to the database under load."""
    most = 0
    with server() as postgres:
        async with Upstream(answers) as upstream, gateway(settings(folder, upstream.url), dsn=postgres.dsn) as served:  # fmt: skip
            watch = await asyncpg.connect(postgres.dsn)
            mine = await watch.fetchval("select pg_backend_pid()")
            clients = [RawClient(served.port) for _ in range(50)]

            async def look() -> None:
                nonlocal most
                while True:
                    query = "select count(*) from pg_stat_activity where client_port is not null and pid <> $1"
                    most = max(most, await watch.fetchval(query, mine))
                    await asyncio.sleep(0.05)

            async def one(number: int) -> None:
                client = clients.pop()
                reply = await client.send(request(asked(stream=bool(number % 2))))
                said = {"id": reply.headers["x-novarag-id"], "verdict": "right"}
                await client.send(request(said, path="/v1/feedback"))
                clients.append(client)

            looking = asyncio.create_task(look())
            await spread(count, 50, one)
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await watch.close()
    figures = {"requests": 2 * count, "connections at most": most}
    return tell("connections to the database", figures, holds=1 <= most <= 4)


async def leaks(folder: Path, count: int = 100_000) -> bool:
    """Fail so many requests: memory stays."""

    async def fail(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        kind = body["seed"] % 4
        if kind == 0:
            await wire.send(whole(b"{}", status=b"500 Oops"))
        elif kind == 1:
            await wire.send(proper(body)[:200])
            wire.cut()
        elif kind == 2:
            await wire.send(whole(b"no JSON"))
        else:
            wire.cut(reset=True)

    found: Counter[int] = Counter()
    async with Upstream(fail) as upstream, gateway(settings(folder, upstream.url)) as served:
        clients = [RawClient(served.port) for _ in range(20)]
        kinds = [asked(), PLAIN, asked("live", stream=True)]

        async def one(number: int) -> None:
            client = clients.pop()
            found[(await client.send(request(kinds[number % 3] | {"seed": number}))).status] += 1
            clients.append(client)

        await spread(count // 10, 20, one)
        before = served.memory()
        await spread(count - count // 10, 20, one)
        after = served.memory()
    grown = after / before - 1
    kept = outcomes(folder)
    figures = {
        "requests": count, "replies": dict(sorted(found.items())), "rows": dict(kept),
        "before": f"{before / 1e6:.1f} MB", "after": f"{after / 1e6:.1f} MB", "grown": f"{grown:+.1%}",
    }  # fmt: skip
    return tell(
        "failing requests", figures, holds=grown <= 0.05 and kept["failed"] + kept["none"] == count
    )


async def overload(folder: Path, seconds: float = 300, capacity: int = 50) -> bool:
    """Offer five times what the upstream can: it is kept busy, and the rest refused at once."""
    pause, served_at = 0.2, capacity // 5

    async def steady(_: Upstream, body: dict[str, Any], wire: Wire) -> None:
        await asyncio.sleep(pause)
        await wire.send(proper(body))

    good, refused, other = 0, [], Counter[int]()
    limits = f"in_flight = {served_at}\n" + STEADY
    async with (
        Upstream(steady) as upstream,
        gateway(_limited(folder, upstream.url, limits)) as served,
    ):
        idle = [RawClient(served.port) for _ in range(100)]

        async def one() -> None:
            nonlocal good
            client, began = idle.pop() if idle else RawClient(served.port), now()
            status = (await client.send(request(asked()))).status
            if status == 503:
                refused.append(now() - began)
            good += status == 200
            other[status] += 1
            idle.append(client)

        began, tasks = now(), []
        for number in range(int(5 * capacity * seconds)):
            await asyncio.sleep(max(0.0, began + number / (5 * capacity) - now()))
            tasks.append(asyncio.create_task(one()))
        took = now() - began
        await asyncio.gather(*tasks)
    share = good / (served_at / pause * took)
    figures = {
        "offered": f"{5 * capacity}/s", "seconds": f"{took:.0f}", "replies": dict(other),
        "goodput": f"{share:.0%} of capacity", "refused p50": f"{quantile(refused, 0.5) * 1e3:.1f} ms",
        "p99": f"{quantile(refused, 0.99) * 1e3:.1f} ms",
    }  # fmt: skip
    holds = share >= 0.9 and set(other) <= {200, 503} and quantile(refused, 0.99) <= 0.05
    return tell("five times the load", figures, holds=holds)


def _limited(folder: Path, url: str, limits: str) -> Path:
    path = settings(folder, url)
    path.write_text(path.read_text().replace("in_flight = 4000\nfailures = 1000000\n", limits))
    return path
