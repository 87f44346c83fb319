"""The verb that asks many questions."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.common import StrategyName  # noqa: TC001 - typer looks at them
from novarag.cli.models import (
    Attempts,
    Concurrency,
    DriverName,
    KeyEnv,
    MaxTokens,
    Models,
    PerMillion,
    RayAddress,
    RetryFailed,
    Seed,
    ShardSize,
    Temperature,
    Timeout,
    model_name,
)
from novarag.cli.running import Means, Source, Task, begin, hash_of
from novarag.cli.screen import Price, parse_price
from novarag.errors import DataError
from novarag.strategies import find_strategy

if TYPE_CHECKING:
    from novarag.runs.manifest import Settings
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
    concurrency: Concurrency = 64,
    timeout: Timeout = 600.0,
    attempts: Attempts = 8,
    key_env: KeyEnv = None,
    price: PerMillion = None,
    driver: DriverName = "local",
    ray_address: RayAddress = None,
    shard_size: ShardSize = 1000,
    retry_failed: RetryFailed = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Ask nothing; print counts, one prompt and an estimate."),
    ] = False,
) -> None:
    """Ask a model every group of a file; killed at any instant, the same command goes on."""
    from functools import partial

    from novarag.calls import Sampling
    from novarag.datasets import iter_groups
    from novarag.runs import Settings

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
    means = Means(
        models=model, key_env=key_env, concurrency=concurrency, timeout=timeout, attempts=attempts,
        driver=driver, ray_address=ray_address, price=parse_price(price), retry_failed=retry_failed,
    )  # fmt: skip
    means.connector()  # complains about a bad address before anything else
    if dry_run:
        _estimate(groups, found, settings, means.price)
        return
    source = Source(groups=partial(iter_groups, groups), name=groups.name, hash=hash_of(groups))
    job = begin(found, source, settings, out, means)
    sys.exit(asyncio.run(Task(job, means).run()))


def _schema(path: Path | None) -> str | None:
    from novarag.datasets.files import existing
    from novarag.llm.wire import parse_schema

    if path is None:
        return None
    text = existing(path).read_bytes().decode("utf-8", errors="replace")
    parse_schema(text)
    return text


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
