"""Kill a gateway under load, again and again: every reply that came whole is in the audit, once.

Usage: python -m validation.gateway_kills [--kills 100] [--rate 100]

`novarag gateway serve` runs as a process of its own before a simulated model, with a PostgreSQL that this
starts; clients ask at the rate, every other one with a stream, until SIGKILL comes at a random
moment. The last gateway commits what the others left in the spool. Exit 1 where a reply is missing
in the audit, or is there twice.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import asyncpg

from tests.support.audited import VARIABLE
from tests.support.gateways import Upstream, ask, served, settings
from tests.support.machine import described
from tests.support.postgres import server

CHAT = "/v1/chat/completions"


@asynccontextmanager
async def gateway(path: Path, dsn: str):
    """Run a gateway until the block ends, which kills it; yields its process and its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "novarag", "gateway", "serve", str(path), env=os.environ | {VARIABLE: dsn},
        stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port_of(path)}"
    try:
        async with aiohttp.ClientSession() as client:
            while True:
                with suppress(aiohttp.ClientError):
                    async with client.get(f"{address}/readyz"):
                        break
                if process.returncode is not None:
                    raise RuntimeError("the gateway did not start")
                await asyncio.sleep(0.05)
        yield process, address
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def port_of(path: Path) -> int:
    """Read the port back from a settings file."""
    return int(path.read_text("utf-8").partition("port = ")[2].split()[0])


async def one(client: aiohttp.ClientSession, seen: set[str], *, stream: bool) -> None:
    """Ask once; keep the id of a reply that came whole."""
    with suppress(aiohttp.ClientError, ConnectionError, asyncio.TimeoutError):
        async with client.post(CHAT, json=ask(stream=stream)) as response:
            body = await response.read()
            if response.status == 200 and stream and body.endswith(b"data: [DONE]\n\n"):
                seen.add(response.headers["x-novarag-id"])
            elif response.status == 200 and not stream:
                seen.add(json.loads(body)["novarag"]["id"])


async def load(address: str, rate: float, seen: set[str], end: asyncio.Event) -> int:
    """Ask at a rate until the end; return how many requests were sent."""
    loop, sent, tasks = asyncio.get_running_loop(), 0, set()
    async with aiohttp.ClientSession(address, timeout=aiohttp.ClientTimeout(total=10)) as client:
        begun = loop.time()
        while not end.is_set():
            while sent < (loop.time() - begun) * rate:
                task = asyncio.create_task(one(client, seen, stream=sent % 2 == 1))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                sent += 1
            await asyncio.sleep(0.002)
        await asyncio.gather(*tasks)
    return sent


async def settled(dsn: str, wanted: int) -> list[str]:
    """Wait until the audit has had nothing new for three seconds; return the ids of its answers."""
    connection = await asyncpg.connect(dsn)
    before, quiet = -1, 0
    while quiet < 6:
        now = await connection.fetchval("select count(*) from decisions")
        quiet = quiet + 1 if now == before and now >= wanted else 0
        before = now
        await asyncio.sleep(0.5)
    rows = await connection.fetch("select id::text from audited where decision = 'answer'")
    await connection.close()
    return [row[0] for row in rows]


async def run(kills: int, rate: float, folder: Path, dsn: str) -> int:
    """Kill and count."""
    draw, seen, sent = random.Random(0), set(), 0
    async with served(Upstream()) as url:
        path = folder / "gateway.toml"
        path.write_text(settings(url).replace("port = 0", f"port = {free_port()}") + "[audit]\n")
        for _ in range(kills):
            async with gateway(path, dsn) as (process, address):
                end = asyncio.Event()
                asking = asyncio.create_task(load(address, rate, seen, end))
                await asyncio.sleep(draw.uniform(0.2, 2))
                process.kill()
                await process.wait()
                end.set()
                sent += await asking
        async with gateway(path, dsn):
            found = await asyncio.wait_for(settled(dsn, len(seen)), 300)
    lost, doubled = len(seen - set(found)), len(found) - len(set(found))
    print(described())
    print(
        f"{kills} kills at {rate:g} requests/s: {sent:,} sent, {len(seen):,} replies whole,"
        f" {lost} of them not in the audit, {doubled} twice; {len(set(found) - seen):,} rows of"
        " replies that were cut off"
    )
    return int(lost > 0 or doubled > 0 or not seen)


def free_port() -> int:
    """Return a port below those of clients, so that none of them takes it between two lives."""
    return random.SystemRandom().randrange(15_000, 30_000)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rate", type=float, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server() as database:
        return asyncio.run(run(options.kills, options.rate, Path(folder), database.dsn))


if __name__ == "__main__":
    sys.exit(main())
