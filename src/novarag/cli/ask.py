"""`novarag ask`: ask a model every group of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.console import asking, keeping, sum_up
from novarag.cli.options import (
    ACCESS,
    Attempts,
    Concurrency,
    DriverName,
    Frame,
    GroupReadable,
    KeyEnv,
    MaxTokens,
    Models,
    PerMillion,
    RayAddress,
    RetryFailed,
    Seed,
    ShardSize,
    StrategyName,
    StructuredSamples,
    Temperature,
    Timeout,
    parse_price,
)
from novarag.defaults import ASK

if TYPE_CHECKING:
    from novarag.calls import Price
    from novarag.flows.ask import AskPreview
    from novarag.flows.events import RunEnded


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
    frame: Frame = False,
    structured: StructuredSamples = None,
    revision: Annotated[
        str | None, typer.Option(help="Revision of the model, for the record.")
    ] = None,
    concurrency: Concurrency = ACCESS.concurrency,
    timeout: Timeout = ACCESS.timeout,
    attempts: Attempts = ACCESS.attempts,
    key_env: KeyEnv = None,
    price: PerMillion = None,
    driver: DriverName = "local",
    ray_address: RayAddress = None,
    shard_size: ShardSize = ASK.shard_size,
    retry_failed: RetryFailed = False,
    group_readable: GroupReadable = False,
    calibration: Annotated[
        Path | None,
        typer.Option(help="Write calibrated.parquet into the finished run, by this calibration."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Ask nothing; print counts, one prompt and an estimate."),
    ] = False,
) -> None:
    """Ask a model every group of a file; killed at any instant, the same command goes on."""
    from novarag.calls import Sampling
    from novarag.flows.ask import ask as flow
    from novarag.flows.ask import preview_ask, read_schema
    from novarag.runner.access import Access

    warm = (0.0 if samples == 1 else 1.0) if temperature is None else temperature
    sampling = Sampling(
        n=samples, temperature=warm,
        top_p=top_p, max_tokens=max_tokens, seed=seed, stop=tuple(stop or ()), logprobs=logprobs,
        schema=None if schema is None else read_schema(schema), regex=regex,
    )  # fmt: skip
    cost = parse_price(price)
    if dry_run:
        _show(
            preview_ask(
                groups, strategy, model, sampling=sampling, per_request=per_request, frame=frame
            ),
            cost,
        )
        return
    access = Access(
        key_env=key_env, concurrency=concurrency, timeout=timeout, attempts=attempts,
        driver=driver, ray_address=ray_address, retry_failed=retry_failed,
        group_readable=group_readable,
    )  # fmt: skip
    ended: list[RunEnded] = []
    with asking(cost) as (on_event, halt):
        flow(
            groups, strategy, model, out=out, sampling=sampling, per_request=per_request,
            revision=revision, shard_size=shard_size, frame=frame, structured=structured,
            calibration=calibration, access=access, on_event=keeping(on_event, ended), stop=halt,
        )  # fmt: skip
    sys.exit(sum_up(ended[-1].summary, cost))


def _show(preview: AskPreview, price: Price | None) -> None:
    print(preview.prompt.rstrip())
    print("\n--- the first prompt is above; nothing was asked ---")
    print(f"questions  {preview.questions:,} in {preview.groups:,} groups")
    graded, labelled = preview.graded, preview.labelled
    print(f"           {graded:,} with answers to grade by, {labelled:,} with labelled passages")
    print(f"trials     {preview.trials:,}, {preview.samples} a group")
    print(f"requests   {preview.requests:,} to {preview.model}")
    print(f"tokens     about {preview.prompt_tokens:,.0f} of prompts (4 characters a token)")
    guess = f"({preview.guessed_reply} a reply is a guess)"
    print(f"           about {preview.reply_tokens:,.0f} of replies {guess}")
    if price is not None:
        print(f"money      about {price.of(preview.prompt_tokens, preview.reply_tokens):,.2f}")
    else:
        print("money      give --price IN:OUT, per million tokens")
