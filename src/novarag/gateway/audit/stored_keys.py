"""Keys of clients in the audit's database: read now and then, never for a request."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from typing import Self

import asyncpg

from novarag.errors import NovaragError, UsageError
from novarag.gateway.audit.database import open_connection
from novarag.gateway.audit.schema import migrate
from novarag.gateway.http.keys import ClientKey, KeyRing
from novarag.gateway.observe.logs import log_event
from novarag.gateway.settings import NAME, KeyScope

_START = 2.0  # seconds that a start waits for keys
_AGAIN = 2.0  # seconds until the next try, while no keys were ever read
_LOST = (
    OSError, TimeoutError, NovaragError,
    asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError,
)  # fmt: skip
_READ = "select hash, tenant, scopes, created, expires, note from keys order by created, hash"
_ADD = "insert into keys (hash, tenant, scopes, expires, note) values ($1, $2, $3, $4, $5)"
_REVOKE = "delete from keys where hash = $1"
_SCOPES = frozenset(map(str, KeyScope))
# Eight digits tell keys apart; 64 are the whole hash.
_PREFIX = re.compile(r"[0-9a-f]{8,64}")


class StoredKeys:
    """The keys of a database, for use in `async with`; an outage leaves those last read."""

    def __init__(self, dsn: str, *, every: float) -> None:
        self._dsn, self.every = dsn, every
        self.ring = KeyRing(())
        self.read_at: float | None = None
        self._tried, self._wake = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failing = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START):
                await self._tried.wait()
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def read_soon(self) -> None:
        """Read again now."""
        self._wake.set()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._read()
            except _LOST as error:
                self._say(failing=True, kind=type(error).__name__)
            self._tried.set()
            pause = self.every if self.read_at is not None else min(self.every, _AGAIN)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()

    async def _read(self) -> None:
        async with open_connection(self._dsn) as connection:
            await migrate(connection)
            found = await read_keys(connection)
        usable = [key for key in found if re.fullmatch(NAME, key.tenant)]
        if len(usable) < len(found):
            log_event("keys_ignored", level="warning", count=len(found) - len(usable))
        self.ring, self.read_at = KeyRing(usable), time.time()
        self._say(failing=False)

    def _say(self, *, failing: bool, **facts: str) -> None:
        """Log a change, by the kind of error alone."""
        if failing == self._failing:
            return
        self._failing = failing
        event = "keys_unread" if failing else "keys_read"
        log_event(event, level="warning" if failing else "info", **facts)


async def read_keys(connection: asyncpg.Connection) -> list[ClientKey]:
    """Read all keys of a database."""
    return [_make_key(row) for row in await connection.fetch(_READ)]


def _make_key(row: asyncpg.Record) -> ClientKey:
    """Make a key of its row; scopes that there are not are left out."""
    return ClientKey(
        sha256=bytes(row["hash"]),
        tenant=row["tenant"],
        scopes=frozenset(row["scopes"]) & _SCOPES,
        created=row["created"],
        expires=row["expires"],
        note=row["note"],
        source="database",
    )


async def add_key(connection: asyncpg.Connection, key: ClientKey) -> None:
    """Write a key's hash into a database."""
    scopes = sorted(key.scopes)
    await connection.execute(_ADD, key.sha256, key.tenant, scopes, key.expires, key.note)


async def revoke_key(connection: asyncpg.Connection, start: str) -> ClientKey:
    """Delete the one key whose hash begins so, and return it."""
    if not _PREFIX.fullmatch(start):
        raise UsageError("a key is named by the first 8 to 64 hex digits of its SHA-256")
    found = [key for key in await read_keys(connection) if key.sha256.hex().startswith(start)]
    if len(found) != 1:
        said = "no key of the database has" if not found else f"{len(found)} keys have"
        raise UsageError(f"{said} a SHA-256 that begins with {start}")
    await connection.execute(_REVOKE, found[0].sha256)
    return found[0]
