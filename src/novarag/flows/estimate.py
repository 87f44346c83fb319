"""Put uncertainty methods beside each other; replies that several need are asked for once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.calls import simulated_note
from novarag.defaults import ASK
from novarag.errors import UnknownNameError, UsageError
from novarag.flows.events import FileWritten, silent
from novarag.flows.measure import REPLICATES
from novarag.flows.sync import synchronous
from novarag.runner.access import reach
from novarag.runner.sources import source_of
from novarag.runner.stop import Stop
from novarag.texts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polars import DataFrame

    from novarag.calls import Cost
    from novarag.flows.events import EventListener
    from novarag.metrics import Measurement
    from novarag.records import PassageGroup, Trial
    from novarag.report import Heading
    from novarag.runner.access import Access, Model
    from novarag.runner.sources import Groups
    from novarag.runs import Run
    from novarag.strategies import Strategy
    from novarag.uncertainty import Method, Need
    from novarag.uncertainty.semantic import Weigh

ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """What each method makes of the replies it needs: one row for every group and method.

    `costs` says what each method would take by itself, `paid` what all took together, `missing`
    for how many groups a method has no row because a request failed.
    """

    table: DataFrame
    methods: tuple[Method, ...]
    strategy: str
    costs: Mapping[str, Cost]
    paid: Cost
    missing: Mapping[str, int]
    draws: Mapping[Need, Run]
    measurement: Measurement | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Show the methods, what each took, and for how many groups one is missing."""
        calls = ", ".join(f"{m.name} {self.costs[m.name].calls:,} calls" for m in self.methods)
        short = ", ".join(f"{name} {count:,}" for name, count in self.missing.items())
        return (
            f"Estimates({self.table.height:,} rows by {plain_text(self.strategy)}; {calls}"
            + (f"\n  missing groups: {short}" if short else "")
            + f"\n  together {self.paid.calls:,} calls)"
        )

    @cached_property
    def trials(self) -> dict[str, list[Trial]]:
        """The estimates of each method as trials, graded as answers are."""
        from novarag.flows.draws import iter_estimated

        found: dict[str, list[Trial]] = defaultdict(list)
        for method, trials in iter_estimated(self.draws, self.methods, self.strategy):
            found[method.name] += trials
        return dict(found)


async def estimate_async(
    groups: Groups,
    strategy: str | Strategy,
    model: Model,
    *,
    methods: str | Method | Iterable[str | Method] = ALL,
    out: str | Path | None = None,
    nli: str | Weigh | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    structured: bool = False,
    replicates: int = REPLICATES,
    shard_size: int = ASK.shard_size,
    access: Access | None = None,
    on_event: EventListener = silent,
    stop: Stop | None = None,
) -> Estimates:
    """Put several methods to the same groups, asking once for what several of them need.

    Args:
        groups: Questions with their passages: a file (JSONL, Parquet, CSV), or `PassageGroup`
            objects.
        strategy: How prompts are written and replies are read: a name such as "nova",
            "package.module:OBJECT", or a `Strategy`. A method with a strategy of its own asks by
            that.
        model: The model to ask: `URL=NAME` (or a list of them, for replicas), `simulated:NAME`, an
            `Endpoint`, an `LLM`, or a function that opens one.
        methods: Uncertainty methods, one or several: names, `Method` objects or
            "package.module:OBJECT"; "all" is every one that ships.
        out: A folder for replies, estimates and a report, where the same call goes on after it was
            cut off (`UnfinishedError` says that it was); None keeps all in memory, and measures
            nothing.
        nli: A model of entailment that says which answers mean the same, for semantic entropy: a
            folder, a model of the hub, "package.module:OBJECT", or a function of (premise,
            hypothesis) pairs.
        max_tokens: Longest reply, in tokens.
        seed: Seed of the sampling, on servers that take one; None sends them none.
        structured: Have the server hold replies to their form; groups must then be of one size.
        replicates: Bootstrap replicates behind each interval.
        shard_size: Questions in a shard, the unit that is finished or asked again as a whole.
        access: How servers are reached: time-outs, concurrency, retries, keys.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
        stop: A `Stop` that ends the call early; what was answered is kept.
    """
    from novarag.config.asking import ReplySettings
    from novarag.flows.draws import Draws
    from novarag.runner.runner import Runner
    from novarag.uncertainty import union

    name = strategy if isinstance(strategy, str) else strategy.name
    found = find_methods(_listed(methods), nli=nli)
    chosen = tuple(m.beside(_name_of(strategy)) for m in found)
    source, folder = source_of(groups), None if out is None else Path(out) / "draws"
    draws = Draws(
        source=source,
        strategy=strategy,
        runner=Runner(
            model=reach(model, access), folder=folder, on_event=on_event, stop=stop or Stop()
        ),
        replies=ReplySettings(
            max_tokens=max_tokens, seed=seed, structured=structured, shard_size=shard_size
        ),
        k=_passages(source.groups()) if structured else None,
    )
    needs = union(need for m in chosen for need in m.needs)
    drawn = await draws.draw(needs)
    result = sum_up(drawn, chosen, name)
    if out is None:
        return result
    return _write(result, Path(out), source.name, replicates, on_event)


estimate = synchronous(estimate_async)


