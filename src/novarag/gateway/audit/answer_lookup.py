"""Whether there is an answer of an id: among the rows on their way, or in the database."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import asyncpg

from novarag.errors import NovaragError
from novarag.gateway.audit.database import open_connection
from novarag.gateway.audit.rows import read_id_time

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 20_000  # rows on their way whose ids are kept; about 4 MB
_PATIENCE = 0.5  # seconds for the database: feedback does not wait longer
_PAUSE = 1.0  # seconds before one that failed is asked again
_FAILED = (
    OSError, TimeoutError, NovaragError,
    asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError,
)  # fmt: skip
_FIND = """
select d.id::text as id, t.name as tenant
from decisions d join tenants t on t.id = d.tenant
where d.id = any($1::uuid[]) and d.day = any($2::date[])
"""


class UncommittedRows:
    """The ids of this process's rows that wait in the spool, with their tenants.

    There are few while the database keeps up; beyond so many the others are counted alone.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._tenants: dict[str, str] = {}
        self._unnamed = 0

    def add(self, identity: str, tenant: str) -> None:
        """Take note of a row that was written to the spool."""
        if len(self._tenants) < self._most:
            self._tenants[identity] = tenant
        else:
            self._unnamed += 1

    def remove(self, identities: Iterable[str]) -> None:
        """Take note of rows that the database has."""
        for identity in identities:
            if self._tenants.pop(identity, None) is None:
                self._unnamed = max(0, self._unnamed - 1)

    @property
    def complete(self) -> bool:
        """Whether every row that waits is known by its id."""
        return self._unnamed == 0

    def find_tenant(self, identity: str) -> str | None:
        """Return whose row waits under an id, if one does."""
        return self._tenants.get(identity)


class AnswerLookup:
    """Asks the database for ids, over one connection that is opened when it is first needed.

    Whoever asks while a question is under way shares the next one, so that a burst costs a few.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._stack: AsyncExitStack | None = None
        self._connection: asyncpg.Connection | None = None
        self._waiting: dict[str, asyncio.Future[str | None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._away_until = -1.0

    async def find_tenant(self, identity: str) -> str | None:
        """Return whose answer has an id, None for nobody's; `LookupError` where none can tell."""
        if time.monotonic() < self._away_until:
            raise LookupError("the database did not answer a moment ago")
        awaited = self._waiting.get(identity)
        if awaited is None:
            awaited = asyncio.get_running_loop().create_future()
            self._waiting[identity] = awaited
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await asyncio.shield(awaited)

    async def _run(self) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, {}
                await self._answer(asked)
        finally:
            self._task = None

    async def _answer(self, asked: dict[str, asyncio.Future[str | None]]) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                found = await self._find([*asked])
        except _FAILED:
            self._away_until = time.monotonic() + _PAUSE
            await self._disconnect()
            for awaited in asked.values():
                awaited.set_exception(LookupError("the database does not answer"))
                awaited.exception()  # whoever asked may have left
            return
        for identity, awaited in asked.items():
            awaited.set_result(found.get(identity))

    async def _find(self, identities: list[str]) -> dict[str, str]:
        connection = self._connection
        if connection is None or connection.is_closed():
            connection = await self._connect()
        days = sorted({read_id_time(identity).date() for identity in identities})
        rows: list[Any] = await connection.fetch(_FIND, identities, days)
        return {row["id"]: row["tenant"] for row in rows}

    async def _connect(self) -> asyncpg.Connection:
        await self._disconnect()
        self._stack = AsyncExitStack()
        opened = open_connection(self._dsn, command=_PATIENCE)
        self._connection = made = await self._stack.enter_async_context(opened)
        return made

    async def _disconnect(self) -> None:
        stack, self._stack, connection, self._connection = self._stack, None, self._connection, None
        if connection is not None and not connection.is_closed():
            connection.terminate()  # an end that is waited for could take as long as the question
        if stack is not None:
            await stack.aclose()

    async def close(self) -> None:
        """Close the connection."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._disconnect()
