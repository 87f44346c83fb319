"""Begin, run and sum up a run: on this machine, shard after shard in one event loop, or on Ray."""

from __future__ import annotations

import asyncio
import gc
from enum import StrEnum
from typing import TYPE_CHECKING

from novarag.prose import say
from novarag.runs.finished import add_up
from novarag.runs.manifest import groups_content, groups_name, write_manifest
from novarag.runs.shard import STOP, run_shard

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from novarag.ports import LLM
    from novarag.runs.progress import ProgressBoard
    from novarag.runs.shard import Job, ShardResult


class Driver(StrEnum):
    """What runs the shards: this process, or a Ray cluster."""

    LOCAL = "local"
    RAY = "ray"


def tune_gc() -> None:
    """Let the garbage collector look less often: what a shard makes lives until its end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


async def drive(
    job: Job,
    connect: Callable[[], AbstractAsyncContextManager[LLM]],
    *,
    board: ProgressBoard,
    stop: asyncio.Event,
    driver: Driver = Driver.LOCAL,
    address: str | None = None,
) -> list[ShardResult]:
    """Bring every shard of a run to its end, and write down what came of it."""
    job.store.remove(STOP)
    try:
        if driver is Driver.RAY:
            from novarag.runs.ray_cluster import run_on_ray

            found = await run_on_ray(job, connect, board=board, stop=stop, address=address)
        else:
            found = await run_local(job, connect, board=board, stop=stop)
    finally:
        job.store.remove(STOP)
    if len(found) == len(job.manifest.parts) and all(outlook.finished for outlook in found):
        write_manifest(job.store, job.manifest, add_up([outlook.counts for outlook in found]))
    return found


async def settle(job: Job) -> list[ShardResult]:
    """Check every file, and bring every shard as far as its journal goes, asking nothing."""
    outlooks = []
    for shard in range(len(job.manifest.parts)):
        outlook = await run_shard(job, shard, None)
        if groups_content(job.store, job.manifest, shard) is None:
            outlook.damage.append(
                say(
                    "{} is damaged or missing; the same `ask(...)` writes it anew",
                    groups_name(shard),
                )
            )
        outlooks.append(outlook)
    return outlooks


_OPEN = 2  # shards at once: one may wait for its last replies while the next one is asked


async def run_local(
    job: Job,
    connect: Callable[[], AbstractAsyncContextManager[LLM]],
    *,
    board: ProgressBoard,
    stop: asyncio.Event,
) -> list[ShardResult]:
    """Run every shard of a job; the next begins as soon as all of one was sent."""
    outlooks: dict[int, ShardResult] = {}
    running: dict[asyncio.Task[ShardResult], int] = {}

    async def collect(how: str) -> None:
        done, _ = await asyncio.wait(running, return_when=how)
        for task in done:
            shard = running.pop(task)
            board.close(shard)
            outlooks[shard] = task.result()

    async with connect() as llm:
        try:
            for shard in range(len(job.manifest.parts)):
                if stop.is_set():
                    break
                sent = asyncio.Event()
                shown = board.open(shard)
                task = asyncio.create_task(
                    run_shard(job, shard, llm, progress=shown, stop=stop, exhausted=sent)
                )
                running[task] = shard
                await _either(task, sent)
                if task.done() or len(running) >= _OPEN:
                    await collect(asyncio.FIRST_COMPLETED)
            while running:
                await collect(asyncio.FIRST_COMPLETED)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
    return [outlooks[shard] for shard in sorted(outlooks)]


async def _either(task: asyncio.Task[ShardResult], sent: asyncio.Event) -> None:
    waiter = asyncio.create_task(sent.wait())
    await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
    waiter.cancel()
