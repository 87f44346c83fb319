"""The audit's long proofs in a real PostgreSQL, which this starts: nothing lost, nothing doubled.

    python -m validation.gateway_database restarts [--restarts 40] [--outage 300] [--rate 100]
    python -m validation.gateway_database feedback [--rate 500] [--seconds 60]
    python -m validation.gateway_database copy     [--rows 200000]

`restarts` stops and crashes the server under load, then leaves it away; every second restart is a
crash of all its processes. `feedback` posts to a server of this process and times replies. `copy`
says what a row costs. Each prints one line of figures and leaves with 1 where one is not as it must
be.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import resource
import signal
import socket
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import asyncpg
import uvicorn

from novarag.gateway.audit.recorder import AuditRecorder
from novarag.gateway.audit.settings import AuditSettings
from novarag.gateway.http.connection import read_body
from novarag.gateway.http.feedback import serve_feedback
from tests.support.audited import VARIABLE, row, settled, until
from tests.support.machine import described
from tests.support.postgres import server

FEEDBACK = 0.060


def audit(folder: Path) -> AuditRecorder:
    return AuditRecorder(AuditSettings(), folder=folder)


async def ids_in(dsn: str) -> list[str]:
    connection = await asyncpg.connect(dsn)
    found = [str(one) for (one,) in await connection.fetch("select id from decisions")]
    await connection.close()
    return found


def tell(what: str, figures: dict[str, object], *, holds: bool) -> bool:
    said = ", ".join(f"{name} {value}" for name, value in figures.items())
    print(f"{'ok  ' if holds else 'NOT '}{what}: {said} ({described()})", flush=True)
    return holds


# --- restarts and an outage -----------------------------------------------------------------------


async def _load(
    made: AuditRecorder, rate: float, kept: list[str], slow: list[float], end: asyncio.Event
):
    begun = time.monotonic()
    while not end.is_set():
        while len(kept) < (time.monotonic() - begun) * rate:
            one, before = row(), time.perf_counter()
            if not made.record(one):
                raise RuntimeError("a row was not kept")
            slow.append(time.perf_counter() - before)
            kept.append(one.id)
        await asyncio.sleep(0.005)


async def restarts(args: argparse.Namespace, postgres, folder: Path) -> bool:
    kept: list[str] = []
    slow: list[float] = []
    end, draw, most = asyncio.Event(), random.Random(args.seed), 0
    async with audit(folder) as made:
        load = asyncio.create_task(_load(made, args.rate, kept, slow, end))
        for number in range(args.restarts):
            await asyncio.sleep(draw.uniform(0.2, 2.0))
            how = signal.SIGQUIT if number % 2 else signal.SIGINT
            await asyncio.to_thread(postgres.restart, how)
            print(f"restart {number + 1}: {made.state()}", flush=True)
        await asyncio.to_thread(postgres.stop)
        await asyncio.sleep(args.outage)
        most = made.state().waiting
        await asyncio.to_thread(postgres.start)
        back = time.monotonic()
        await until(lambda: made.state().connected, 60)
        end.set()
        await load
        await settled(made, 600)
        caught_up, state = time.monotonic() - back, made.state()
    found = await ids_in(postgres.dsn)
    figures = {
        "rows": len(kept), "restarts": args.restarts, "outage": f"{args.outage:g} s",
        "lost": len(set(kept) - set(found)), "doubled": len(found) - len(set(found)),
        "refused": state.lost, "rejected": state.rejected, "spool at most": f"{most:,} B",
        "caught up in": f"{caught_up:.1f} s", "record p99": f"{_quantile(slow, 0.99) * 1e6:.0f} us",
    }  # fmt: skip
    holds = set(kept) == set(found) and len(found) == len(set(found)) == state.committed
    return tell("restarts and an outage under load", figures, holds=holds)


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


# --- feedback -------------------------------------------------------------------------------------


class Holder:
    """The audit that feedback is kept in, once it is open."""

    audit: AuditRecorder | None = None


@asynccontextmanager
async def listening(holder: Holder):
    async def app(scope, receive, send):
        if scope["type"] == "http":
            await serve_feedback(holder.audit, await read_body(receive, 10_000), send)

    # Named as TCP, or asyncio does not turn Nagle's algorithm off, which costs 40 ms a reply.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as chosen:
        chosen.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
        served = uvicorn.Server(config)
        task = asyncio.create_task(served.serve(sockets=[chosen]))
        await until(lambda: served.started)
        try:
            yield f"http://127.0.0.1:{chosen.getsockname()[1]}/v1/feedback"
        finally:
            served.should_exit = True
            await task


async def _answered(made: AuditRecorder, count: int) -> list[str]:
    """Record answers, and wait until the database has them: feedback is on answers that there are."""
    kept = [row(tenant="default") for _ in range(count)]
    for one in kept:
        made.record(one)
    await settled(made, 300)
    return [one.id for one in kept]


async def feedback(args: argparse.Namespace, postgres, folder: Path) -> bool:
    holder, took, failed = Holder(), [], 0

    async def one(client: aiohttp.ClientSession, url: str, verdict: str) -> None:
        nonlocal failed
        before = time.perf_counter()
        identity = next(ids)
        async with client.post(url, json={"id": identity, "verdict": verdict}) as reply:
            failed += reply.status != 200
            await reply.read()
        took.append(time.perf_counter() - before)

    async with audit(folder) as made:
        await until(lambda: made.state().connected)
        holder.audit = made
        ids = iter(await _answered(made, int(args.rate * args.seconds) + 1))
        async with listening(holder) as url, aiohttp.ClientSession() as client:
            begun, sent, tasks = time.monotonic(), 0, set()
            while (now := time.monotonic() - begun) < args.seconds:
                while sent < now * args.rate:
                    task = asyncio.create_task(one(client, url, ("right", "wrong")[sent % 2]))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
                    sent += 1
                await asyncio.sleep(0.001)
            await asyncio.gather(*tasks)
        await settled(made, 120)
    connection = await asyncpg.connect(postgres.dsn)
    kept = await connection.fetchval("select count(*) from feedback")
    await connection.close()
    figures = {
        "sent": sent, "rate": f"{args.rate:g}/s", "failed": failed, "in the database": kept,
        "p50": f"{_quantile(took, 0.5) * 1000:.1f} ms", "p99": f"{_quantile(took, 0.99) * 1000:.1f} ms",
    }  # fmt: skip
    holds = not failed and kept == sent and _quantile(took, 0.99) <= FEEDBACK
    return tell("feedback", figures, holds=holds)


# --- cost -----------------------------------------------------------------------------------------


def _server_cpu(postgres) -> float:
    """Add up the processor time of the server's processes, living and dead."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == postgres.pid:
            total += int(fields[11]) + int(fields[12])
        elif stat.parent.name == str(postgres.pid):
            total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def copy(args: argparse.Namespace, postgres, folder: Path) -> bool:
    async with audit(folder) as made:
        await until(lambda: made.state().connected)
        rows = [row() for _ in range(args.rows)]
        server_before, before = _server_cpu(postgres), _cpu()
        for one in rows:
            made.record(one)
        recorded, begun = _cpu(), time.monotonic()
        await settled(made, 600)
        took, committed = time.monotonic() - begun, _cpu()
        state, server_after = made.state(), _server_cpu(postgres)
    figures = {
        "rows": args.rows, "rows/s": f"{args.rows / took:.0f}",
        "record": f"{(recorded - before) / args.rows * 1e6:.1f} us a row",
        "commit": f"{(committed - recorded) / args.rows * 1e6:.1f} us a row",
        "server": f"{(server_after - server_before) / args.rows * 1e6:.1f} us a row",
    }  # fmt: skip
    return tell("spool and COPY", figures, holds=state.committed == args.rows)


PROOFS = {f.__name__: f for f in (restarts, feedback, copy)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[*PROOFS])
    parser.add_argument("--restarts", type=int, default=40)
    parser.add_argument("--outage", type=float, default=300)
    parser.add_argument("--rate", type=float, default=None)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.rate = args.rate or (500 if args.what == "feedback" else 100)
    settings = {"max_wal_size": "4GB", "log_min_messages": "fatal"}
    with (
        tempfile.TemporaryDirectory(prefix="novarag-") as place,
        server(durable=True, settings=settings) as postgres,
    ):
        os.environ[VARIABLE] = postgres.dsn
        holds = asyncio.run(PROOFS[args.what](args, postgres, Path(place)))
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
