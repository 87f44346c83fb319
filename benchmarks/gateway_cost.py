"""What a gateway costs: processor time, latency and memory, beside a bare pass-through.

Servers are processes of their own: an upstream that replies after 1 ms, the gateway with a
calibration, a gate, a key and its audit in a real PostgreSQL, and a pass-through of Starlette and
aiohttp on the same event loop and parser, with the same rare garbage collections. Both keep
connections on either side, get the same requests and the same replies; the pass-through sends a
request on as it came (0.7 kB), the gateway as a prompt (2.4 kB). No two questions are alike. They
are asked in turn, so that a noisy neighbour hits both. Processor time is that of the server's
process alone, database and upstream not counted.
"""

import argparse
import asyncio
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from itertools import count as counted
from pathlib import Path

from novarag.calibration.graded_answers import AnswerSource
from novarag.flows.calibrate import save_calibration
from novarag.flows.gate import save_gate
from novarag.gateway.admin.running import collect_rarely
from novarag.strategies import STRATEGIES
from tests.support.audited import VARIABLE
from tests.support.live_parts import calibration, gate
from tests.support.machine import described
from tests.support.postgres import server
from tests.support.processes import Running, listening, running, until_ready
from tests.support.raw_client import RawClient, request

NUMBER = b"0000000"
QUESTION = f"In which year was lighthouse {NUMBER.decode()} of Brent Rock lit?"
PASSAGES = [
    "The lighthouse of Brent Rock was lit in 1871, two years after the wreck. " * 4,
    "Bread has been baked in the village for as long as anybody can remember. " * 4,
]
KEY = f"sk-{secrets.token_hex(24)}"  # which the proxy insists on
ASKED = request(
    {
        "model": "support",
        "messages": [{"role": "user", "content": QUESTION}],
        "novarag": {"passages": PASSAGES},
    },
    more=f"Authorization: Bearer {KEY}\r\n",
)
NUMBERS = counted()
SLOW = ASKED.replace(b"In which year was", b"SLOW: in what era")  # of the same length
GOALS = {
    "cpu": 900.0, "ratio": 2.0, "a_core": 800.0, "p50": 2.0, "p99": 10.0, "idle": 90.0,
    "each": 60.0, "flat": 5.0, "litellm": 0.05,
}  # fmt: skip
"""Microseconds, times, requests, milliseconds (two), megabytes, kilobytes, percent, a share."""


def settings(folder: Path, url: str) -> Path:
    """Write a settings file with all that a gateway does in earnest."""
    source = AnswerSource(model="llama", prompt=STRATEGIES["nova"].template.hash)
    made = calibration(source)
    save_calibration(made, folder / "calibration.json")
    save_gate(gate(0.05, made), folder / "gate.json")
    path = folder / "gateway.toml"
    path.write_text(
        f'[upstreams.main]\nurl = "{url}/v1"\nin_flight = 4000\nfailures = 1000000\n'
        '[models.support]\nupstream = "main"\nname = "llama"\n'
        'calibration = "calibration.json"\ngate = "gate.json"\n'
        "[limits]\nin_flight = 4000\n[audit]\n"
        f'[keys.app]\nsha256 = ["{sha256(KEY.encode()).hexdigest()}"]\n'
    )
    return path


def bare(url: str, fd: int) -> None:
    """Serve the pass-through."""
    import aiohttp
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    session: list[aiohttp.ClientSession] = []

    async def pass_on(asked):
        if not session:
            connector = aiohttp.TCPConnector(limit=0)
            session.append(aiohttp.ClientSession(connector=connector))
        headers = {"Content-Type": "application/json"}
        body = await asked.body()
        async with session[0].post(f"{url}/v1/chat/completions", data=body, headers=headers) as got:
            return Response(await got.read(), got.status, media_type="application/json")

    async def live(_):
        return Response("ok")

    routes = [Route("/v1/chat/completions", pass_on, methods=["POST"]), Route("/livez", live)]
    import socket

    import uvloop

    app = Starlette(routes=routes)
    config = uvicorn.Config(
        app, http="httptools", access_log=False, log_config=None, server_header=False,
        proxy_headers=False, timeout_keep_alive=75,
    )  # fmt: skip
    collect_rarely()  # all that this module imported would be looked through, too
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(uvicorn.Server(config).serve([socket.socket(fileno=fd)]))


