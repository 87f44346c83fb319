"""One run of requests, from groups to a finished table: what every verb that asks shares."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import file_digest
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from novarag.errors import ServiceError, Unfinished, UsageError
from novarag.flows.events import Note, Notice, RunBegun, RunEnded, RunProgress, silent
from novarag.flows.looping import Stop
from novarag.records import PassageGroup
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from novarag.calls import Sampling
    from novarag.config.asking import Replies
    from novarag.flows.access import ModelAccess
    from novarag.flows.events import Tell
    from novarag.ports import Asking
    from novarag.runs import Board, Job, Manifest, Run, Settings, ShardResult, Store
    from novarag.strategies import Strategy
    from novarag.strategies.follow_up import FollowUp
    from novarag.web.holding import Holding

    Groups = str | Path | Iterable[PassageGroup]

_FREE = "its server does not hold replies to their form: they were asked for freely"
_LONGEST_CAUSE = 400  # characters
_EVERY = 0.2  # seconds between two reports of progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where groups come from: read twice, known by its hash."""

    groups: Callable[[], Iterable[PassageGroup]]
    name: str
    hash: str


def source_of(groups: Groups) -> Source:
    """Take groups from a file, or as they are."""
    from novarag.datasets import iter_groups

    if isinstance(groups, (str, Path)):
        path = Path(groups)
        return Source(groups=partial(iter_groups, path), name=path.name, hash=hash_of(path))
    held = [checked(group) for group in groups]
    return Source(groups=partial(iter, held), name="groups", hash="")


def checked(group: object) -> PassageGroup:
    """Return what is a group, or say what was expected."""
    if not isinstance(group, PassageGroup):
        raise TypeError(
            "groups must be the path of a file, or PassageGroup objects, not"
            f" {type(group).__name__}"
        )
    return group


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file that must be there."""
    from novarag.answers.opening.files import existing

    with existing(path).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def settings_of(
    replies: Replies,
    asking: Strategy | FollowUp,
    model: str,
    sampling: Sampling,
    *,
    k: int | None = None,
    name: str | None = None,
) -> Settings:
    """Say what a run asks: `sampling` as the run needs it, the rest as `replies` has it.

    Structured replies are held to the form of the strategy, for groups of `k` passages. `name` is
    what the asking was imported by, if it was.
    """
    from novarag.runs import Settings
    from novarag.strategies import Strategy

    form = None
    if replies.structured and isinstance(asking, Strategy) and k is not None:
        form = asking.pattern(k, step_length=replies.step_length)
    return Settings(
        strategy=name or asking.name,
        template_hash=asking.template.hash,
        model=model,
        samples=sampling.n,
        per_request=replies.per_request,
        shard_size=replies.shard_size,
        sampling=replace(
            sampling,
            n=1,
            top_p=replies.top_p,
            seed=replies.seed,
            max_tokens=sampling.max_tokens or replies.max_tokens,
            regex=form,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What came of a run's requests, as far as they went."""

    place: str
    requests: int
    answered: int
    fresh: int  # settled now, not before
    dead: int
    trials: int
    unread: int
    prompt_tokens: int
    completion_tokens: int
    stopped: bool

    @property
    def finished(self) -> bool:
        """Say whether nothing is left to ask."""
        return self.answered + self.dead >= self.requests


def is_structured(
    wanted: bool | None, asking: Asking, model: ModelAccess, *places: Store, usual: bool = True
) -> bool:
    """Say whether replies are to be held to their form, where the server can.

    Where nobody says what is `wanted`, runs go on as they were begun, and new ones are held if
    that is `usual` and the model is behind a server. Replies of some strategies have no form.
    """
    from novarag.strategies.reply_form import has_form

    if wanted and not has_form(asking):
        raise UsageError(f"replies of {asking.name!r} have no form that they could be held to")
    if wanted is not None:
        return wanted
    begun = next((m for m in map(_begun, places) if m is not None), None)
    if begun is not None:
        return begun.settings.structured
    return usual and has_form(asking) and model.holding is not None


def _begun(store: Store) -> Manifest | None:
    from novarag.runs import DamagedManifest, read_manifest

    try:
        return read_manifest(store)
    except DamagedManifest:  # planning says so, and writes it anew
        return None


async def check_server(model: ModelAccess, *places: Store) -> None:
    """See that the server is there and has the model, unless the runs have nothing left to ask."""
    from novarag.runs import is_finished

    if not model.simulated and not all(is_finished(store) for store in places):
        await model.check()


