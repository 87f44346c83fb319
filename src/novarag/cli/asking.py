"""The verb that asks many questions."""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from novarag.cli.common import StrategyName, find_strategy
from novarag.cli.models import (
    KeyEnv,
    MaxTokens,
    Models,
    Seed,
    Temperature,
    Timeout,
    connector,
    model_name,
)
from novarag.cli.screen import Price, parse_price, shown
from novarag.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from novarag.llm.chat import ChatLLM
    from novarag.runs.manifest import Manifest, Settings
    from novarag.runs.progress import Board
    from novarag.runs.shard import Job, Outlook
    from novarag.strategies import Strategy

_GUESSED_REPLY = 400  # tokens of a reply, for an estimate before there are any


def ask(
    groups: Annotated[
        Path, typer.Argument(help="Questions with their passages: JSONL, Parquet or CSV.")
    ],
    model: Models,
    out: Annotated[
        str,
        typer.Option(help="Folder of the run, or s3://…; one that was begun goes on."),
    ],
    strategy: StrategyName = "nova",
    samples: Annotated[int, typer.Option("--samples", "-n", min=1, help="Samples a group.")] = 1,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    top_p: Annotated[float | None, typer.Option(min=0, max=1, help="Nucleus sampling.")] = None,
    seed: Seed = None,
    stop: Annotated[
        list[str] | None, typer.Option(help="Text that ends a reply; may be repeated.")
    ] = None,
    logprobs: Annotated[
        bool, typer.Option("--logprobs", help="Keep the log-probability of each token.")
    ] = False,
    schema: Annotated[
        Path | None, typer.Option(help="JSON Schema that replies must follow.")
    ] = None,
    regex: Annotated[
        str | None, typer.Option(help="Pattern that replies must follow; vLLM has it.")
    ] = None,
    per_request: Annotated[
        int | None,
        typer.Option(min=1, help="Samples in one request; default all. 1 where n is ignored."),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="Revision of the model, for the record.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Most requests in flight per endpoint and worker.")
    ] = 64,
    timeout: Timeout = 600.0,
    attempts: Annotated[int, typer.Option(min=1, help="Attempts before giving up.")] = 8,
    key_env: KeyEnv = None,
    price: Annotated[
        str | None, typer.Option(help="IN:OUT, money per million tokens, for estimates.")
    ] = None,
    driver: Annotated[
        Literal["local", "ray"], typer.Option(help="What runs the shards: this process, or Ray.")
    ] = "local",
    ray_address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster; default: start one here.")
    ] = None,
    shard_size: Annotated[int, typer.Option(min=1, help="Questions in a shard.")] = 1000,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what was given up before.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Ask nothing; print counts, one prompt and an estimate."),
    ] = False,
) -> None:
    """Ask a model every group of a file; killed at any instant, the same command goes on."""
    from functools import partial

    from novarag.calls import Sampling
    from novarag.datasets import iter_groups
    from novarag.llm.chat import Patience
    from novarag.runs import Driver, Job, Settings, is_finished, open_store, plan

    found = find_strategy(strategy)
    sampling = Sampling(
        temperature=(0.0 if samples == 1 else 1.0) if temperature is None else temperature,
        top_p=top_p, max_tokens=max_tokens, seed=seed, stop=tuple(stop or ()), logprobs=logprobs,
        schema=_schema(schema), regex=regex,
    )  # fmt: skip
    settings = Settings(
        strategy=strategy, template_hash=found.template.hash, model=model_name(model),
        revision=revision, samples=samples, per_request=per_request, sampling=sampling,
        shard_size=shard_size,
    )  # fmt: skip
    patience = Patience(concurrency=concurrency, timeout=timeout, attempts=attempts)
    connect = connector(model, key_env, patience)
    cost = parse_price(price)
    if dry_run:
        _estimate(groups, found, settings, cost)
        return
    store = open_store(out)
    if not is_finished(store):  # before planning: a wrong address must not leave a folder behind
        asyncio.run(_check(connect))
    manifest = plan(
        store, partial(iter_groups, groups), settings, name=groups.name, source_hash=_hash(groups),
        tell=_found,
    )  # fmt: skip
    job = Job(
        store=store, manifest=manifest, strategy=found, concurrency=concurrency * len(model),
        revive=retry_failed, grace=timeout,
    )  # fmt: skip
    task = _Task(job, connect, Driver(driver), ray_address, cost)
    sys.exit(asyncio.run(task.run()))


async def _check(connect: Callable[[], ChatLLM]) -> None:
    async with connect() as llm:
        await llm.check()


def _found(line: str) -> None:
    print(f"found: {line}", file=sys.stderr)


