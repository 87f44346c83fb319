"""What is done with a run that is there: sum it up, mend it, read its replies again."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.flows.events import Notice, PartsProgress, silent
from novarag.flows.sync import synchronous

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars import DataFrame

    from novarag.flows.events import EventListener
    from novarag.flows.reread import RereadCounts
    from novarag.flows.sources import RunPlace
    from novarag.ports import Asking
    from novarag.runs import Manifest, Run, Summary
    from novarag.strategies import Strategy
    from novarag.strategies.follow_up import FollowUp


def summarise(
    run: RunPlace, *, strategy: str | Strategy | None = None, on_event: EventListener = silent
) -> Summary:
    """Sum a run up: counts, failures with their reasons, what is left, who is at work.

    Args:
        run: The folder of a run, its address (such as s3://BUCKET/RUN), or a `Run`.
        strategy: The strategy that the run was made with, as a name or an object. It is needed only
            for one of your own, as a folder from elsewhere does not choose what is imported.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.runs import summarize

    found = _open(run)
    seen = summarize(found.store, strategy_of(found.manifest, strategy))
    for line in seen.damage:
        on_event(Notice(line))
    return seen


def iter_trial_tables(
    run: RunPlace, *, strategy: str | Strategy | None = None, on_event: EventListener = silent
) -> Iterator[DataFrame]:
    """Yield the trials of a run as tables, shard by shard, finished or not.

    Args:
        run: The folder of a run, its address (such as s3://BUCKET/RUN), or a `Run`.
        strategy: The strategy that the run was made with, as a name or an object. It is needed only
            for one of your own, as a folder from elsewhere does not choose what is imported.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.runs import Job, trial_tables

    found = _open(run)
    asking = strategy_of(found.manifest, strategy)
    job = Job(store=found.store, manifest=found.manifest, strategy=asking)
    return trial_tables(job, lambda line: on_event(Notice(line)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What was found damaged in a run, and what is left to ask."""

    shards: int
    finished: int
    pending: int
    damage: tuple[str, ...] = field(default=())


async def recover_async(run: RunPlace, *, strategy: str | Strategy | None = None) -> Recovery:
    """Check every file of a run, mend what its journals can mend, and say what is left to ask.

    Args:
        run: The folder of a run, its address (such as s3://BUCKET/RUN), or a `Run`.
        strategy: The strategy that the run was made with, as a name or an object. It is needed only
            for one of your own, as a folder from elsewhere does not choose what is imported.
    """
    from novarag.runs import Job, settle

    found = _open(run)
    asking = strategy_of(found.manifest, strategy)
    job = Job(store=found.store, manifest=found.manifest, strategy=asking)
    results = await settle(job)
    return Recovery(
        shards=len(results),
        finished=sum(result.finished for result in results),
        pending=sum(result.counts.get("pending", 0) for result in results),
        damage=tuple(line for result in results for line in result.damage),
    )


recover = synchronous(recover_async)


def reread(
    run: RunPlace,
    *,
    workers: int | None = None,
    strategy: str | Strategy | None = None,
    on_event: EventListener = silent,
) -> RereadCounts:
    """Read and grade every stored reply again, after the reader has changed. Nothing is asked.

    Args:
        run: The folder of a run, its address (such as s3://BUCKET/RUN), or a `Run`.
        workers: The number of processes that share the shards; None takes one for each core.
        strategy: The strategy that the run was made with, as a name or an object. It is needed only
            for one of your own, as a folder from elsewhere does not choose what is imported.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
    """
    from novarag.flows.reread import reread_run

    found = _open(run)
    asking = strategy_of(found.manifest, strategy)
    if found.settings.noise is not None:
        raise UsageError.saying(
            "{} is a run of noise: the same `make_noise(...)` reads it", found.place
        )
    total, done = len(found.finished), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        on_event(PartsProgress("reading again", done, total))

    return reread_run(found, asking, workers=workers or os.cpu_count() or 1, on_event=advance)


def _open(run: RunPlace) -> Run:
    from novarag.runs import Run, open_run

    return run if isinstance(run, Run) else open_run(run)


def strategy_of(manifest: Manifest, given: str | Strategy | None) -> Asking:
    """Find what asked the run; a folder from elsewhere does not choose what we import."""
    from novarag.llm.application import PREFIX
    from novarag.strategies import find_strategy
    from novarag.strategies.follow_up import FOLLOW_UPS, FollowUp

    name, noise = manifest.settings.strategy, manifest.settings.noise
    if noise is not None:
        if noise.fingerprint != manifest.settings.template_hash:
            raise UsageError("the prompts for noise are no longer those this run was made with")
        return noise
    if name.startswith(PREFIX):
        return _application(manifest, given)
    found: Strategy | FollowUp
    if given is not None and not isinstance(given, str):
        found = given
    elif ":" in name and given != name:
        raise UsageError.saying(
            "this run was made with {!r}; to import that, add `strategy={}`", name, name
        )
    else:
        found = FOLLOW_UPS.get(name) or find_strategy(name)
    if found.template.hash != manifest.settings.template_hash:
        raise UsageError(f"the prompt of {name!r} is no longer the one this run was made with")
    secret = manifest.settings.frame
    return found.framed(secret) if secret and not isinstance(found, FollowUp) else found


def _application(manifest: Manifest, given: str | Strategy | None) -> Asking:
    """Find what an application was asked with, by the strategy that reads its texts."""
    from novarag.llm.application import PREFIX, Application
    from novarag.strategies import find_strategy

    name = manifest.settings.strategy.removeprefix(PREFIX)
    if ":" in name and given is None:
        raise UsageError.saying(
            "this run was made with {!r}; to import that, add `strategy={}`", name, name
        )
    found = Application(find_strategy(name if given is None else given))
    if found.fingerprint != manifest.settings.template_hash:
        raise UsageError(f"the prompt of {name!r} is no longer the one this run was made with")
    return found
