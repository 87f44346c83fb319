"""The verb that puts uncertainty methods beside each other."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag import __version__
from novarag.atomic import whole_file
from novarag.cli.common import StrategyName  # noqa: TC001 - typer looks at them
from novarag.cli.drawing import Drawing
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
    simulated_note,
)
from novarag.cli.options import EntailmentSpec, import_from_here
from novarag.cli.running import Means, Source, check_server, hash_of
from novarag.cli.screen import parse_price
from novarag.config.asking import Replies
from novarag.errors import UnknownName, UsageError
from novarag.imports import import_object
from novarag.strategies import find_strategy
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polars import DataFrame

    from novarag.metrics import Measurement
    from novarag.records import PassageGroup
    from novarag.runs import Run
    from novarag.uncertainty import Method, Need

_ALL = "all"


def estimate(
    groups: Annotated[
        Path, typer.Argument(help="Questions with their passages: JSONL, Parquet or CSV.")
    ],
    model: Models,
    out: Annotated[Path, typer.Option(help="Folder; one that was begun goes on.")],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            help="A method by name, or package.module:OBJECT; may be repeated. Default: all.",
        ),
    ] = None,
    strategy: StrategyName = "vanilla",
    nli: EntailmentSpec = None,
    max_tokens: MaxTokens = None,
    seed: Seed = None,
    structured: Annotated[
        bool, typer.Option("--structured", help="Hold replies to their form; vLLM can.")
    ] = False,
    replicates: Annotated[
        int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")
    ] = 2000,
    concurrency: Concurrency = 64,
    timeout: Timeout = 600.0,
    attempts: Attempts = 8,
    key_env: KeyEnv = None,
    price: PerMillion = None,
    driver: DriverName = "local",
    ray_address: RayAddress = None,
    shard_size: ShardSize = 1000,
    retry_failed: RetryFailed = False,
) -> None:
    """Put uncertainty methods beside each other; replies that several need are asked for once."""
    from novarag.datasets import iter_groups
    from novarag.uncertainty import union

    found = find_methods(method or [_ALL], nli=nli)
    methods = [m.beside(find_strategy(strategy).name) for m in found]
    means = Means(
        models=model, key_env=key_env, concurrency=concurrency, timeout=timeout, attempts=attempts,
        driver=driver, ray_address=ray_address, price=parse_price(price), retry_failed=retry_failed,
    )  # fmt: skip
    source = Source(groups=partial(iter_groups, groups), name=groups.name, hash=hash_of(groups))
    drawing = Drawing(
        source=source,
        strategy=strategy,
        means=means,
        replies=Replies(
            max_tokens=max_tokens, seed=seed, structured=structured, shard_size=shard_size
        ),
        folder=out / "draws",
        k=_passages(iter_groups(groups)) if structured else None,
    )
    needs = union(need for m in methods for need in m.needs)
    check_server(means, *drawing.places(needs))
    drawn = asyncio.run(drawing.draw(needs))
    if isinstance(drawn, int):
        sys.exit(drawn)
    _sum_up(drawn, methods, strategy, out, (replicates, groups.name))


def find_methods(names: Sequence[str], *, nli: str | None = None) -> list[Method]:
    """Find methods by name, or import them; `all` is every one there is."""
    from novarag.uncertainty import METHODS, Method

    found: dict[str, Method] = {}
    for name in names:
        if name == _ALL:
            found |= METHODS
        elif ":" in name:
            own = import_object(name)
            if not isinstance(own, Method):
                raise UsageError(f"{name!r} is not a Method but a {type(own).__name__}")
            found[own.name] = own
        elif name in METHODS:
            found[name] = METHODS[name]
        else:
            raise UnknownName(name, [*METHODS, _ALL])
    if nli is not None:
        found = _with_entailment(found, nli)
    return list(found.values())


def _with_entailment(found: dict[str, Method], nli: str) -> dict[str, Method]:
    """Let a model of entailment say which answers mean the same."""
    from novarag.flows.encoders import open_entailment
    from novarag.uncertainty import by_entailment, semantic_entropy

    import_from_here()
    name = "semantic-entropy"
    if name not in found:
        raise UsageError(f"--nli belongs to the method {name}")
    of = partial(semantic_entropy, equivalence=by_entailment(open_entailment(nli)))
    formula = found[name].means.partition(";")[0]
    means = f"{formula}; answers that entail each other, by {nli}, mean the same."
    return found | {name: replace(found[name], of=of, means=means)}


def _passages(groups: Iterable[PassageGroup]) -> int:
    """Return how many passages every group has; a form has a line for each."""
    sizes = {len(group.passages) for group in groups}
    if len(sizes) > 1:
        raise UsageError(
            f"structured replies need groups of one size, and these have {min(sizes)} to"
            f" {max(sizes)} passages"
        )
    return sizes.pop() if sizes else 0


def _sum_up(
    drawn: Mapping[Need, Run],
    methods: Sequence[Method],
    strategy: str,
    out: Path,
    told: tuple[int, str],
) -> None:
    """Write the table of estimates and a report on it; `told` is replicates and the source."""
    import polars as pl

    from novarag.calls import Cost
    from novarag.metrics import measure
    from novarag.report import Heading, rivals, write_report
    from novarag.runs.draws import cost_of, iter_estimates

    replicates, source = told
    model = next(iter(drawn.values())).manifest.settings.model
    table = pl.concat(iter_estimates(drawn, methods, strategy))
    with whole_file(out / "estimates.parquet") as file:
        table.write_parquet(file)
    costs = {m.name: cost_of(m, drawn) for m in methods}
    paid = sum((draw.cost for draw in drawn.values()), Cost())
    alone = sum(costs.values(), Cost())
    said = (
        f"All methods together took {paid.calls:,} calls, {paid.prompt_tokens:,} tokens in and"
        f" {paid.completion_tokens:,} out; each by itself they would take {alone.calls:,} calls."
    )
    found = _apart(measure(table, by="method", replicates=replicates), [m.name for m in methods])
    asked = max(draw.manifest.groups for draw in drawn.values())
    missing = _missing(table, methods, asked)
    heading = Heading(
        title=f"Uncertainty methods on {plain_text(strategy)}",
        sources=[source, model],
        made=datetime.now(UTC).strftime("%Y-%m-%d"),
        version=__version__,
        notes=[
            *simulated_note([model]),
            said,
            *missing,
            *(f"{m.title} ({m.name}): {m.means}" for m in methods),
        ],
        costs=costs,
        apart=True,
    )
    for path in write_report(found, heading, out / "report"):
        print(f"wrote {path}", file=sys.stderr)
    print(f"wrote {out / 'estimates.parquet'}", file=sys.stderr)
    for line in [*simulated_note([model]), *rivals(found), said, *missing]:
        print(f"- {plain_text(line, longest=1000)}")
    if missing:
        sys.exit(1)


def _apart(found: Measurement, order: Sequence[str]) -> Measurement:
    """Say nothing of all methods together, as they are no parts of a whole; keep their order."""
    overall = replace(
        found.overall, refusal="methods are rivals over the same questions", bounds={}
    )
    groups = sorted(found.groups, key=lambda panel: order.index(panel.name))
    return replace(found, overall=overall, groups=tuple(groups), macro={})


def _missing(table: DataFrame, methods: Sequence[Method], asked: int) -> list[str]:
    """Tell which methods lack an answer, as a request of theirs failed."""
    short = {m.name: asked - table.filter(method=m.name).height for m in methods}
    told = [f"{name} {count:,}" for name, count in short.items() if count]
    again = "add --retry-failed to ask them again"
    return [f"Left out, as a request failed: {', '.join(told)} groups; {again}."] if told else []
