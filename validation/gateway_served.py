"""A gateway before a real model: questions, passages from Milvus, decisions, an audit that is whole.

Usage: python -m validation.gateway_served INDEX [--url URL] [--model NAME] [--questions 200]

INDEX is an index of the shared corpus (`make prove NAME=retrieval`), the server that of `make vllm`. A
PostgreSQL and `novarag gateway` are started as processes of their own; every other question is
asked as a stream. Prints what was decided, and exits with 1 where a reply is not whole, or the
audit is not what the clients saw.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import aiohttp
import asyncpg
import polars as pl

from tests.support.audited import VARIABLE
from tests.support.machine import described, shared_data
from tests.support.postgres import server

AT_ONCE = 8
FILE = """
[listen]
port = {port}
[limits]
deadline = 1800
[upstreams.vllm]
url = "{url}"
timeout = 1800
[searches.corpus]
index = "{index}"
k = 3
[models.support]
upstream = "vllm"
name = "{model}"
strategy = "nova"
structured = true
max_tokens = 320
search = "corpus"
[models.support.policy]
insufficient = "abstain"
[audit]
spool = "spool"
"""


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


async def ask(client: aiohttp.ClientSession, question: str, *, stream: bool) -> dict:
    """Ask one question; return what the gateway says of the answer, and what the user reads."""
    body = {
        "model": "support", "messages": [{"role": "user", "content": question}], "stream": stream,
    }  # fmt: skip
    async with client.post("/v1/chat/completions", json=body) as response:
        raw = (await response.read()).decode()
        if response.status != 200:
            return {"failed": response.status, "why": raw[:200]}
    if not stream:
        found = json.loads(raw)
        return found["novarag"] | {"text": found["choices"][0]["message"]["content"]}
    lines = [line[6:] for line in raw.split("\n") if line.startswith("data: ")]
    if lines[-1:] != ["[DONE]"]:
        return {"failed": 200, "why": "a stream without its end"}
    chunks = [json.loads(line) for line in lines[:-1]]
    text = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"])
    return next(c["novarag"] for c in chunks if "novarag" in c) | {"text": text}


async def started(port: int, process: subprocess.Popen) -> None:
    """Wait until the gateway is ready."""
    async with aiohttp.ClientSession() as client:
        while process.poll() is None:
            try:
                async with client.get(f"http://127.0.0.1:{port}/readyz") as ready:
                    if ready.status == 200:
                        return
            except aiohttp.ClientError:
                await asyncio.sleep(0.1)
    raise RuntimeError("the gateway did not start")


async def asked(port: int, questions: list[str]) -> list[dict]:
    """Ask all questions, some at once."""
    limit = asyncio.Semaphore(AT_ONCE)
    patience = aiohttp.ClientTimeout(total=3600)

    async def one(number: int, question: str) -> dict:
        async with limit:
            return await ask(client, question, stream=number % 2 == 1)

    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", timeout=patience) as client:
        return await asyncio.gather(*(one(i, q) for i, q in enumerate(questions)))


async def kept(dsn: str) -> dict[str, tuple]:
    """Return what the audit has of each request."""
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(
        "select id::text, decision, evidence, stated, flaw, cardinality(judgments) from audited"
    )
    await connection.close()
    return {row[0]: tuple(row)[1:] for row in rows}


def seen(found: dict) -> tuple:
    """Return what a client saw, in the audit's words."""
    judged = sum(p["judgment"] is not None for p in found["passages"])
    stated = found["stated"]
    return found["decision"], found["evidence"], stated, found["flaw"], judged or None


async def played(port: int, gateway: subprocess.Popen, questions: list[str]) -> list[dict]:
    """Ask the gateway once it is ready."""
    await started(port, gateway)
    return await asked(port, questions)


def main() -> int:
    """Run it, and hold the audit against what the clients saw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:8411/v1")
    parser.add_argument("--model", default="base")
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    table = pl.read_parquet(shared_data() / "retrieval" / "questions.parquet")
    questions = table.sample(options.questions, seed=0, shuffle=True)["question"].to_list()
    with tempfile.TemporaryDirectory() as folder, server() as database:
        port, settings = free_port(), Path(folder) / "gateway.toml"
        place = {"port": port, "index": options.index.resolve()}
        settings.write_text(FILE.format(url=options.url, model=options.model, **place))
        gateway = subprocess.Popen(
            [sys.executable, "-m", "novarag", "gateway", str(settings)],
            env=os.environ | {VARIABLE: database.dsn}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        begun = time.monotonic()
        try:
            found = asyncio.run(played(port, gateway, questions))
        finally:
            gateway.send_signal(signal.SIGTERM)
            gateway.wait(60)
        took = time.monotonic() - begun
        return report(found, asyncio.run(kept(database.dsn)), took)


def report(found: list[dict], rows: dict[str, tuple], took: float) -> int:
    """Print what was decided, and whether the audit says the same."""
    whole = {one["id"]: seen(one) for one in found if "id" in one}
    failed = [one for one in found if "id" not in one]
    decided = Counter(
        (decision, flaw or f"evidence {evidence}")
        for decision, evidence, _, flaw, _ in whole.values()
    )
    print(described())
    print(f"{len(found)} questions in {took:.0f} s, half of them streamed: {len(failed)} failed")
    for (decision, why), times in decided.most_common():
        print(f"{times:9}  {decision}, {why}")
    same = rows == whole
    print(f"audit: {len(rows)} rows, {'each as' if same else 'NOT as'} the client saw it")
    for one in failed[:5]:
        print(one)
    return int(bool(failed) or not same)


if __name__ == "__main__":
    sys.exit(main())
