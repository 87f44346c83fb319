"""What the run layer costs beside a bare aiohttp loop: same server, same run, concurrency 128.

Prints throughput, the ratio, and CPU microseconds a call of the client alone. The rounds alternate,
so that a noisy neighbour hits both. The bare loop is handed its prompts; ours renders them, journals
every request and reply, reads, grades and writes its tables. Cutting the input into shards comes
before and is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from dataclasses import replace
from functools import partial
from time import perf_counter, process_time

import aiohttp

from novarag.calls import Sampling
from novarag.examples import EXAMPLE_GROUP
from novarag.llm.chat import ChatLLM
from novarag.runs import Driver, Job, ProgressBoard, Settings, drive, open_store, plan, tune_gc
from novarag.strategies import NOVA
from novarag.web.endpoint import parse_endpoint
from novarag.web.sending import Patience
from tests.support.chaos.serving import chaos


def groups(count: int, start: int = 0):
    question = EXAMPLE_GROUP.question
    for i in range(start, start + count):
        text = f"In which year was lighthouse {i} lit?"
        yield replace(EXAMPLE_GROUP, question=replace(question, id=f"q{i}", text=text))


async def bare(url: str, prompts: list[str], concurrency: int) -> None:
    """Post every prompt and parse every reply; nothing is kept."""
    queue = iter(prompts)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def worker() -> None:
            for prompt in queue:
                body = {"model": "chaos", "messages": [{"role": "user", "content": prompt}], "n": 1}
                async with session.post(f"{url}/v1/chat/completions", json=body) as response:
                    (await response.json())["choices"][0]["message"]["content"]

        await asyncio.gather(*(worker() for _ in range(concurrency)))


def planned(count: int, concurrency: int, start: int, folder: str, *, samples: int = 1) -> Job:
    """Plan a run of so many groups."""
    sampling = Sampling(temperature=0.0 if samples == 1 else 1.0)
    settings = Settings(
        strategy="nova",
        template_hash=NOVA.template.hash,
        model="chaos",
        samples=samples,
        sampling=sampling,
    )
    store = open_store(folder)
    manifest = plan(store, partial(groups, count, start), settings)
    return Job(store=store, manifest=manifest, strategy=NOVA, concurrency=concurrency)


async def ours(
    url: str, job: Job, driver: Driver = Driver.LOCAL, patience: Patience | None = None
) -> ProgressBoard:
    """Run a planned job against a server."""
    patience = patience or Patience(concurrency=job.concurrency)
    connect = partial(ChatLLM, [parse_endpoint(f"{url}=chaos")], patience=patience)
    board = ProgressBoard()
    await drive(job, connect, board=board, stop=asyncio.Event(), driver=driver)
    assert board.total().settled == job.manifest.requests, board.total()
    return board


def measured(run) -> tuple[float, float]:
    wall, cpu = perf_counter(), process_time()
    asyncio.run(run)
    return perf_counter() - wall, process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--latency", type=float, default=0.0)
    options = parser.parse_args()
    calls = options.calls
    tune_gc()
    found = {"bare": [], "ours": []}
    with chaos(latency=options.latency) as url:
        for turn in range(options.rounds):
            prompts = [NOVA.render(g).text for g in groups(calls, turn * calls)]
            found["bare"].append(measured(bare(url, prompts, options.concurrency)))
            with tempfile.TemporaryDirectory() as folder:
                job = planned(calls, options.concurrency, turn * calls, folder)
                found["ours"].append(measured(ours(url, job)))
    for name, rows in found.items():
        wall, cpu = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{name}: {calls / wall:,.0f} calls/s, {cpu / calls * 1e6:.0f} CPU us a call")
    ratios = [b[0] / o[0] for b, o in zip(found["bare"], found["ours"], strict=True)]
    print(
        f"throughput ratio by round: {', '.join(f'{r:.2f}' for r in ratios)}; median {statistics.median(ratios):.2f}"
    )
    print(
        json.dumps(
            {
                "ratio": statistics.median(ratios),
                "cpu_us": statistics.median(c for _, c in found["ours"]) / calls * 1e6,
            }
        )
    )


if __name__ == "__main__":
    main()