def _listed(methods: str | Method | Iterable[str | Method]) -> Iterable[str | Method]:
    from novarag.uncertainty import Method

    return [methods] if isinstance(methods, (str, Method)) else methods


def _name_of(strategy: str | Strategy) -> str:
    from novarag.strategies import find_strategy

    return find_strategy(strategy).name


def find_methods(names: Iterable[str | Method], *, nli: str | Weigh | None = None) -> list[Method]:
    """Find methods by name, or import them; `all` is every one there is."""
    from novarag.imports import import_object
    from novarag.uncertainty import METHODS, Method

    found: dict[str, Method] = {}
    for name in names:
        if isinstance(name, Method):
            found[name.name] = name
        elif name == ALL:
            found |= METHODS
        elif ":" in name:
            own = import_object(name)
            if not isinstance(own, Method):
                raise UsageError(f"{name!r} is not a Method but a {type(own).__name__}")
            found[own.name] = own
        elif name in METHODS:
            found[name] = METHODS[name]
        else:
            raise UnknownNameError(name, [*METHODS, ALL])
    if nli is not None:
        found = _with_entailment(found, nli)
    return list(found.values())


def _with_entailment(found: dict[str, Method], nli: str | Weigh) -> dict[str, Method]:
    """Let a model of entailment say which answers mean the same."""
    from functools import partial

    from novarag.flows.encoders import open_entailment
    from novarag.uncertainty import by_entailment, semantic_entropy

    name = "semantic-entropy"
    if name not in found:
        raise UsageError.saying("`nli` belongs to the method {}", name)
    weigh = open_entailment(nli) if isinstance(nli, str) else nli
    of = partial(semantic_entropy, equivalence=by_entailment(weigh))
    formula = found[name].means.partition(";")[0]
    by = nli if isinstance(nli, str) else getattr(nli, "__name__", type(nli).__name__)
    means = f"{formula}; answers that entail each other, by {by}, mean the same."
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


def sum_up(drawn: Mapping[Need, Run], methods: tuple[Method, ...], strategy: str) -> Estimates:
    """Make the table of estimates, and add up what they took."""
    import polars as pl

    from novarag.calls import Cost
    from novarag.flows.draws import cost_of, iter_estimates

    table = pl.concat(iter_estimates(drawn, methods, strategy))
    asked = max(run.manifest.groups for run in drawn.values())
    short = {m.name: asked - table.filter(method=m.name).height for m in methods}
    return Estimates(
        table=table,
        methods=methods,
        strategy=strategy,
        costs={m.name: cost_of(m, drawn) for m in methods},
        paid=sum((run.cost for run in drawn.values()), Cost()),
        missing={name: count for name, count in short.items() if count},
        draws=drawn,
    )


def _write(
    found: Estimates, out: Path, source: str, replicates: int, on_event: EventListener
) -> Estimates:
    """Write the table of estimates and a report on it."""
    from novarag.answers.opening.beside import with_overlap
    from novarag.atomic import write_whole
    from novarag.metrics import measure_table
    from novarag.report import write_report
    from novarag.rows import parquet_bytes

    groups = next(iter(found.draws.values())).groups()
    table = with_overlap(found.table, groups)
    measured = measure_table(table, by="method", replicates=replicates)
    measurement = _apart(measured, [m.name for m in found.methods])
    result = replace(found, measurement=measurement, notes=(_bill(found), *_left_out(found)))
    write_whole(out / "estimates.parquet", parquet_bytes(found.table))
    for path in write_report(measurement, _heading(result, source), out / "report"):
        on_event(FileWritten(path))
    on_event(FileWritten(out / "estimates.parquet"))
    return result


def _bill(found: Estimates) -> str:
    from novarag.calls import Cost

    paid, alone = found.paid, sum(found.costs.values(), Cost())
    return (
        f"All methods together took {paid.calls:,} calls, {paid.prompt_tokens:,} tokens in and"
        f" {paid.completion_tokens:,} out; each by itself they would take {alone.calls:,} calls."
    )


def _left_out(found: Estimates) -> list[str]:
    """Tell which methods lack an answer, as a request of theirs failed."""
    if not found.missing:
        return []
    short = ", ".join(f"{name} {count:,}" for name, count in found.missing.items())
    again = "add --retry-failed to ask them again"
    return [f"Left out, as a request failed: {short} groups; {again}."]


def _heading(found: Estimates, source: str) -> Heading:
    from novarag.flows.measure import make_heading

    model = next(iter(found.draws.values())).settings.model
    notes = [*simulated_note(model), *found.notes]
    title = f"Uncertainty methods on {plain_text(found.strategy)}"
    heading = make_heading(title, sources=[source, model], notes=notes)
    meanings = {m.name: f"{m.title}: {m.means}" for m in found.methods}
    return replace(heading, costs=found.costs, meanings=meanings, apart=True)


def _apart(found: Measurement, order: Sequence[str]) -> Measurement:
    """Say nothing of all methods together, as they are no parts of a whole; keep their order."""
    overall = replace(
        found.overall, refusal="methods are rivals over the same questions", bounds={}
    )
    groups = sorted(found.groups, key=lambda panel: order.index(panel.name))
    return replace(found, overall=overall, groups=tuple(groups), macro={})
