"""`Runner`: from groups to a finished run, as every verb that asks takes it."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from novarag.calls import read_detail
from novarag.errors import ServiceError, UnfinishedError, UsageError
from novarag.prose import Prose, say
from novarag.runner.events import (
    Note,
    Notice,
    RunBegun,
    RunEnded,
    RunListener,
    RunProgress,
    RunSummary,
    silent,
)
from novarag.runner.sources import GroupSource, source_of
from novarag.runner.stop import Stop
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from novarag.ports import Asking
    from novarag.runner.access import ModelAccess
    from novarag.runner.asking import AskingMode, SamplingPlan
    from novarag.runner.sources import Groups
    from novarag.runs import Job, Manifest, Memory, ProgressBoard, Run, Store
    from novarag.web.form_support import FormSupport

_FREE = "its server does not hold replies to their form: they were asked for freely"
_LONGEST_CAUSE = 400  # characters
_EVERY = 0.2  # seconds between two reports of progress


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttempt:
    """A run as far as one call brought it, and what that call counted."""

    run: Run
    summary: RunSummary

    def settled_run(self) -> Run:
        """Return the run; `UnfinishedError` where something is left, or a stop was asked for."""
        if not self.summary.finished:
            raise UnfinishedError(self.run.place, stopped=self.summary.stopped)
        return self.run

    def answered_run(self) -> Run:
        """Return the settled run; `ServiceError` with its cause where nothing was answered.

        Whatever came next would blame something else.
        """
        from novarag.runs import Memory

        run = self.settled_run()
        if self.summary.all_failed:
            cause = cause_of(run)
            if not isinstance(run.store, Memory):
                cause = say(
                    "{}; `summarise({})` lists them, and `retry_failed` asks them again",
                    cause,
                    run.place,
                )
            raise ServiceError(cause, retryable=False)
        return run


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A model, and a folder in which its replies are asked for once.

    A `folder` is a path or an address such as `s3://...`; runs stand in it, or at a `place` inside.
    Without one they are kept in memory, for as long as there is the runner.
    """

    model: ModelAccess
    folder: str | Path | None = None
    on_event: RunListener = silent
    stop: Stop = field(default_factory=Stop)
    _memory: dict[str, Memory] = field(default_factory=dict)

    async def ask(
        self, groups: Groups | GroupSource, mode: AskingMode, *, place: str = "",
        samples: SamplingPlan,
    ) -> Run:  # fmt: skip
        """Ask about every group, or find it asked, and return the finished run.

        Args:
            groups: A file, `PassageGroup` objects, or a source of them.
            mode: What is asked, and how replies are read.
            place: Where in the folder the run is kept; the folder itself where it is empty.
            samples: How many replies are sampled, and how.
        """
        return (await self.attempt(groups, mode, place=place, samples=samples)).answered_run()

    async def attempt(
        self, groups: Groups | GroupSource, mode: AskingMode, *, place: str = "",
        samples: SamplingPlan,
    ) -> RunAttempt:  # fmt: skip
        """Ask as `ask` does, and return the run as far as it went, for a story that shows it.

        Args:
            groups: A file, `PassageGroup` objects, or a source of them.
            mode: What is asked, and how replies are read.
            place: Where in the folder the run is kept; the folder itself where it is empty.
            samples: How many replies are sampled, and how.
        """
        from novarag.runs import Job, frame_secret, open_run, plan
        from novarag.strategies.frames import fresh_secret

        source = groups if isinstance(groups, GroupSource) else source_of(groups)
        settings, store, access = (
            mode.settings(samples, model=self.model.name), self.store(place), self.model.access
        )  # fmt: skip
        await self.check(place)  # a wrong address must not leave a folder behind
        if mode.frame:
            settings = replace(settings, frame=frame_secret(store, fresh_secret))
        if access.group_readable:
            store.open_to_group()
        manifest = plan(
            store, source.groups, settings, name=source.name, source_hash=source.hash,
            on_event=self._notice,
        )  # fmt: skip
        job = Job(
            store=store, manifest=manifest, strategy=mode.framed(settings.frame),
            concurrency=access.concurrency * self.model.replicas, revive=access.retry_failed,
            grace=access.timeout, holding=self._holding(manifest),
        )  # fmt: skip
        summary = await self._drive(job)
        return RunAttempt(run=open_run(store), summary=summary)

    # — places —

    def store(self, place: str = "") -> Store:
        """Open the place of a run."""
        from novarag.runs import Memory, open_store

        if self.folder is None:
            return self._memory.setdefault(place, Memory())
        if isinstance(self.folder, Path):
            return open_store(self.folder / place)
        return open_store(f"{self.folder}/{place}" if place else self.folder)

    async def check(self, *places: str) -> None:
        """See that the server is there and has the model, unless the runs have nothing left to ask.

        Args:
            places: Where in the folder the runs are kept.
        """
        from novarag.runs import is_finished

        if not self.model.simulated and not all(is_finished(self.store(p)) for p in places):
            await self.model.check()

    def is_structured(
        self, wanted: bool | None, asking: Asking, *places: str, usual: bool = True
    ) -> bool:
        """Say whether replies are to be held to their form, where the server can.

        Where nobody says what is `wanted`, runs go on as they were begun, and new ones are held if
        that is `usual` and the model is behind a server. Replies of some strategies have no form.

        Args:
            wanted: What the caller said, if anything.
            asking: What is asked.
            places: Where in the folder the runs are kept.
            usual: Whether new runs are held.
        """
        from novarag.strategies.reply_form import has_form

        if wanted and not has_form(asking):
            raise UsageError(f"replies of {asking.name!r} have no form that they could be held to")
        if wanted is not None:
            return wanted
        begun = next((m for m in map(_begun, map(self.store, places)) if m is not None), None)
        if begun is not None:
            return begun.settings.structured
        return usual and has_form(asking) and self.model.holding is not None

    # — one run —

    def _notice(self, line: str) -> None:
        self.on_event(Notice(line))

    def _holding(self, manifest: Manifest) -> FormSupport:
        """Take what is known of the server; what an earlier call of the same run found is known."""
        from novarag.web.form_support import FormSupport

        known = self.model.holding or FormSupport()
        if known.can is None and manifest.holds is not None:
            known.found(manifest.holds)
        return known

    async def _drive(self, job: Job) -> RunSummary:
        """Drive a run to its end, or as far as it goes."""
        from novarag.runs import Driver, ProgressBoard, drive, open_run, unfinished

        model, manifest = self.model, job.manifest
        left = unfinished(job.store, manifest)
        self.on_event(RunBegun(manifest, len(manifest.parts) - len(left)))
        board, known = ProgressBoard(), open_run(job.store).groups() if model.simulated else ()
        async with self._reporting(board, manifest):
            results = await drive(
                job, model.connector(known), board=board, stop=self.stop.event(),
                driver=Driver(model.access.driver), address=model.access.ray_address,
            )  # fmt: skip
        if manifest.settings.structured and (now := _begun(job.store)) and now.holds is False:
            self.on_event(Note(f"{model.name}: {_FREE}"))
        for line in [line for result in results for line in result.damage]:
            self._notice(line)
        summary = _sum_up(job, board, stopped=self.stop.is_set())
        self.on_event(RunEnded(summary))
        return summary

    @asynccontextmanager
    async def _reporting(self, board: ProgressBoard, manifest: Manifest) -> AsyncIterator[None]:
        """Tell how far a run is while it runs."""
        began = monotonic()

        async def report() -> None:
            while True:
                await asyncio.sleep(_EVERY)
                seconds = monotonic() - began
                self.on_event(RunProgress(board.total(), manifest.requests, seconds))

        if self.on_event is silent:
            yield
            return
        task = asyncio.create_task(report())
        try:
            yield
        finally:
            task.cancel()


