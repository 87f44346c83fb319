"""`novarag run estimate`: uncertainty methods beside each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.access import reaches_models
from novarag.cli.console import asking, printing
from novarag.cli.exit_codes import ExitCode, code_of
from novarag.cli.options import (
    EntailmentSpec,
    MaxTokens,
    Models,
    Seed,
    ShardSize,
    StrategyName,
    TokenPrice,
    parse_price,
)
from novarag.defaults import ASK, ESTIMATE
from novarag.errors import UnfinishedError
from novarag.flows.measure import REPLICATES
from novarag.texts import plain_text

if TYPE_CHECKING:
    from novarag.flows.estimate import Estimates
    from novarag.runner.access import Access


@reaches_models()
def estimate(
    groups: Annotated[
        Path, typer.Argument(help="Questions with their passages: JSONL, Parquet or CSV.")
    ],
    model: Models,
    out: Annotated[Path, typer.Option(help="Folder; one that was begun goes on.")],
    access: Access,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            help="A method by name, or package.module:OBJECT; may be repeated. Default: all.",
        ),
    ] = None,
    strategy: StrategyName = ESTIMATE.strategy,
    nli: EntailmentSpec = None,
    max_tokens: MaxTokens = None,
    seed: Seed = None,
    structured: Annotated[
        bool,
        typer.Option("--structured", help="Have the server hold replies to their form; vLLM can."),
    ] = False,
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = REPLICATES,
    price: TokenPrice = None,
    shard_size: ShardSize = ASK.shard_size,
) -> None:
    """Put uncertainty methods beside each other; replies that several need are asked for once."""
    from novarag.flows.estimate import ALL
    from novarag.flows.estimate import estimate as flow

    cost = parse_price(price)
    with asking(cost) as (on_event, stop):
        show = printing(on_event, cost)
        try:
            found = flow(
                groups, strategy, model, methods=method or [ALL], out=out, nli=nli,
                max_tokens=max_tokens, seed=seed, structured=structured, replicates=replicates,
                shard_size=shard_size, access=access, on_event=show, stop=stop,
            )  # fmt: skip
        except UnfinishedError as error:
            sys.exit(code_of(error))
    _print(found)
    if found.missing:
        sys.exit(ExitCode.INCOMPLETE)


def _print(found: Estimates) -> None:
    from novarag.calls import simulated_note
    from novarag.report import rivals
    from novarag.report.ranking import best_of, ranked

    model = next(iter(found.draws.values())).settings.model
    compared = []
    if found.measurement is not None:
        order = ranked(found.measurement, found.costs)
        best = [best_of(order)] if order else []
        compared = [f"{v.line} {v.because}" for v in best] + rivals(found.measurement)
    for line in [*simulated_note(model), *compared, *found.notes]:
        print(f"- {plain_text(line, longest=1000)}")
