"""`novarag ask`: ask a model every group of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.access import reaches_models
from novarag.cli.console import asking, keeping, sum_up
from novarag.cli.options import (
    LabelFrame,
    MaxTokens,
    Models,
    Seed,
    ShardSize,
    StrategyName,
    StructuredSamples,
    Temperature,
    TokenPrice,
    parse_price,
)
from novarag.defaults import ASK

if TYPE_CHECKING:
    from novarag.calls import Price
    from novarag.flows.ask import AskPreview
    from novarag.flows.events import RunEnded
    from novarag.runner.access import Access


@reaches_models()
def ask(
    groups: Annotated[
        Path, typer.Argument(help="Questions with their passages: JSONL, Parquet or CSV.")
    ],
    model: Models,
    out: Annotated[
        str,
        typer.Option(help="Folder of the run, or s3://…; one that was begun goes on."),
    ],
    access: Access,
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
    frame: LabelFrame = False,
    structured: StructuredSamples = None,
    revision: Annotated[
        str | None, typer.Option(help="Revision of the model, for the record.")
    ] = None,
    price: TokenPrice = None,
    shard_size: ShardSize = ASK.shard_size,
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