def cause_of(run: Run) -> Prose:
    """Say why the requests of a run failed, by what most of them have in common."""
    counts = Counter(run.dead_table.select("outcome", "detail").iter_rows())
    (outcome, detail), most = counts.most_common(1)[0]
    who = "every one of " if counts.total() == run.manifest.requests else ""
    named = "" if most == counts.total() else f", {most:,} of them by"
    why = read_detail(plain_text(detail, longest=_LONGEST_CAUSE))
    return Prose(f"{who}{counts.total():,} requests failed{named}: {outcome}: ", why)


def _begun(store: Store) -> Manifest | None:
    """Read the manifest of a run that was begun; planning speaks up about a damaged one."""
    from novarag.runs import DamagedManifest, read_manifest

    try:
        return read_manifest(store)
    except DamagedManifest:
        return None


def _sum_up(job: Job, board: ProgressBoard, *, stopped: bool) -> RunSummary:
    now = board.total()
    return RunSummary(
        place=job.store.place, requests=job.manifest.requests, answered=now.answered_requests,
        fresh=now.settled - now.before, dead=now.dead_requests, trials=now.trials,
        unread=now.unread, prompt_tokens=now.prompt_tokens,
        completion_tokens=now.completion_tokens, stopped=stopped,
    )  # fmt: skip
