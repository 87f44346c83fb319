"""The verb that has a model write passages."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    Timeout,
    model_name,
)
from novarag.cli.running import Means, Source, Task, begin, hash_of
from novarag.cli.screen import parse_price
from novarag.errors import DataError
from novarag.noise import ALL, NOISES, Noising

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.flows.drafts import Tally
    from novarag.records import PassageGroup
    from novarag.runs.manifest import Settings


def noise(
    questions: Annotated[
        Path,
        typer.Argument(
            help="Questions with answers, each with its gold passage: JSONL, Parquet or CSV."
        ),
    ],
    model: Models,
    out: Annotated[str, typer.Option(help="Folder of the run, or s3://…; one begun goes on.")],
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="counterfactual, relevant (one facet is drawn for each question), relevant-entity,"
            " relevant-relation, relevant-theme, irrelevant, consistent; may be repeated."
            " Default: counterfactual, relevant, irrelevant and consistent."
        ),
    ] = None,
    candidates: Annotated[int, typer.Option(min=1, help="Passages to ask for in one reply.")] = 5,
    keep: Annotated[
        int, typer.Option(min=1, help="How many sound ones to keep: the last of each reply.")
    ] = 3,
    verbalised: Annotated[
        bool,
        typer.Option(
            "--verbalised", help="Verbalised sampling: ask for each passage's probability too."
        ),
    ] = False,
    temperature: Annotated[float, typer.Option(min=0, help="Temperature.")] = 1.0,
    max_tokens: MaxTokens = None,
    seed: Seed = 0,
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
        bool, typer.Option("--dry-run", help="Ask nothing; print the prompts of one question.")
    ] = False,
) -> None:
    """Have a model write misleading, distracting and agreeing passages, and check each of them."""
    from novarag.calls import Sampling
    from novarag.runs import Settings

    noising = Noising(
        noises=tuple(kind or ALL), candidates=candidates, keep=keep, verbalised=verbalised,
        seed=seed or 0,
    )  # fmt: skip
    means = Means(
        models=model, key_env=key_env, concurrency=concurrency, timeout=timeout, attempts=attempts,
        driver=driver, ray_address=ray_address, price=parse_price(price), retry_failed=retry_failed,
    )  # fmt: skip
    means.connector()
    settings = Settings(
        strategy=noising.name, template_hash=noising.fingerprint, model=model_name(model),
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens, seed=seed),
        shard_size=shard_size, noise=noising,
    )  # fmt: skip
    source = Source(
        groups=lambda: noising.requests(questions_of(questions)),
        name=questions.name,
        hash=hash_of(questions),
    )
    if dry_run:
        _show_prompts(source, noising)
        return
    sys.exit(write_noise(source, settings, out, means))


def questions_of(path: Path) -> Iterator[PassageGroup]:
    """Read questions that must have answers and one gold passage to write noise around."""
    from novarag.datasets import iter_groups

    for number, group in enumerate(iter_groups(path), start=1):
        if not group.question.answers:
            raise DataError(
                "noise is written around a known answer, and there is none.",
                mend='write ["Paris"] or "Paris".',
                source=str(path),
                row=number,
                column="answers",
            )
        problem = _gold_problem(group)
        if problem:
            raise DataError(
                problem,
                mend='mark it: {"text": "…", "kind": "gold"}.',
                source=str(path),
                row=number,
                column="passages",
            )
        yield group


def _gold_problem(group: PassageGroup) -> str | None:
    """Say why the gold passage of a question is not known; a lone unlabelled one is it."""
    from novarag.taxonomy import PassageKind

    kinds = [passage.kind for passage in group.passages]
    if PassageKind.GOLD in kinds or kinds == [None]:
        return None
    return "several passages, and none is marked as gold." if kinds else "there is no gold passage."


def _show_prompts(source: Source, noising: Noising) -> None:
    groups = list(islice(source.groups(), len(noising.noises)))
    for group in groups:
        print(noising.render(group).text.rstrip() + "\n")
    print(f"--- {len(groups)} prompts for the first question are above; nothing was asked ---")


def write_noise(
    source: Source, settings: Settings, out: str, means: Means, *, alone: bool = True
) -> int:
    """Run the requests for noise to their end, then sort what came; return the exit code."""
    from novarag.flows.drafts import sort_drafts
    from novarag.runs import Run, is_finished

    noising = settings.noise or Noising()
    job = begin(noising, source, settings, out, means)
    code = asyncio.run(Task(job, means, alone=False).run())
    if is_finished(job.store):
        tell(sort_drafts(Run(job.store, job.manifest), noising))
        if alone:
            print(f"next: novarag group {out} --out groups.jsonl")
    return code


def tell(tally: Tally) -> None:
    """Print what became of the passages of each noise."""
    from novarag.flows.drafts import KEPT, SPARE

    for name in [name for name in NOISES if any(noise == name for noise, _ in tally)]:
        fates = Counter({fate: n for (noise, fate), n in tally.items() if noise == name})
        kept, spare = fates.pop(KEPT, 0), fates.pop(SPARE, 0)
        rejected = fates.total()
        total = kept + spare + rejected
        print(
            f"{name:<18} {total:,} passages: {kept:,} kept, {spare:,} spare,"
            f" {rejected:,} rejected ({rejected / total:.1%})"
        )
        for fate, count in fates.most_common():
            print(f"{'':<18} {count:,} {fate}")
