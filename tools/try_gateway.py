"""A gateway to try out: a simulated model, an audit in PostgreSQL, all in temporary folders.

Usage: python -m tools.try_gateway [--port 8080] [--once]

Prints what to type, and serves until Ctrl-C. --once asks one question, says whether its decision
and a feedback are in the database, and ends. Without PostgreSQL there is no audit.
"""

import argparse
import asyncio
import json
import os
import signal
import tempfile
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import aiohttp
from aiohttp import web

from novarag.examples import simulated_pools
from novarag.gateway.http.server import make_server
from novarag.gateway.snapshot import Snapshot
from novarag.gateway.state import Gateway
from novarag.grouping import find_mix
from tests.support.postgres import program, server
from tools.simulated_server import Server, write_requests

MIXES = ("gold+counterfactual", "gold+irrelevant", "irrelevant-only")
SETTINGS = """
[listen]
port = {port}
[upstreams.try]
url = "{url}"
[models.support]
upstream = "try"
name = "simulated:base"
[models.support.policy]
conflicting = "abstain"
insufficient = "abstain"
"""


def made_up_groups():
    mixes = [find_mix(name) for name in MIXES]
    return [mix.draw(pool.question, pool.passages) for pool in simulated_pools() for mix in mixes]


async def model_server(stack, groups):
    """Serve the simulated model at a free port; return its address."""
    runner = web.AppRunner(Server("base", groups).app())
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return f"http://127.0.0.1:{runner.addresses[0][1]}/v1"


def audit(stack):
    """Start PostgreSQL where it is installed; return the part of the settings that uses it."""
    if program("initdb") is None:
        print("PostgreSQL is not installed here, so nothing is kept")
        return "", None
    database = stack.enter_context(server())
    os.environ["NOVARAG_DATABASE"] = database.dsn
    return '[audit]\nspool = "spool"\n', database.dsn


async def serve(port, *, once):
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="novarag-gateway-")))
        groups = made_up_groups()
        write_requests(groups, folder)
        kept, dsn = audit(stack)
        url = await model_server(stack, groups)
        path = folder / "gateway.toml"
        path.write_text(SETTINGS.format(port=port, url=url) + kept, "utf-8")
        running = make_server(Gateway(Snapshot(path)))
        task = asyncio.create_task(running.serve())
        while not running.started and not task.done():  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0.02)
        if running.started:
            address = "http://{}:{}".format(*running.servers[0].sockets[0].getsockname()[:2])
            tell(address, folder, dsn)
            if once:
                await try_once(address, folder, dsn)
                os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C would
        await task


def tell(address, folder, dsn):
    chat = f"{address}/v1/chat/completions"
    print("Ask, with passages that agree or contradict each other:")
    for state in ("consistent", "conflicting"):
        print(f"  curl {chat} -H 'content-type: application/json' -d @{folder}/{state}.json")
    if dsn is not None:
        print("Say whether an answer was right, by the id in its reply, and see what was kept:")
        said = '{"id": "ID", "verdict": "right"}'
        print(f"  curl {address}/v1/feedback -d '{said}'")
        print(f"  psql {dsn} -c 'select * from audited'")
    print(f"Settings: {folder}/gateway.toml. Ctrl-C ends all.", flush=True)


async def try_once(address, folder, dsn):
    body = json.loads((folder / "consistent.json").read_text("utf-8"))
    async with aiohttp.ClientSession(address) as client:
        async with client.post("/v1/chat/completions", json=body) as response:
            verdict = (await response.json())["novarag"]
        print(f"decision {verdict['decision']}, confidence {verdict['confidence']}")
        if dsn is None:
            return
        said = {"id": verdict["id"], "verdict": "right"}
        async with client.post("/v1/feedback", json=said) as response:
            response.raise_for_status()
    print(f"in the database: {await in_database(dsn, verdict['id'])}", flush=True)


async def in_database(dsn, identity):
    """Count the rows of an answer, once they have arrived."""
    import asyncpg

    asked, found = ("decisions", "feedback"), []
    connection = await asyncpg.connect(dsn)
    try:
        for _ in range(200):
            with suppress(asyncpg.UndefinedTableError):  # its tables are being made
                found = [
                    await connection.fetchval(f"select count(*) from {t} where id = $1", identity)
                    for t in asked
                ]
            if found and all(found):
                break
            await asyncio.sleep(0.05)
    finally:
        await connection.close()
    return ", ".join(f"{n} {t}" for n, t in zip(found, asked, strict=True))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--once", action="store_true")
    given = parser.parse_args(arguments)
    try:
        asyncio.run(serve(given.port, once=given.once))
    except KeyboardInterrupt:
        print("ended")


if __name__ == "__main__":
    main()
