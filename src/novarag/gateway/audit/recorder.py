"""The audit of one process: rows go to the spool at once, and from there to the database."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import asyncpg

from novarag.errors import NovaragError, StorageError
from novarag.gateway.audit.answer_lookup import AnswerLookup, UncommittedRows
from novarag.gateway.audit.database import BatchWriter, open_connection
from novarag.gateway.audit.payloads import DecisionRecord, from_payload, to_payload
from novarag.gateway.audit.rows import AuditRow, TextPolicy
from novarag.gateway.audit.spool import Spool, SpoolFull
from novarag.gateway.upstream import UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from novarag.gateway.audit.payloads import FeedbackRecord
    from novarag.gateway.audit.rows import FeedbackRow
    from novarag.gateway.audit.settings import AuditSettings
    from novarag.gateway.audit.spool import SpoolBatch

_log = logging.getLogger("novarag.gateway.audit")
_MOST = 500  # rows a commit
_PAUSE = 0.2  # seconds from one commit to the next: rows that go together share its cost
_LOOK = 20.0  # seconds from one look for segments of the dead to the next
_FIRST, _LONGEST = 0.1, 5.0  # seconds between two tries to connect
_LOST = (
    OSError, TimeoutError, NovaragError,
    asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError,
)  # fmt: skip

_REFUSED = (asyncpg.PostgresError, asyncpg.InterfaceError, TypeError, ValueError, OverflowError)


class AuditFull(UpstreamUnavailable):
    """A request that is refused because its decision could not be kept."""

    kind = "AuditFull"

    def __init__(self) -> None:
        super().__init__("the gateway cannot keep its audit", status=503, after=5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditState:
    """How the audit stands, for metrics and the status page."""

    recorded: int
    committed: int
    lost: int
    rejected: int
    waiting: int
    damaged: int
    connected: bool
    full: bool


class AuditRecorder:
    """Keeps rows, for use in `async with`.

    `record` writes to the spool before it returns; a task of its own commits to PostgreSQL. No
    failure of the database reaches a request. One connection writes, and another is open once
    feedback has asked for an answer.
    """

    def __init__(
        self, settings: AuditSettings, *, folder: Path | None = None, pause: float = _PAUSE
    ) -> None:
        self.settings = settings
        self.text_policy = TextPolicy(keep=settings.keep_texts, key=settings.digest_key())
        self._dsn, self._pause = settings.dsn(), pause
        self._folder = settings.spool if folder is None else folder / settings.spool
        self._spool: Spool | None = None
        self._task: asyncio.Task[None] | None = None
        self._more, self._ending = asyncio.Event(), False
        self._recorded = self._committed = self._lost = self._rejected = 0
        self._connected: bool | None = None  # not tried yet
        self._full = False
        self._uncommitted, self._lookup = UncommittedRows(), AnswerLookup(self._dsn)

    async def __aenter__(self) -> Self:
        try:
            self._spool = Spool(self._folder, limit=self.settings.spool_limit)
        except OSError as error:
            said = f"the audit's spool {self._folder} cannot be written: {error.strerror or error}"
            raise StorageError(said) from error
        self._more.set()
        self._start(self._spool)
        return self

    def _start(self, spool: Spool) -> None:
        """Start the task that commits; one that ends by a mistake of ours is started again."""
        if self._ending:
            return
        self._task = asyncio.create_task(self._run(spool))
        self._task.add_done_callback(lambda task: self._ended(task, spool))

    def _ended(self, task: asyncio.Task[None], spool: Spool) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._connected = False
            place = traceback.extract_tb(error.__traceback__)[-1]  # its message may hold values
            what = f"{type(error).__name__} at {place.name}, line {place.lineno}"
            _log.critical("the audit stopped committing and starts again: %s", what)
            asyncio.get_running_loop().call_later(_LONGEST, self._start, spool)

    async def __aexit__(self, *error: object) -> None:
        """Commit what is left if the database can be reached; else the next process does."""
        self._ending = True
        self._more.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_LONGEST if self._connected else _FIRST)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._lookup.close()
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    # --- what requests call ---

    def record(self, row: AuditRow | FeedbackRow) -> bool:
        """Keep a row before its reply is sent; say whether it is kept.

        Where the spool is full, the row is counted as lost, or `AuditFull` is raised, as the
        settings say.
        """
        if self._spool is None:
            raise RuntimeError("open it first")
        try:
            self._spool.append(to_payload(row))
        except SpoolFull as error:
            return self._over(error)
        if isinstance(row, AuditRow):
            self._uncommitted.add(row.id, row.tenant)
        self._recorded += 1
        self._full = False
        self._more.set()
        return True

    def _over(self, error: SpoolFull) -> bool:
        if not self._full:
            _log.error("decisions are not kept: %s", error)
        self._full = True
        if self.settings.when_full == "refuse":
            raise AuditFull from None
        self._lost += 1
        return False

    async def has_answer(self, identity: str, tenant: str) -> bool | None:
        """Say whether a tenant has an answer of an id; None where that cannot be known now.

        That is so while the database is away, or behind with rows whose ids are not in memory.
        """
        waiting = self._uncommitted.find_tenant(identity)
        if waiting is not None:
            return waiting == tenant
        inherited = self._spool is None or self._spool.has_inherited
        if not self._connected or inherited or not self._uncommitted.complete:
            return None
        try:
            return await self._lookup.find_tenant(identity) == tenant
        except LookupError:
            return None

    def state(self) -> AuditState:
        """Say how the audit stands."""
        spool = self._spool
        return AuditState(
            recorded=self._recorded,
            committed=self._committed,
            lost=self._lost,
            rejected=self._rejected,
            waiting=0 if spool is None else spool.backlog,
            damaged=0 if spool is None else spool.damaged,
            connected=bool(self._connected),
            full=self._full,
        )

    # --- the task ---

    async def _run(self, spool: Spool) -> None:
        """Commit for as long as the process lives, over as many connections as that takes."""
        delay = _FIRST
        while True:
            before = self._committed
            try:
                async with open_connection(self._dsn) as connection:
                    writer = BatchWriter(connection)
                    await writer.prepare()
                    self._say(connected=True)
                    await self._pump(spool, writer)
                    return
            except _LOST as error:
                self._say(connected=False, error=error)
            delay = _FIRST if self._committed > before else min(delay * 2, _LONGEST)
            if self._ending:
                return
            await asyncio.sleep(delay)

    def _say(self, *, connected: bool, error: BaseException | None = None) -> None:
        """Log a change, by the kind of error alone: messages may name hosts, users and values."""
        if connected == self._connected:
            return
        self._connected = connected
        if connected:
            _log.info("the audit's database is connected")
            return
        code = getattr(error, "sqlstate", None)
        what = type(error).__name__ + (f", {code}" if code else "")
        _log.warning(
            "no connection to the audit's database (%s): decisions wait in the spool", what
        )

    async def _pump(self, spool: Spool, writer: BatchWriter) -> None:
        looked = ahead = -float("inf")
        while True:
            now = time.monotonic()
            if now - looked > _LOOK:
                looked = now
                spool.adopt()
            if now - ahead > 3600:
                ahead = now
                await writer.make_ahead()
            self._more.clear()
            batch = spool.read(_MOST)
            if batch is not None:
                await self._commit(spool, writer, batch)
                if len(batch.records) >= _MOST:
                    continue
            elif self._ending:
                return
            await self._rest(_LOOK if batch is None else 0)

    async def _rest(self, longest: float) -> None:
        """Pause after a commit, or wait for rows where there were none."""
        if longest:
            try:
                async with asyncio.timeout(longest):
                    await self._more.wait()
            except TimeoutError:
                return
        if not self._ending:
            await asyncio.sleep(self._pause)

    async def _commit(self, spool: Spool, writer: BatchWriter, batch: SpoolBatch) -> None:
        rows: list[tuple[bytes, DecisionRecord | FeedbackRecord]] = []
        rejected: list[bytes] = []
        for payload in batch.records:
            try:
                rows.append((payload, from_payload(payload)))
            except ValueError:
                rejected.append(payload)
        rejected += await self._write(writer, rows)
        if rejected:
            spool.set_aside(rejected)
            self._rejected += len(rejected)
            _log.error("%d rows were set aside, the database cannot hold them", len(rejected))
        spool.commit(batch)
        if batch.segment.ours:
            self._uncommitted.remove(row.id for _, row in rows if isinstance(row, DecisionRecord))
        self._committed += len(batch.records) - len(rejected)

    async def _write(
        self, writer: BatchWriter, rows: Sequence[tuple[bytes, DecisionRecord | FeedbackRecord]]
    ) -> list[bytes]:
        """Commit rows; where the database refuses one of them, find it by halves and return it."""
        if not rows:
            return []
        try:
            await writer.write([row for _, row in rows])
        except _REFUSED as error:
            if not _is_data_error(error):
                raise
            if len(rows) == 1:
                return [rows[0][0]]
            half = len(rows) // 2
            return [
                *await self._write(writer, rows[:half]),
                *await self._write(writer, rows[half:]),
            ]
        return []


def _is_data_error(error: Exception) -> bool:
    """Say whether an error is about what was written, and not about the database.

    A day whose partition was dropped meanwhile is the database's: the next connection makes it.
    """
    if isinstance(error, asyncpg.CheckViolationError):
        return False
    if isinstance(error, asyncpg.PostgresError):
        return str(error.sqlstate or "")[:2] in {"22", "23"}
    return isinstance(error, (TypeError, ValueError, OverflowError))
