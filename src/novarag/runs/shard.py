"""Ask the questions of one shard, and lose nothing.

A shard that is finished and whole is left alone. Otherwise its journal is replayed, what is missing
is asked, and when nothing is missing the tables are written and the shard is marked as finished.
Every driver calls `run_shard`; killed at any instant, it can be called again, by anybody.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from novarag.calls import CallError, Outcome
from novarag.defaults import ACCESS
from novarag.errors import ServiceError, StorageError
from novarag.runs import crash_points
from novarag.runs.finished import (
    check_finished,
    shard_name,
    table_name,
    whole_counts,
    write_finished,
)
from novarag.runs.group_table import read_groups
from novarag.runs.journal import Journal, completion_in, reply_content
from novarag.runs.lease import Lease, lease_name, read_lease
from novarag.runs.manifest import groups_content, groups_name, note_holds
from novarag.runs.past import damages, read_past
from novarag.runs.progress import Progress
from novarag.runs.requests import requests_of
from novarag.runs.tables import in_order, trial_row, trials_frame
from novarag.strategies.reply_form import form_of
from novarag.trials import make_trial
from novarag.web.form_support import FormLLM, FormSupport

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from novarag.calls import Attempt, AttemptListener, Reply
    from novarag.ports import LLM, Asking
    from novarag.records import Completion
    from novarag.runs.journal import JournalState
    from novarag.runs.log_frames import Mark
    from novarag.runs.manifest import Manifest
    from novarag.runs.requests import Request
    from novarag.runs.store import Store

_FATAL = frozenset({Outcome.DENIED, Outcome.REDIRECTED, Outcome.INCOMPLETE})
_BEAT = 1.0  # seconds between two writes of the journal to the disk
_TOGETHER, _FOLDED = 64, 2048
STOP = "stop"
"""A file by this name in the run's folder asks every worker to send nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a shard needs to be asked, wherever that happens."""

    store: Store
    manifest: Manifest
    strategy: Asking
    concurrency: int = ACCESS.concurrency
    revive: bool = False
    patience: float = 5.0
    grace: float = 600.0
    holding: FormSupport = field(default_factory=FormSupport)


@dataclass(slots=True)
class ShardResult:
    """What came of a shard: whether it is finished, its counts, and what was found damaged."""

    finished: bool
    counts: dict[str, Any] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    before: int = 0  # requests that were settled when we came


async def run_shard(
    job: Job,
    shard: int,
    llm: LLM | None,
    *,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    exhausted: asyncio.Event | None = None,
) -> ShardResult:
    """Bring a shard to its end; without an LLM, as far as its journal goes.

    `stop` asks for no new requests to be sent. `exhausted` is set when the last request of the
    shard was sent, so that a driver can begin the next one.
    """
    progress = progress or Progress()
    found = whole_counts(job.store, shard, job.manifest.run)
    if found is not None and not (job.revive and found["dead"]):  # nothing has to be written
        progress.resume(found)
        return ShardResult(finished=True, counts=found, before=progress.before)
    lease = Lease(job.store, shard)
    await _wait_for(lease, job, shard)
    work = _ShardWork(job, shard, lease, progress, stop or asyncio.Event())
    try:
        outlook = await work.run(llm, exhausted or asyncio.Event())
        outlook.before = work.progress.before
        return outlook
    finally:
        lease.end()


def peek(job: Job, shard: int) -> tuple[pl.DataFrame, JournalState, int]:
    """Read what an unfinished shard has so far, and how many requests that settles.

    Nothing is taken and nothing is written.
    """
    work = _ShardWork(job, shard, Lease(job.store, shard), Progress(), asyncio.Event())
    past = read_past(job.store, shard, job.manifest.run)
    work.replay(past, work.requests())
    return work.trials(), past, work.progress.settled


async def _wait_for(lease: Lease, job: Job, shard: int) -> None:
    waited = 0.0
    while not lease.take():
        if waited >= job.patience:
            found = read_lease(job.store, shard)
            raise StorageError(
                f"shard {shard} of {job.store.place} is being worked on by"
                f" {found['owner'] if found else 'another process'}; wait for it, or stop it"
            )
        await asyncio.sleep(0.25)
        waited += 0.25


