"""Who works on a shard. A lease is a lock where the disk has them, and a heartbeat everywhere.

The heartbeat also says how far the journal was safe, and the link of its last record there, so that
a journal that lost its end, or was exchanged for an older one, shows. The first heartbeat is made
to last before the journal begins: a journal without one has lost it.
"""

from __future__ import annotations

import os
import socket
from time import time
from typing import TYPE_CHECKING, Any

from novarag.errors import StorageError
from novarag.runs import crash_points
from novarag.runs.log_frames import Mark
from novarag.sealed_json import seal, unseal

if TYPE_CHECKING:
    from novarag.runs.store import Store

_STALE = 30.0  # seconds without a heartbeat after which a lease without a lock is up for grabs


def lease_name(shard: int) -> str:
    """Name the heartbeat file of a shard."""
    return f"leases/{shard:05}.json"


class Lease:
    """The right to work on one shard."""

    def __init__(self, store: Store, shard: int) -> None:
        self.store, self.shard = store, shard
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
        self._lock = f"leases/{shard:05}.lock"
        self.unsaid: list[str] = []  # damage that nobody was told of yet; it outlives a kill
        self._safe: Mark | None = None  # what our last heartbeat said
        self._beating = False  # whether there was one, and it did not let go
        self._locked = True

    def take(self) -> bool:
        """Take the lease, unless somebody lives who holds it."""
        locked = self.store.lock(self._lock)
        if locked is None:
            self._locked = False
            locked = self._claim()
        if locked:
            crash_points.reached("lease taken")
        return locked

    def _claim(self) -> bool:
        """Without locks: say that it is ours, if it is nobody's, and see whether that held."""
        found = read_lease(self.store, self.shard)
        if found is not None and not found["released"] and time() - found["at"] <= _STALE:
            return False
        if found is not None:
            self.unsaid = found.get("unsaid", [])
        self.beat(None if found is None else mark_in(found))
        found = read_lease(self.store, self.shard)
        return found is not None and found["owner"] == self._owner

    def beat(
        self, safe: Mark | None, *, released: bool = False, durable: bool = False, **facts: object
    ) -> None:
        """Say that we live, how much of the journal is safe, and how far the work is.

        `safe` is None as long as nobody knows.
        """
        if not self._locked and self._beating:
            found = read_lease(self.store, self.shard)
            if found is not None and found["owner"] != self._owner:
                raise StorageError(f"{found['owner']} has taken over shard {self.shard}")
        synced, head = (None, None) if safe is None else safe
        content = {"owner": self._owner, "at": time(), "released": released}
        content |= {"synced": synced, "head": head}
        if self.unsaid:
            content["unsaid"] = self.unsaid
        self.store.write(lease_name(self.shard), seal(content | facts), durable=durable)
        self._safe, self._beating = safe, not released

    def forget(self) -> None:
        """Remove the heartbeat: the shard is finished."""
        self.store.remove(lease_name(self.shard))
        self._beating = False

    def end(self) -> None:
        """Let go."""
        if not self._locked and self._beating:
            self.beat(self._safe, released=True)
        self.store.unlock(self._lock)


def read_lease(store: Store, shard: int) -> dict[str, Any] | None:
    """Return the last heartbeat of a shard; None when there is none that is whole."""
    raw = store.read(lease_name(shard))
    found = None if raw is None else unseal(raw)
    return found if found is not None and "released" in found else None


def is_damaged(store: Store, shard: int) -> bool:
    """Say whether there is a heartbeat that is not whole."""
    there = store.read(lease_name(shard)) is not None
    return there and read_lease(store, shard) is None


def mark_in(heartbeat: dict[str, Any]) -> Mark | None:
    """Return how far a journal was safe at a heartbeat; None if it does not tell."""
    size, head = heartbeat.get("synced"), heartbeat.get("head")
    return None if size is None or head is None else Mark(size, head)
