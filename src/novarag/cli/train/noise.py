"""The verb that has a model write passages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.access import reaches_models
from novarag.cli.console import asking, sum_up
from novarag.cli.options import (
    MaxTokens,
    Models,
    Seed,
    ShardSize,
    TokenPrice,
    parse_price,
)
from novarag.config.pipeline import NoiseSettings
from novarag.defaults import ASK
from novarag.formatting import fixed_percent
from novarag.runner.access import reach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.flows.noise import NoiseCount
    from novarag.records import Prompt
    from novarag.runner.access import Access

_DEFAULT = NoiseSettings()


@reaches_models()
def noise(
    questions: Annotated[
        Path,
        typer.Argument(
            help="Questions with answers, each with its gold passage: JSONL, Parquet or CSV."
        ),
    ],
    model: Models,
    out: Annotated[str, typer.Option(help="Folder of the run, or s3://…; one begun goes on.")],
    access: Access,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="counterfactual, relevant (one facet is drawn for each question), relevant-entity,"
            " relevant-relation, relevant-theme, irrelevant, consistent; may be repeated."
            " Default: counterfactual, relevant, irrelevant and consistent."
        ),
    ] = None,
    candidates: Annotated[
        int, typer.Option(min=1, help="Passages to ask for in one reply.")
    ] = _DEFAULT.candidates,
    keep: Annotated[
        int, typer.Option(min=1, help="How many sound ones to keep: the last of each reply.")
    ] = _DEFAULT.keep,
    verbalised: Annotated[
        bool,
        typer.Option(
            "--verbalised", help="Verbalised sampling: ask for each passage's probability too."
        ),
    ] = _DEFAULT.verbalised,
    temperature: Annotated[
        float, typer.Option(min=0, help="Temperature of the sampling.")
    ] = _DEFAULT.temperature,
    max_tokens: MaxTokens = None,
    seed: Seed = 0,
    price: TokenPrice = None,
    shard_size: ShardSize = ASK.shard_size,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask nothing; print the prompts of one question.")
    ] = False,
) -> None:
    """Have a model write misleading, distracting and agreeing passages, and check each of them."""
    from novarag.flows.noise import make_noise, noise_prompts

    kinds, money = tuple(kind or _DEFAULT.kinds), parse_price(price)
    if dry_run:
        reach(model, access)  # complains about a wrong address, as a real run would
        _show(
            noise_prompts(
                questions, kinds=kinds, candidates=candidates, keep=keep, verbalised=verbalised,
                seed=seed or 0,
            )
        )  # fmt: skip
        return
    with asking(money) as (on_event, stop):
        result = make_noise(
            questions, model, out, kinds=kinds, candidates=candidates, keep=keep,
            verbalised=verbalised, temperature=temperature, max_tokens=max_tokens, seed=seed,
            shard_size=shard_size, access=access, on_event=on_event, stop=stop,
        )  # fmt: skip
    code = sum_up(result.run, money, alone=False)
    if result.tally is not None:
        print_tally(result.tally)
        print(f"next: novarag train group {out} --out groups.jsonl")
    sys.exit(code)


def _show(prompts: Sequence[Prompt]) -> None:
    for prompt in prompts:
        print(prompt.text.rstrip() + "\n")
    print(f"--- {len(prompts)} prompts for the first question are above; nothing was asked ---")


def print_tally(tally: Sequence[NoiseCount]) -> None:
    """Print what became of the passages of each noise."""
    for count in tally:
        rejected = count.rejected.total()
        print(
            f"{count.noise:<18} {count.written:,} passages: {count.kept:,} kept,"
            f" {count.spare:,} spare, {rejected:,} rejected"
            f" ({fixed_percent(rejected / count.written)})"
        )
        for reason, number in count.rejected.most_common():
            print(f"{'':<18} {number:,} {reason}")
