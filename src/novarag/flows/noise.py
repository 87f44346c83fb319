"""From questions to passages that a model wrote, each of them checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.config.pipeline import NoiseSettings
from novarag.defaults import ASK
from novarag.errors import DataError
from novarag.flows.events import silent
from novarag.flows.inputs import iter_given
from novarag.flows.sync import synchronous
from novarag.noise import NOISES, NoisePlan
from novarag.runner.access import reach
from novarag.runner.asking import SamplingPlan, noise_mode
from novarag.runner.runner import Runner
from novarag.runner.sources import GroupSource, source_of
from novarag.runner.stop import Stop
from novarag.taxonomy import PassageKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.flows.events import EventListener
    from novarag.flows.inputs import GroupsInput
    from novarag.records import PassageGroup, Prompt
    from novarag.runner.access import Access, Model
    from novarag.runner.events import RunSummary
    from novarag.runner.runner import RunAttempt

_DEFAULT = NoiseSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseCount:
    """What became of the passages of one noise; `rejected` counts them by reason.

    A `spare` passage is sound, but there were enough.
    """

    noise: str
    kept: int
    spare: int
    rejected: Counter[str]

    @property
    def written(self) -> int:
        """How many passages the model wrote."""
        return self.kept + self.spare + self.rejected.total()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NoiseResult:
    """A run of noise as far as it went; the `tally` is there once it is finished.

    `group_passages(result.place)` draws from its pools.
    """

    place: str
    run: RunSummary
    tally: tuple[NoiseCount, ...] | None

    def __repr__(self) -> str:
        run = self.run
        lines = [f"noise in {self.place}: {run.answered:,} of {run.requests:,} requests answered"]
        for c in self.tally or ():
            rejected = f"{c.rejected.total():,} rejected"
            lines.append(f"{c.noise}: {c.kept:,} kept, {c.spare:,} spare, {rejected}")
        return "\n".join(lines)


async def make_noise_async(
    questions: GroupsInput,
    model: Model,
    out: str | Path,
    *,
    kinds: Sequence[str] = _DEFAULT.kinds,
    candidates: int = _DEFAULT.candidates,
    keep: int = _DEFAULT.keep,
    verbalised: bool = _DEFAULT.verbalised,
    temperature: float = _DEFAULT.temperature,
    max_tokens: int | None = _DEFAULT.max_tokens,
    seed: int | None = 0,
    shard_size: int = ASK.shard_size,
    access: Access | None = None,
    on_event: EventListener = silent,
    stop: Stop | None = None,
) -> NoiseResult:
    """Have a model write misleading, distracting and agreeing passages, and check each of them.

    Args:
        questions: Questions with answers, each with its gold passage: a file (JSONL, Parquet, CSV),
            or `PassageGroup` objects.
        model: The model to ask: `URL=NAME` (or a list of them, for replicas), `simulated:NAME`, an
            `Endpoint`, an `LLM`, or a function that opens one.
        out: The folder of the run, or its `s3://` address; a run that was begun there goes on.
        kinds: What is written: "counterfactual", "relevant" (one of its facets is drawn for each
            question), "relevant-entity", "relevant-relation", "relevant-theme", "irrelevant",
            "consistent", some of them.
        candidates: Passages to ask for in one reply.
        keep: How many sound passages of a reply are kept: the last ones, as the first are most
            alike.
        verbalised: Ask for each passage's probability, too.
        temperature: Temperature of the sampling.
        max_tokens: Longest reply, in tokens.
        seed: Seed of the facets that are drawn, and of the sampling on servers that take one; None
            sends them none.
        shard_size: Questions in a shard, the unit that is finished or asked again as a whole.
        access: How servers are reached: time-outs, concurrency, retries, keys.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
        stop: A `Stop` that ends the call early; what was answered is kept.
    """
    from novarag.calls import Sampling

    noising = NoisePlan(
        noises=tuple(kinds), candidates=candidates, keep=keep, verbalised=verbalised, seed=seed or 0
    )
    samples = SamplingPlan(
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens, seed=seed),
        shard_size=shard_size,
    )
    runner = Runner(model=reach(model, access), folder=out, on_event=on_event, stop=stop or Stop())
    done = await runner.attempt(_source(questions, noising), noise_mode(noising), samples=samples)
    return sort_noise(done, noising)


make_noise = synchronous(make_noise_async)


def noise_prompts(
    questions: GroupsInput,
    *,
    kinds: Sequence[str] = _DEFAULT.kinds,
    candidates: int = _DEFAULT.candidates,
    keep: int = _DEFAULT.keep,
    verbalised: bool = _DEFAULT.verbalised,
    seed: int = 0,
) -> list[Prompt]:
    """Render what `make_noise` would ask for the first question; nothing is asked.

    Args:
        questions: Questions with answers, each with its gold passage: a file (JSONL, Parquet, CSV),
            or `PassageGroup` objects.
        kinds: What is written: "counterfactual", "relevant" (one of its facets is drawn for each
            question), "relevant-entity", "relevant-relation", "relevant-theme", "irrelevant",
            "consistent", some of them.
        candidates: Passages to ask for in one reply.
        keep: How many sound passages of a reply would be kept; prompts do not say it.
        verbalised: Ask for each passage's probability, too.
        seed: Seed of the facets that are drawn.
    """
    noising = NoisePlan(
        noises=tuple(kinds), candidates=candidates, keep=keep, verbalised=verbalised, seed=seed
    )
    groups = _source(questions, noising).groups()
    return [noising.render(group) for group in islice(groups, len(noising.noises))]


def sort_noise(done: RunAttempt, noising: NoisePlan) -> NoiseResult:
    """Sort what came of a run of noise, once it is finished."""
    from novarag.flows.drafts import sort_drafts

    tally = None
    if done.summary.finished:
        tally = tuple(_counted(sort_drafts(done.answered_run(), noising)))
    return NoiseResult(place=done.run.place, run=done.summary, tally=tally)


def questions_of(questions: GroupsInput) -> Iterator[PassageGroup]:
    """Read questions that must have answers and one gold passage to write noise around."""
    source = str(questions) if isinstance(questions, (str, Path)) else None
    for number, group in enumerate(iter_given(questions), start=1):
        if not group.question.answers:
            raise DataError(
                "noise is written around a known answer, and there is none.",
                hint='write ["Paris"] or "Paris".',
                source=source,
                row=number,
                column="answers",
            )
        problem = _gold_problem(group)
        if problem:
            raise DataError(
                problem,
                hint='mark it: {"text": "…", "kind": "gold"}.',
                source=source,
                row=number,
                column="passages",
            )
        yield group


def _gold_problem(group: PassageGroup) -> str | None:
    """Say why the gold passage of a question is not known; a lone unlabelled one is it."""
    kinds = [passage.kind for passage in group.passages]
    if PassageKind.GOLD in kinds or kinds == [None]:
        return None
    return "several passages, and none is marked as gold." if kinds else "there is no gold passage."


def _source(questions: GroupsInput, noising: NoisePlan) -> GroupSource:
    """Take questions from a file, or as they are; they are read twice."""
    given = questions if isinstance(questions, (str, Path)) else list(iter_given(questions))
    found = source_of(given)
    return GroupSource(
        groups=lambda: noising.requests(questions_of(given)), name=found.name, hash=found.hash
    )


def _counted(tally: Counter[tuple[str, str]]) -> Iterator[NoiseCount]:
    """Sum up what became of the passages of each noise."""
    from novarag.flows.drafts import KEPT, SPARE

    for name in NOISES:
        fates = Counter({fate: n for (noise, fate), n in tally.items() if noise == name})
        if fates:
            kept, spare = fates.pop(KEPT, 0), fates.pop(SPARE, 0)
            yield NoiseCount(noise=name, kept=kept, spare=spare, rejected=fates)