class _ShardWork:
    def __init__(
        self, job: Job, shard: int, lease: Lease, progress: Progress, stop: asyncio.Event
    ) -> None:
        self.job, self.shard, self.lease = job, shard, lease
        self.progress, self.stop, self.store = progress, stop, job.store
        self.rows: list[tuple[Any, ...]] = []
        self.folded: list[pl.DataFrame] = []
        self.sharing: dict[str, list[Request]] = {}
        self.arrived: list[tuple[Request, Sequence[Completion]]] = []
        self.holds = job.manifest.holds
        self.flying: dict[str, str] = {}  # attempts that left and have not ended, by their request

    async def run(self, llm: LLM | None, exhausted: asyncio.Event) -> ShardResult:
        found, damage = check_finished(self.store, self.shard, self.job.manifest.run)
        if found is not None and not (self.job.revive and found["dead"]):
            self.progress.resume(found)
            return ShardResult(finished=True, counts=found, damage=damage)
        self.store.sweep(self._files())
        past = read_past(self.store, self.shard, self.job.manifest.run)
        damage += damages(self.shard, past)
        requests = self.requests()
        self.replay(past, requests)
        settled = past.replies.keys() | (set() if self.job.revive else past.dead.keys())
        pending = [shared[0] for key, shared in self.sharing.items() if key not in settled]
        ends = bool(pending) and llm is None
        self.lease.unsaid = [] if ends else list(damage)
        self.lease.beat(past.safe, released=ends, durable=True)  # before any marker goes
        self.store.remove(shard_name(self.shard))  # what follows is not what it vouched for
        if ends:
            return ShardResult(finished=False, counts={"pending": len(pending)}, damage=damage)
        journal = Journal(self.store, self.shard, past, run=self.job.manifest.run)
        try:
            if llm is not None:
                await self._ask(pending, llm, journal, exhausted)
            unsettled = len(self.sharing.keys() - past.replies.keys() - past.dead.keys())
            if unsettled:
                return ShardResult(finished=False, counts={"pending": unsettled}, damage=damage)
        finally:
            exhausted.set()
            journal.close()  # not in a thread: a cancelled task would leave it open
        counts = await asyncio.to_thread(self._finish, requests, past)
        return ShardResult(finished=True, counts=counts, damage=damage)

    # — what is there already —

    def _files(self) -> list[str]:
        tables = [table_name(kind, self.shard) for kind in ("trials", "attempts", "dead")]
        return [*tables, shard_name(self.shard), lease_name(self.shard)]

    def requests(self) -> list[Request]:
        """List what the shard asks."""
        name = groups_name(self.shard)
        content = groups_content(self.store, self.job.manifest, self.shard)
        part = self.job.manifest.parts[self.shard]
        if content is None:
            raise StorageError.saying(
                "{}/{} is damaged; run the same `ask(...)` again: it writes it anew from your file",
                self.store.place,
                name,
            )
        groups = read_groups(content)
        if len({group.question.id for group in groups}) != part.questions:
            raise StorageError(f"{self.store.place}/{name} does not hold whole questions")
        return requests_of(groups, self.job.strategy, self.job.manifest.settings)

    def replay(self, past: JournalState, requests: list[Request]) -> None:
        """Take in the replies that the journal holds."""
        model = self.job.manifest.settings.model
        for request in requests:
            self.sharing.setdefault(request.key, []).append(request)
        for key in self.sharing:
            event = past.replies.get(key)
            if event is not None:
                completions = [completion_in(c, model) for c in event["completions"]]
                self._take_in(key, completions, event["usage"], before=True)
                del event["completions"]
            elif key in past.dead and not self.job.revive:
                self.progress.died(len(self.sharing[key]), before=True)

    # — asking —

    async def _ask(
        self, pending: list[Request], llm: LLM, journal: Journal, exhausted: asyncio.Event
    ) -> None:
        queue = iter(pending)
        if self.job.revive:
            for request in pending:
                if request.key in journal.past.dead:
                    journal.revive(request.key)

        async def worker() -> None:
            for request in queue:
                if self.stop.is_set():
                    return
                await self._one(request, llm, journal)
            exhausted.set()

        self._report(journal.sync())
        count = min(self.job.concurrency, len(pending))
        workers = [asyncio.create_task(worker()) for _ in range(count)]
        watching = [
            asyncio.create_task(self._beat(journal)),
            asyncio.create_task(self._heed_stop(workers)),
        ]
        try:
            await _all(workers, watching)
        except BaseException:
            await _cancel(*workers, *watching)
            with suppress(StorageError):  # what ended us is what is told
                self._report(journal.sync(), released=True)
            raise
        await _cancel(*workers, *watching)
        self.lease.unsaid = []  # we return, and it is told
        self._report(journal.sync(), released=True)

    async def _one(self, request: Request, llm: LLM, journal: Journal) -> None:
        key = request.key
        try:
            reply = await self._reply(request, llm, partial(self._tell, journal, key))
        except CallError as error:
            if error.outcome in _FATAL:
                raise
            self._give_up(journal, key, error.outcome, error.detail)
        except ServiceError as error:
            self._give_up(journal, key, Outcome.REFUSED, str(error))
        else:
            content = reply_content(reply)
            journal.reply(key, reply.attempt, content)
            self.flying.pop(reply.attempt, None)
            self.progress.in_flight -= 1
            self._take_in(key, reply.completions, content["usage"])

    async def _reply(self, request: Request, llm: LLM, tell: AttemptListener) -> Reply:
        """Ask for a reply, held to its form where that is wanted and the server can."""
        asked, key = (request.prompt, request.sampling), request.key
        if not self.job.manifest.settings.structured:
            return await llm.complete(*asked, key=key, tell=tell)
        form, holding = form_of(self.job.strategy, request.group), self.job.holding
        reply = await FormLLM(llm, holding).complete(*asked, form, key=key, tell=tell)
        if holding.can is not None and holding.can is not self.holds:
            self.holds = holding.can
            note_holds(self.store, holding.can)
        return reply

    def _tell(self, journal: Journal, key: str, attempt: Attempt) -> None:
        if attempt.outcome is None:
            if self.stop.is_set():
                raise asyncio.CancelledError  # it waited for its turn until it was too late
            journal.sent(key, attempt.id, attempt.endpoint)
            self.flying[attempt.id] = key
            self.progress.in_flight += 1
        else:
            self._lose(journal, key, attempt.id, attempt.outcome, attempt.detail)

    def _lose(
        self, journal: Journal, key: str, attempt: str, outcome: Outcome, detail: str
    ) -> None:
        journal.lost(key, attempt, outcome, detail)
        self.flying.pop(attempt, None)
        self.progress.in_flight -= 1

    def _give_up(self, journal: Journal, key: str, outcome: Outcome, detail: str) -> None:
        for attempt in [one for one, of in self.flying.items() if of == key]:
            self._lose(journal, key, attempt, outcome, detail)  # nobody said how it ended
        journal.dead(key, outcome, detail)
        self.progress.died(len(self.sharing[key]))

    def _take_in(
        self,
        key: str,
        completions: Sequence[Completion],
        usage: Sequence[int] | None,
        *,
        before: bool = False,
    ) -> None:
        """Count a reply for every group that asked for it, to be read with the next few."""
        for request in self.sharing[key]:
            self.arrived.append((request, completions))
            self.progress.answered(*(usage or (0, 0)), before=before)
            usage = None
        if len(self.arrived) >= _TOGETHER:
            self._read_arrived()

    def _read_arrived(self) -> None:
        """Read and grade what has arrived; many together are cheaper than each by itself."""
        for request, completions in self.arrived:
            for sample, completion in enumerate(completions, start=request.first):
                trial = make_trial(request.group, self.job.strategy, sample, completion)
                self.rows.append(trial_row(request, trial))
                self.progress.read(trial)
        self.arrived.clear()
        if len(self.rows) >= _FOLDED:  # columns take far less memory than rows
            self.folded.append(trials_frame(self.rows))
            self.rows = []

    async def _beat(self, journal: Journal) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            self._report(await asyncio.to_thread(journal.sync))
            if self.store.read(STOP) is not None:
                self.stop.set()

    async def _heed_stop(self, workers: list[asyncio.Task[None]]) -> None:
        """Once asked to stop, wait for what is in flight, and for nothing else."""
        await self.stop.wait()
        waited = 0.0
        while self.progress.in_flight > 0 and waited < self.job.grace:
            await asyncio.sleep(0.05)
            waited += 0.05
        for task in workers:
            task.cancel()

    def _report(self, safe: Mark, *, released: bool = False) -> None:
        self._read_arrived()
        self.lease.beat(safe, released=released, progress=self.progress.facts())

    # — finishing —

    def trials(self) -> pl.DataFrame:
        """Put together the trials that have arrived."""
        self._read_arrived()
        return in_order([*self.folded, trials_frame(self.rows)])

    def _finish(self, requests: list[Request], past: JournalState) -> dict[str, Any]:
        crash_points.reached("tables begun")
        run = self.job.manifest.run
        counts = write_finished(self.store, self.shard, run, requests, self.trials(), past)
        self.lease.forget()
        crash_points.reached("shard finished")
        return counts


async def _all(workers: list[asyncio.Task[None]], watching: list[asyncio.Task[None]]) -> None:
    """Wait for all workers; the first failure, of a worker or of the disk, ends the wait."""
    left = set(workers)
    while left:
        done, _ = await asyncio.wait(left | set(watching), return_when=asyncio.FIRST_COMPLETED)
        left -= done
        watching = [task for task in watching if task not in done]
        for task in done:
            if not task.cancelled():
                task.result()


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