def plan_job(
    asking: Asking,
    source: Source,
    settings: Settings,
    store: Store,
    model: ModelAccess,
    *,
    on_event: Tell = silent,
) -> Job:
    """Plan the run, or find it begun."""
    from novarag.runs import Job, plan

    access = model.access
    if access.group_readable:
        store.open_to_group()
    manifest = plan(
        store, source.groups, settings, name=source.name, source_hash=source.hash,
        on_event=lambda line: on_event(Notice(line)),
    )  # fmt: skip
    return Job(
        store=store, manifest=manifest, strategy=asking,
        concurrency=access.concurrency * model.replicas, revive=access.retry_failed,
        grace=access.timeout, holding=_holding(manifest, model),
    )  # fmt: skip


def _holding(manifest: Manifest, model: ModelAccess) -> Holding:
    """Take what is known of the server; what an earlier call of the same run found is known."""
    from novarag.web.holding import Holding

    known = model.holding or Holding()
    if known.can is None and manifest.holds is not None:
        known.found(manifest.holds)
    return known


async def run_job(
    job: Job, model: ModelAccess, *, on_event: Tell = silent, stop: Stop | None = None
) -> RunSummary:
    """Drive a run to its end, or as far as it goes."""
    from novarag.runs import Board, Driver, drive, unfinished

    left = unfinished(job.store, job.manifest)
    on_event(RunBegun(job.manifest, len(job.manifest.parts) - len(left)))
    board, halt = Board(), (stop or Stop()).event()
    async with _reporting(board, job.manifest, on_event):
        results = await drive(
            job, model.connector(_groups(job) if model.simulated else ()), board=board, stop=halt,
            driver=Driver(model.access.driver), address=model.access.ray_address,
        )  # fmt: skip
    if job.manifest.settings.structured and _is_free(job):
        on_event(Note(f"{model.name}: {_FREE}"))
    summary = _sum_up(job, results, board, on_event, stopped=halt.is_set())
    on_event(RunEnded(summary))
    return summary


def _is_free(job: Job) -> bool:
    """Say whether a server was found not to hold replies, by this process or by another."""
    known = _begun(job.store)
    return known is not None and known.holds is False


def settled_run(job: Job, summary: RunSummary) -> Run:
    """Open the run of a step that others build on.

    `Unfinished` where something is left to ask, `ServiceError` with its cause where nothing was
    answered: whatever came next would blame something else.
    """
    from novarag.runs import Memory, open_run

    if not summary.finished:
        raise Unfinished(job.store.place, stopped=summary.stopped)
    run = open_run(job.store)
    if all_failed(summary):
        kept = f"; `summarise({run.place!r})` lists them, and `retry_failed` asks them again"
        gone = isinstance(job.store, Memory)
        raise ServiceError(f"{cause_of(run)}{'' if gone else kept}", retryable=False)
    return run


def all_failed(summary: RunSummary) -> bool:
    """Say whether every request of a run was given up."""
    return summary.dead >= summary.requests


def cause_of(run: Run) -> str:
    """Say why the requests of a run failed, by what most of them have in common."""
    counts = Counter(run.dead_table.select("outcome", "detail").iter_rows())
    (outcome, detail), most = counts.most_common(1)[0]
    who = "every one of " if counts.total() == run.manifest.requests else ""
    named = "" if most == counts.total() else f", {most:,} of them by"
    why = plain_text(detail, longest=_LONGEST_CAUSE)
    return f"{who}{counts.total():,} requests failed{named}: {outcome}: {why}"


def _groups(job: Job) -> Iterable[PassageGroup]:
    """Read what the run asks, for a respondent that must know it."""
    from novarag.runs import open_run

    return open_run(job.store).groups()


@asynccontextmanager
async def _reporting(board: Board, manifest: Manifest, on_event: Tell) -> AsyncIterator[None]:
    """Tell how far a run is while it runs."""
    began = monotonic()

    async def report() -> None:
        while True:
            await asyncio.sleep(_EVERY)
            on_event(RunProgress(board.total(), manifest.requests, monotonic() - began))

    if on_event is silent:
        yield
        return
    task = asyncio.create_task(report())
    try:
        yield
    finally:
        task.cancel()


def _sum_up(
    job: Job, results: list[ShardResult], board: Board, on_event: Tell, *, stopped: bool
) -> RunSummary:
    for result in results:
        for line in result.damage:
            on_event(Notice(line))
    now = board.total()
    return RunSummary(
        place=job.store.place,
        requests=job.manifest.requests,
        answered=now.answered_requests,
        fresh=now.settled - now.before,
        dead=now.dead_requests,
        trials=now.trials,
        unread=now.unread,
        prompt_tokens=now.prompt_tokens,
        completion_tokens=now.completion_tokens,
        stopped=stopped,
    )
