"""Put other trials in the place of a finished shard's, safe against others and against a kill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from novarag.errors import StorageError
from novarag.runs.finished import check_finished, exchange_trials
from novarag.runs.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from novarag.runs.reader import Run


def rewrite_trials(
    run: Run, shard: int, make: Callable[[pl.DataFrame], pl.DataFrame | None]
) -> tuple[dict[str, Any], list[str]]:
    """Exchange a shard's trials; return its counts, and what was found damaged and mended.

    `make` gets the table that is there, and returns another, or None to leave it.
    """
    store, place = run.store, run.place
    lease = Lease(store, shard)
    if not lease.take():
        raise StorageError(f"shard {shard} of {place} is being worked on; wait for it")
    try:
        counts, mended = check_finished(store, shard, run.manifest.run)
        if counts is None:
            raise StorageError.saying(
                "shard {} of {} is damaged; run `recover({})`", shard, place, place
            )
        new = make(run.table(shard))
        if new is not None:
            counts = exchange_trials(store, shard, run.manifest.run, new)
        return counts, mended
    finally:
        lease.end()
