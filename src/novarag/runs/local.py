"""The driver for one machine: shards one after the other, in one event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from novarag.runs.shard import run_shard

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from novarag.ports import LLM
    from novarag.runs.progress import Board
    from novarag.runs.shard import Job, ShardResult

_OPEN = 2  # shards at once: one may wait for its last replies while the next one is asked


async def run_local(
    job: Job,
    connect: Callable[[], AbstractAsyncContextManager[LLM]],
    *,
    board: Board,
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