def another() -> bytes:
    """Ask about another lighthouse each time: what is asked again is not counted as new."""
    return ASKED.replace(NUMBER, b"%07d" % (next(NUMBERS) % 10**7))


async def many(port: int, count: int, at_once: int) -> None:
    """Ask so many times, so many at once."""

    async def some(times: int) -> None:
        client = RawClient(port)
        for _ in range(times):
            reply = await client.send(another())
            if reply.status != 200:
                raise RuntimeError(f"{reply.status}: {reply.body[:200]!r}")
        client.close()

    await asyncio.gather(*(some(count // at_once) for _ in range(at_once)))


async def cpu_of(served, count: int, at_once: int) -> tuple[float, float]:
    """Processor microseconds of a server for each request, and requests by second."""
    before, began = served.cpu(), time.perf_counter()
    await many(served.port, count, at_once)
    took = time.perf_counter() - began
    return (served.cpu() - before) / count * 1e6, count / took


async def paced(port: int, rate: float, seconds: float) -> list[float]:
    """Ask at a rate; return the seconds that each request took."""
    idle, took, tasks = [RawClient(port) for _ in range(50)], [], []

    async def one() -> None:
        client = idle.pop() if idle else RawClient(port)
        began = time.perf_counter()
        await client.send(another())
        took.append(time.perf_counter() - began)
        idle.append(client)

    began = time.perf_counter()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(one()))
    await asyncio.gather(*tasks)
    for client in idle:
        client.close()
    return sorted(took)


def at(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]


def tell(name: str, found: float, unit: str, *, least: bool = False) -> bool:
    goal = GOALS[name]
    holds = found >= goal if least else found <= goal
    word = "at least" if least else "at most"
    print(f"{'ok  ' if holds else 'NOT '}{name}: {found:.4g} {unit} ({word} {goal:g})", flush=True)
    return holds


async def measure(args: argparse.Namespace, ours, other) -> bool:
    for served in (ours, other):
        await many(served.port, 400, 20)
    pairs = []
    for _ in range(args.rounds):
        theirs, _ = await cpu_of(other, args.requests, args.at_once)
        mine, rate = await cpu_of(ours, args.requests, args.at_once)
        pairs.append((mine, theirs))
        print(f"gateway {mine:.0f} us, pass-through {theirs:.0f} us, {rate:.0f}/s", flush=True)
    cost = statistics.median(mine for mine, _ in pairs)
    ratio = statistics.median(mine / theirs for mine, theirs in pairs)
    return all([
        tell("cpu", cost, "us a request"), tell("ratio", ratio, "times the pass-through"),
        tell("a_core", 1e6 / cost, "requests a second of processor time", least=True),
    ])  # fmt: skip


async def latency(args: argparse.Namespace, ours, other) -> bool:
    added = {0.5: [], 0.99: []}
    for _ in range(args.rounds):
        mine = await paced(ours.port, args.rate, args.seconds)
        theirs = await paced(other.port, args.rate, args.seconds)
        for share, values in added.items():
            values.append((at(mine, share) - at(theirs, share)) * 1000)
    return all([
        tell("p50", statistics.median(added[0.5]), "ms added"),
        tell("p99", statistics.median(added[0.99]), "ms added"),
    ])  # fmt: skip


async def memory(args: argparse.Namespace, ours) -> bool:
    """Weigh the gateway at rest, with many requests in flight, and after many more."""
    idle = ours.memory()
    held = [RawClient(ours.port) for _ in range(args.held)]
    tasks = [asyncio.create_task(client.send(SLOW)) for client in held]
    await asyncio.sleep(2 + args.held / 400)
    each = (ours.memory() - idle) / args.held
    await asyncio.gather(*tasks)
    for client in held:
        client.close()
    await many(ours.port, 2000, args.at_once)
    early = ours.memory()
    await many(ours.port, args.flat, args.at_once)
    late = ours.memory()
    print(
        f"after 2,000 requests {early / 1e6:.1f} MB, after {args.flat:,} more {late / 1e6:.1f} MB"
    )
    return all([
        tell("idle", idle / 1e6, "MB idle"), tell("each", each / 1e3, "kB a request in flight"),
        tell("flat", (late / early - 1) * 100, f"% more memory after {args.flat:,} requests"),
    ])  # fmt: skip


@contextmanager
def litellm(python: str, url: str, folder: Path):
    """Run LiteLLM's proxy before the same upstream, in an environment of its own."""
    (folder / "litellm.yaml").write_text(
        "model_list:\n  - model_name: support\n    litellm_params:\n"
        f"      model: openai/llama\n      api_base: {url}/v1\n      api_key: none\n"
    )
    with listening() as probe:
        port = probe.getsockname()[1]
    command = [Path(python).with_name("litellm"), "--config", folder / "litellm.yaml"]
    process = subprocess.Popen(
        [*map(str, command), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"],
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"LITELLM_MASTER_KEY": KEY},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    made = Running(process, port)
    try:
        yield made
    finally:
        made.end()


async def beside(args: argparse.Namespace, ours, theirs) -> bool:
    """Ask the gateway and the proxy in turn."""
    await until_ready(ours)
    await until_ready(theirs, "/health/liveliness", seconds=180)
    for served in (ours, theirs):
        await many(served.port, 100, 4)
    ratios = []
    for _ in range(args.rounds):
        mine, _ = await cpu_of(ours, args.requests, args.at_once)
        other, _ = await cpu_of(theirs, args.requests, args.at_once)
        ratios.append(mine / other)
        print(f"gateway {mine:.0f} us, LiteLLM's proxy {other:.0f} us", flush=True)
    return tell("litellm", statistics.median(ratios), "of the proxy's processor time")


def main() -> int:
    """Measure what is named."""
    global NUMBERS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["cpu", "latency", "memory"])
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=40)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--held", type=int, default=2000)
    parser.add_argument("--flat", type=int, default=100_000)
    parser.add_argument("--alike", action="store_true", help="ask one question throughout")
    parser.add_argument("--litellm", help="the Python of an environment with litellm[proxy]")
    args = parser.parse_args()
    if args.what[:1] == ["bare"]:
        bare(args.what[1], int(args.what[2]))
        return 0
    if args.alike:
        NUMBERS = counted(step=0)
    print(described())
    with ExitStack() as stack:
        enter = stack.enter_context
        postgres, folder = enter(server()), Path(enter(tempfile.TemporaryDirectory()))
        upstream = enter(running(["tests.support.quick_upstream", "{fd}"]))
        path, env = settings(folder, upstream.address), {VARIABLE: postgres.dsn}
        ours = enter(running(["novarag", "gateway", "serve", path, "--fd", "{fd}"], env=env))
        if args.litellm:
            theirs = enter(litellm(args.litellm, upstream.address, folder))
            return 0 if asyncio.run(beside(args, ours, theirs)) else 1
        other = enter(running(["benchmarks.gateway_cost", "bare", upstream.address, "{fd}"]))
        holds = asyncio.run(all_of(args, ours, other))
    return 0 if holds else 1


async def all_of(args: argparse.Namespace, ours, other) -> bool:
    await until_ready(ours)
    await until_ready(other)
    holds = []
    if "memory" in args.what:
        holds.append(await memory(args, ours))
    if "cpu" in args.what:
        holds.append(await measure(args, ours, other))
    if "latency" in args.what:
        holds.append(await latency(args, ours, other))
    return all(holds)


if __name__ == "__main__":
    sys.exit(main())