def _schema(path: Path | None) -> str | None:
    from novarag.datasets.files import existing
    from novarag.llm.wire import parse_schema

    if path is None:
        return None
    text = existing(path).read_bytes().decode("utf-8", errors="replace")
    parse_schema(text)
    return text


def _hash(path: Path) -> str:
    from novarag.datasets.files import existing

    with existing(path).open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _estimate(path: Path, strategy: Strategy, settings: Settings, price: Price | None) -> None:
    from novarag.datasets import iter_groups
    from novarag.runs.manifest import requests_hold

    count, characters, first = 0, 0, None
    graded = labelled = 0
    questions = set()
    for group in iter_groups(path):
        text = strategy.render(group).text
        first = text if first is None else first
        count += 1
        characters += len(text)
        questions.add(hash(group.question.id))
        graded += bool(group.question.answers)
        labelled += group.kind is not None
    if first is None:
        raise DataError("there are no groups.", mend="give a file with rows.", source=str(path))
    waves = -(-settings.samples // requests_hold(settings))
    prompt = characters / 4 * waves
    longest = settings.sampling.max_tokens
    reply = count * settings.samples * min(_GUESSED_REPLY, longest or _GUESSED_REPLY)
    print(first.rstrip())
    print("\n--- the first prompt is above; nothing was asked ---")
    print(f"questions  {len(questions):,} in {count:,} groups")
    print(f"           {graded:,} with answers to grade by, {labelled:,} with labelled passages")
    print(f"trials     {count * settings.samples:,}, {settings.samples} a group")
    print(f"requests   {count * waves:,} to {settings.model}")
    print(f"tokens     about {prompt:,.0f} of prompts (4 characters a token)")
    print(f"           about {reply:,.0f} of replies ({_GUESSED_REPLY} a reply is a guess)")
    if price is not None:
        print(f"money      about {price.of(prompt, reply):,.2f}")
    else:
        print("money      give --price IN:OUT, per million tokens")


@dataclass(slots=True)
class _Task:
    """One call of `ask`, from checking the server to the last line."""

    job: Job
    connect: Callable[[], ChatLLM]
    driver: str
    address: str | None
    price: Price | None

    async def run(self) -> int:
        from novarag.runs import Board, Driver, drive, ease_collector, unfinished

        manifest, store = self.job.manifest, self.job.store
        left = unfinished(store, manifest)
        ease_collector()
        board, stop = Board(), asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, _interrupt, stop)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        self._greet(manifest, len(left))
        async with shown(board, manifest.requests, self.price):
            outlooks = await drive(
                self.job, self.connect, board=board, stop=stop, driver=Driver(self.driver),
                address=self.address,
            )  # fmt: skip
        return self._sum_up(outlooks, board, stopped=stop.is_set())

    def _greet(self, manifest: Manifest, left: int) -> None:
        settings = manifest.settings
        said = f"{manifest.questions:,} questions, {manifest.trials:,} trials"
        extra = f", {manifest.repeated:,} repeated rows asked once" if manifest.repeated else ""
        done = len(manifest.parts) - left
        resumed = f"; {done:,} of {len(manifest.parts):,} shards are finished" if done else ""
        print(f"{settings.model}, {settings.strategy}: {said}{extra}{resumed}", file=sys.stderr)

    def _sum_up(self, outlooks: list[Outlook], board: Board, *, stopped: bool) -> int:
        place, now = self.job.store.place, board.total()
        for outlook in outlooks:
            for line in outlook.damage:
                _found(line)
        total = self.job.manifest.requests
        fresh = now.settled - now.before
        print(
            f"{now.answered_requests:,} of {total:,} requests answered ({fresh:,} asked now),"
            f" {now.dead_requests:,} failed; {now.trials:,} trials, {now.unread:,} unread"
        )
        spent = f"{now.prompt_tokens:,} prompt and {now.completion_tokens:,} reply tokens"
        money = self.price.of(now.prompt_tokens, now.completion_tokens) if self.price else None
        print(spent + (f", about {money:,.2f}" if money is not None else ""))
        if now.dead_requests:
            again = "add --retry-failed to ask them again"
            print(f"{now.dead_requests:,} failed: `novarag show {place}` says why; {again}")
        if now.settled < total:
            why = "stopped" if stopped else "unfinished"
            print(f"{why}: run the same command to go on, or `novarag show {place}`")
            return 130 if stopped else 1
        then = "" if "://" in place else f", then novarag measure {place}"
        print(f"next: novarag show {place}{then}")
        return 1 if now.dead_requests else 0


def _interrupt(stop: asyncio.Event) -> None:
    if stop.is_set():
        raise KeyboardInterrupt
    print("\nfinishing what is in flight; Ctrl-C again to leave at once", file=sys.stderr)
    stop.set()
