"""Begin, run and sum up a run, on either driver."""

from __future__ import annotations

import gc
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from novarag.runs.finished import shard_name
from novarag.runs.local import run_local
from novarag.runs.manifest import DamagedManifest, groups_name, read_manifest, write_manifest
from novarag.runs.seal import digest, unseal
from novarag.runs.shard import STOP, run_shard

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from novarag.ports import LLM
    from novarag.runs.manifest import Manifest
    from novarag.runs.progress import Board
    from novarag.runs.shard import Job, Outlook
    from novarag.runs.store import Store


class Driver(StrEnum):
    """What runs the shards: this process, or a Ray cluster."""

    LOCAL = "local"
    RAY = "ray"


def ease_collector() -> None:
    """Let the garbage collector look less often: what a shard makes lives until its end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


async def drive(
    job: Job,
    connect: Callable[[], AbstractAsyncContextManager[LLM]],
    *,
    board: Board,
    stop: asyncio.Event,
    driver: Driver = Driver.LOCAL,
    address: str | None = None,
) -> list[Outlook]:
    """Bring every shard of a run to its end, and write down what came of it."""
    job.store.remove(STOP)
    try:
        if driver is Driver.RAY:
            from novarag.runs.cluster import run_on_ray

            found = await run_on_ray(job, connect, board=board, stop=stop, address=address)
        else:
            found = await run_local(job, connect, board=board, stop=stop)
    finally:
        job.store.remove(STOP)
    if len(found) == len(job.manifest.parts) and all(outlook.finished for outlook in found):
        write_manifest(job.store, job.manifest, add_up([outlook.counts for outlook in found]))
    return found


async def settle(job: Job) -> list[Outlook]:
    """Check every file, and bring every shard as far as its journal goes, asking nothing."""
    outlooks = []
    for shard, part in enumerate(job.manifest.parts):
        outlook = await run_shard(job, shard, None)
        content = job.store.read(groups_name(shard))
        if content is None or digest(content) != part.sha256:
            again = "the same `novarag ask` writes it anew"
            outlook.damage.append(f"{groups_name(shard)} is damaged or missing; {again}")
        outlooks.append(outlook)
    return outlooks


def unfinished(store: Store, manifest: Manifest) -> list[int]:
    """List the shards that do not say they are finished."""
    missing = []
    for shard in range(len(manifest.parts)):
        raw = store.read(shard_name(shard))
        marker = unseal(raw) if raw is not None else None
        if marker is None or marker["run"] != manifest.run:
            missing.append(shard)
    return missing


def is_finished(store: Store) -> bool:
    """Say whether a place holds a run that has nothing left to ask."""
    try:
        manifest = read_manifest(store)
    except DamagedManifest:
        return False
    return manifest is not None and not unfinished(store, manifest)


def add_up(counts: list[dict[str, Any]]) -> dict[str, Any]:
    """Add the counts of shards."""
    outcomes: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for count in counts:
        outcomes.update(count.get("outcomes", {}))
        sums.update({k: v for k, v in count.items() if k != "outcomes"})
    return dict(sums) | {"outcomes": dict(outcomes)}
