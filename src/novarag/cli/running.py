"""What the verbs that ask a model share: reaching it, driving the shards, summing up."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from hashlib import file_digest
from typing import TYPE_CHECKING, Any

from novarag.cli.models import SIMULATED, connector, is_simulated, model_name
from novarag.cli.screen import Price, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from novarag.calls import Sampling
    from novarag.config.asking import Endpoints, Replies
    from novarag.ports import LLM, Asking
    from novarag.records import PassageGroup
    from novarag.runs.manifest import Manifest, Settings
    from novarag.runs.progress import Board
    from novarag.runs.shard import Job, ShardResult
    from novarag.strategies import Strategy
    from novarag.strategies.follow_up import FollowUp

    AnyLLM = AbstractAsyncContextManager[LLM]


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """How a model is reached and its shards are run; none of it decides what is asked."""

    models: Sequence[str]
    key_env: str | None = None
    concurrency: int = 64
    timeout: float = 600.0
    attempts: int = 8
    driver: str = "local"
    ray_address: str | None = None
    price: Price | None = None
    retry_failed: bool = False

    def connector(self, groups: Iterable[PassageGroup] = ()) -> Callable[[], AnyLLM]:
        """Return what opens the model; a simulated respondent must know the groups."""
        from novarag.web.sending import Patience

        if is_simulated(self.models):
            from novarag.llm.simulated import find_respondent, open_simulated

            name = find_respondent(self.models[0].removeprefix(SIMULATED)).name
            return partial(open_simulated, name, list(groups))
        patience = Patience(
            concurrency=self.concurrency, timeout=self.timeout, attempts=self.attempts
        )
        return connector(self.models, self.key_env, patience)


def means_of(told: Endpoints, **how: Any) -> Means:  # noqa: ANN401 - fields of `Means`
    """Reach the model that a pipeline or an experiment names."""
    return Means(
        models=told.endpoints, key_env=told.key_env, concurrency=told.concurrency,
        timeout=told.timeout, attempts=told.attempts, **how,
    )  # fmt: skip


def settings_of(
    told: Replies,
    asking: Strategy | FollowUp,
    means: Means,
    sampling: Sampling,
    *,
    k: int | None = None,
    name: str | None = None,
) -> Settings:
    """Say what a run asks: `sampling` as the run needs it, the rest as `told`.

    Structured replies are held to the form of the strategy, for groups of `k` passages. `name` is
    what the asking was imported by, if it was.
    """
    from novarag.runs import Settings

    return Settings(
        strategy=name or asking.name,
        template_hash=asking.template.hash,
        model=model_name(means.models),
        samples=sampling.n,
        per_request=told.per_request,
        shard_size=told.shard_size,
        sampling=replace(
            sampling,
            n=1,
            top_p=told.top_p,
            seed=told.seed,
            max_tokens=sampling.max_tokens or told.max_tokens,
            regex=_form(asking, told, k),
        ),
    )


def _form(asking: Strategy | FollowUp, told: Replies, k: int | None) -> str | None:
    """Return the pattern that replies are held to, if they are to be."""
    from novarag.strategies import Strategy

    if not told.structured or k is None or not isinstance(asking, Strategy):
        return None
    return asking.pattern(k, step_length=told.step_length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where groups come from: read twice, known by its hash."""

    groups: Callable[[], Iterable[PassageGroup]]
    name: str
    hash: str


def begin(asking: Asking, source: Source, settings: Settings, out: str, means: Means) -> Job:
    """Check the server, and plan the run or find it begun."""
    check_server(means, out)  # before planning: a wrong address must not leave a folder behind
    return prepare(asking, source, settings, out, means)


def prepare(asking: Asking, source: Source, settings: Settings, out: str, means: Means) -> Job:
    """Plan the run, or find it begun."""
    from novarag.runs import Job, open_store, plan

    store = open_store(out)
    manifest = plan(
        store, source.groups, settings, name=source.name, source_hash=source.hash, tell=notice
    )
    return Job(
        store=store, manifest=manifest, strategy=asking,
        concurrency=means.concurrency * len(means.models), revive=means.retry_failed,
        grace=means.timeout,
    )  # fmt: skip


def check_server(means: Means, *out: str) -> None:
    """See that the server is there and has the model, unless the runs have nothing left to ask."""
    from novarag.runs import is_finished, open_store

    connect = means.connector()
    if not is_simulated(means.models) and not all(is_finished(open_store(o)) for o in out):
        asyncio.run(_check(connect))


