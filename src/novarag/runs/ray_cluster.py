"""The driver for many machines: Ray schedules the same `run_shard`, one shard a task.

Keys are not shipped: every worker takes them from its own environment.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.imports import with_extra
from novarag.runs.lease import read_lease
from novarag.runs.shard import STOP, run_shard
from novarag.runs.store import everywhere

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from novarag.ports import LLM
    from novarag.runs.progress import ProgressBoard
    from novarag.runs.shard import Job, ShardResult

    Connect = Callable[[], AbstractAsyncContextManager[LLM]]

_ORPHANED = 90.0  # seconds in which Ray ends the workers of a driver that died

try:
    import ray
except ImportError:  # the extra is not installed; said in words when the driver is asked for
    ray = None


async def run_on_ray(
    job: Job,
    connect: Connect,
    *,
    board: ProgressBoard,
    stop: asyncio.Event,
    address: str | None = None,
) -> list[ShardResult]:
    """Run every shard of a job on a Ray cluster; a shard whose worker dies is run again."""
    _start(address)
    job = replace(job, store=everywhere(job.store), patience=_ORPHANED)
    work = ray.remote(num_cpus=1, max_retries=-1)(_work)
    shared = ray.put((job, connect))
    waiting = list(range(len(job.manifest.parts)))[::-1]
    most = 2 * max(int(ray.cluster_resources().get("CPU", 1)), 1)  # one queued for each that runs
    running: dict[ray.ObjectRef, int] = {}
    outlooks: dict[int, ShardResult] = {}
    while running or (waiting and not stop.is_set()):
        while waiting and len(running) < most and not stop.is_set():
            shard = waiting.pop()
            running[work.remote(shared, shard)] = shard
        if stop.is_set():
            job.store.write(STOP, b"", durable=False)
        done, _ = await asyncio.to_thread(ray.wait, list(running), timeout=0.5)
        for task in done:
            shard = running.pop(task)
            outlooks[shard] = _result(task)
            board.finish(shard, outlooks[shard].counts, outlooks[shard].before)
        for shard in running.values():
            beat = read_lease(job.store, shard)
            if beat is not None and "progress" in beat:
                board.show(shard, beat["progress"])
    return [outlooks[shard] for shard in sorted(outlooks)]


def _start(address: str | None) -> None:
    if ray is None:
        raise UsageError(f"the Ray driver needs: {with_extra('ray')}")
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)


def _result(task: ray.ObjectRef) -> ShardResult:
    """Fetch what a task returned; what it raised is raised here as itself."""
    try:
        outlook: ShardResult = ray.get(task)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    return outlook


def _work(shared: tuple[Job, Connect], shard: int) -> ShardResult:
    from novarag.runs.driver import tune_gc

    tune_gc()
    job, connect = shared

    async def run() -> ShardResult:
        async with connect() as llm:
            return await run_shard(job, shard, llm)

    return asyncio.run(run())