async def _check(connect: Callable[[], AnyLLM]) -> None:
    async with connect() as llm:
        if hasattr(llm, "check"):
            await llm.check()


def notice(line: str) -> None:
    """Tell of something amiss that was noticed and mended."""
    print(f"found: {line}", file=sys.stderr)


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file that must be there."""
    from novarag.datasets.files import existing

    with existing(path).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def walk(steps: Sequence[Callable[[], int]]) -> None:
    """Take steps one after the other, each under its name; the first that fails is the last."""
    for number, step in enumerate(steps, start=1):
        sys.stdout.flush()
        print(f"\n[{number}/{len(steps)}] {step.__name__}", file=sys.stderr)
        code = step()
        if code:
            sys.exit(code)


@dataclass(slots=True)
class Task:
    """One run, from the first line on the screen to the last."""

    job: Job
    means: Means
    alone: bool = True  # a pipeline knows itself what is next
    quiet: bool = False  # say nothing as long as nothing fails

    async def run(self, stop: asyncio.Event | None = None) -> int:
        """Drive the run to its end, or as far as it goes; return the exit code.

        Without `stop` an interrupt stops this run; with it, whoever holds it stops several.
        """
        from novarag.runs import Board, Driver, drive, ease_collector, unfinished

        manifest, store = self.job.manifest, self.job.store
        left = unfinished(store, manifest)
        ease_collector()
        board, stop = Board(), stop or stopped_by_signals()
        if not self.quiet:
            self._greet(manifest, len(left))
        screen = shown(board, manifest.requests, self.means.price)
        async with nullcontext() if self.quiet else screen:
            outlooks = await drive(
                self.job, self.means.connector(self._groups()), board=board, stop=stop,
                driver=Driver(self.means.driver), address=self.means.ray_address,
            )  # fmt: skip
        return self._sum_up(outlooks, board, stopped=stop.is_set())

    def _groups(self) -> Iterable[PassageGroup]:
        """Read what the run asks, for a respondent that must know it."""
        from novarag.runs import Run

        return Run(self.job.store, self.job.manifest).groups()

    def _greet(self, manifest: Manifest, left: int) -> None:
        settings = manifest.settings
        said = f"{manifest.questions:,} questions, {manifest.trials:,} trials"
        extra = f", {manifest.repeated:,} repeated rows asked once" if manifest.repeated else ""
        done = len(manifest.parts) - left
        resumed = f"; {done:,} of {len(manifest.parts):,} shards are finished" if done else ""
        warm = f" at T={settings.sampling.temperature:g}" if settings.sampling.temperature else ""
        who = f"{settings.model}, {settings.strategy}{warm}"
        print(f"{who}: {said}{extra}{resumed}", file=sys.stderr)

    def _sum_up(self, outlooks: list[ShardResult], board: Board, *, stopped: bool) -> int:
        place, now = self.job.store.place, board.total()
        for outlook in outlooks:
            for line in outlook.damage:
                notice(line)
        total = self.job.manifest.requests
        if self.quiet and now.settled == total and not now.dead_requests:
            return 0
        fresh = now.settled - now.before
        print(
            f"{now.answered_requests:,} of {total:,} requests answered ({fresh:,} asked now),"
            f" {now.dead_requests:,} failed; {now.trials:,} trials, {now.unread:,} unread"
        )
        spent = f"{now.prompt_tokens:,} prompt and {now.completion_tokens:,} reply tokens"
        price = self.means.price
        money = price.of(now.prompt_tokens, now.completion_tokens) if price else None
        print(spent + (f", about {money:,.2f}" if money is not None else ""))
        if now.dead_requests:
            again = "add --retry-failed to ask them again"
            print(f"{now.dead_requests:,} failed: `novarag show {place}` says why; {again}")
        if now.settled < total:
            why = "stopped" if stopped else "unfinished"
            print(f"{why}: run the same command to go on, or `novarag show {place}`")
            return 130 if stopped else 1
        if not self.alone:
            return 1 if now.dead_requests else 0
        then = "" if "://" in place else f", then novarag measure {place}"
        many = (
            f", or novarag filter {place} --out kept" if then and now.trials > now.settled else ""
        )
        print(f"next: novarag show {place}{then}{many}")
        return 1 if now.dead_requests else 0


def stopped_by_signals() -> asyncio.Event:
    """Return what an interrupt sets; a second one leaves at once."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, _interrupt, stop)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    return stop


def _interrupt(stop: asyncio.Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt
    print("\nfinishing what is in flight; Ctrl-C again to leave at once", file=sys.stderr)
    stop.set()
