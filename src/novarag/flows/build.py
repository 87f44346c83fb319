"""Build a training set: from questions to an export, in steps that resume."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.config import REHEARSING, Pipeline, load_pipeline, rehearse_pipeline
from novarag.errors import UsageError
from novarag.flows.drafts import iter_pools
from novarag.flows.events import Note, StepBegun, StepResult, silent
from novarag.flows.export import write_export
from novarag.flows.filter import filter_trials
from novarag.flows.group import audited, write_groups
from novarag.flows.noise import questions_of, sort_noise
from novarag.flows.sync import synchronous
from novarag.grouping import find_mix
from novarag.noise import NoisePlan
from novarag.noise.group_build import THREE_GROUPS, TRAINING
from novarag.runner.access import check_keys, reach_endpoints
from novarag.runner.asking import SamplingPlan, noise_mode, sampling_plan, strategy_mode
from novarag.runner.runner import Runner
from novarag.runner.sources import GroupSource, hash_of
from novarag.runner.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from novarag.flows.events import EventListener
    from novarag.flows.export import Export
    from novarag.flows.filter import FilterResult
    from novarag.flows.noise import NoiseResult
    from novarag.noise.group_build import GroupBuild
    from novarag.records import PassageGroup
    from novarag.runner.access import Access, ModelAccess
    from novarag.runner.asking import AskingMode
    from novarag.runs import Run
    from novarag.sft.exporting import ExportOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSetBuild:
    """What came of each step, as far as the build went.

    `ended` names the step that ended it early: "groups" where a group can be told by its looks,
    "filter" where no trial was kept. It is None for a build that went all the way.
    """

    out: Path
    noise: NoiseResult | None = None
    groups: GroupBuild | None = None
    run: Run | None = None
    filtered: FilterResult | None = None
    export: Export | None = None
    ended: str | None = None

    def __repr__(self) -> str:
        """Show which steps were made, and what is kept."""
        steps = ("noise", "groups", "run", "filtered", "export")
        made = ", ".join(name for name in steps if getattr(self, name) is not None)
        ended = f"; ended at {self.ended}" if self.ended else ""
        kept = "" if self.filtered is None else f"\n  {self.filtered!r}"
        return f"TrainingSetBuild({str(self.out)!r}: {made or 'nothing yet'}{ended}{kept})"


async def build_training_set_async(
    pipeline: str | Path | Pipeline | Sequence[str | Path],
    *,
    rehearse: bool = False,
    access: Access | None = None,
    on_event: EventListener = silent,
    stop: Stop | None = None,
) -> TrainingSetBuild:
    """Have noise written, draw groups, ask for samples, filter and export, as a file says.

    Each step leaves its result in the folder that the file names as `out`, or finds it there, so
    that the same call goes on where it was cut off; `UnfinishedError` says that it was.

    Args:
        pipeline: TOML files, or presets such as "paper", later ones overriding earlier ones; or a
            `Pipeline`.
        rehearse: Put `simulated:base` in the place of every model, so that neither an endpoint nor
            a key is needed; the results are in a folder with `-rehearsal` after its name.
        access: How servers are reached: time-outs, concurrency, retries, keys.
        on_event: A function that hears what happens, as records of `novarag.flows.events`.
        stop: A `Stop` that ends the call early; what was answered is kept.
    """
    if isinstance(pipeline, (str, Path)):
        pipeline = [pipeline]
    found = pipeline if isinstance(pipeline, Pipeline) else load_pipeline(*pipeline)
    if rehearse:
        on_event(Note(_what_a_rehearsal_is(found)))
        found = rehearse_pipeline(found)
    stop = stop or Stop()
    steps = _BuildSteps(found, access, on_event, stop)
    await steps.check()
    wanted = [steps.noise, steps.groups, steps.ask, steps.filter, steps.export]
    for number, step in enumerate(wanted, start=1):
        stop.raise_if_set(str(steps.out))
        on_event(StepBegun(step.__name__, number, len(wanted)))
        result = await step()
        if result is not None:
            on_event(StepResult(step.__name__, result))
        if steps.built.ended is not None:
            break
    return steps.built


build_training_set = synchronous(build_training_set_async)


def _what_a_rehearsal_is(pipeline: Pipeline) -> str:
    left_out = ", without the other models' runs" if pipeline.filter.runs else ""
    return f"a rehearsal with {REHEARSING}{left_out}: what comes of it is no training set to use"


class _BuildSteps:
    """The steps of a pipeline; each leaves its result in the folder, or finds it there."""

    def __init__(
        self, pipeline: Pipeline, access: Access | None, on_event: EventListener, stop: Stop
    ) -> None:
        self.pipeline, self.access, self.on_event, self.stop = pipeline, access, on_event, stop
        self.out = Path(pipeline.out)
        self.built = TrainingSetBuild(out=self.out)

    @cached_property
    def _model(self) -> ModelAccess:
        return reach_endpoints(self.pipeline.model, self.access)

    def _runner(self, model: ModelAccess) -> Runner:
        return Runner(model=model, folder=self.out, on_event=self.on_event, stop=self.stop)

    def _questions(self, limit: int | None = None) -> Iterator[PassageGroup]:
        given = self.pipeline.questions
        few = [n for n in (given.limit, limit) if n is not None]
        return islice(questions_of(Path(given.file)), min(few) if few else None)

    async def check(self) -> None:
        """Complain about any setting now, not when its step comes and the others are paid for."""
        from novarag.filters import Options

        groups, given = self.pipeline.groups, self.pipeline.filter
        if groups.mix == TRAINING and groups.k < 3:
            raise UsageError("training groups have 3 passages or more: correct k in [groups]")
        if groups.mix not in THREE_GROUPS:
            find_mix(groups.mix, k=groups.k)
            if groups.one_each:
                raise UsageError("one_each belongs to the training groups")
        noising, _, _ = self._noising, self._asking, self._exporting
        check_keys(self._model, None if noising is None else noising[1])
        Options(
            rules=given.rules, alignment=given.alignment, balance=given.balance,
            tolerate_mismatch=given.tolerate_mismatch, drop_longest=given.drop_longest,
        )  # fmt: skip
        await self._runner(self._model).check("run")

    @cached_property
    def _noising(self) -> tuple[NoisePlan, ModelAccess] | None:
        given = self.pipeline.noise
        if given is None:
            return None
        noising = NoisePlan(
            noises=given.kinds, candidates=given.candidates, keep=given.keep,
            verbalised=given.verbalised, seed=self.pipeline.seed,
        )  # fmt: skip
        return noising, reach_endpoints(given.model or self.pipeline.model, self.access)

    @cached_property
    def _asking(self) -> tuple[AskingMode, SamplingPlan]:
        from novarag.calls import Sampling

        given, groups = self.pipeline.ask, self.pipeline.groups
        mode = strategy_mode(given.strategy)
        if given.structured and given.strategy != "nova":
            raise UsageError("structured replies are those of the strategy nova: correct [ask]")
        k = groups.k if groups.mix in THREE_GROUPS else find_mix(groups.mix, k=groups.k).size
        sampling = Sampling(n=given.samples, temperature=given.temperature)
        return mode, sampling_plan(given, mode.asking, sampling, k=k)

    @cached_property
    def _exporting(self) -> ExportOptions:
        from novarag.sft.exporting import ExportOptions
        from novarag.sft.lengths import load_ruler

        given = self.pipeline.export
        ruler = load_ruler(given.tokenizer, longest=given.max_length) if given.tokenizer else None
        return ExportOptions(
            formats=given.formats, label_only=given.label_only, ruler=ruler, dev=given.dev,
            seed=self.pipeline.seed, base=given.base,
        )  # fmt: skip

    # — the steps —

    async def noise(self) -> NoiseResult | None:
        """Have passages written, if the pipeline asks for any."""
        from novarag.calls import Sampling

        given, asked = self.pipeline.noise, self._noising
        if given is None or asked is None:
            self.on_event(Note("no [noise]: the passages of the questions are all there is"))
            return None
        noising, writer = asked
        file = Path(self.pipeline.questions.file)
        limits = (self.pipeline.questions.limit, given.questions)
        source = GroupSource(
            groups=lambda: noising.requests(self._questions(given.questions)),
            name=file.name,
            hash=f"{hash_of(file)} {limits}",
        )
        sampling = Sampling(temperature=given.temperature, max_tokens=given.max_tokens)
        done = await self._runner(writer).attempt(
            source, noise_mode(noising), place="noise", samples=SamplingPlan(sampling=sampling)
        )
        done.answered_run()  # or nothing can be drawn from it
        result = sort_noise(done, noising)
        self.built = replace(self.built, noise=result)
        return result

    async def groups(self) -> GroupBuild:
        """Draw passages into groups, and audit them."""
        from novarag.datasets.groups import group_lines
        from novarag.noise.groups import build_groups

        given, file = self.pipeline.groups, self.out / "groups.jsonl"
        found = build_groups(
            chain(self._questions(), self._written()), given.mix, k=given.k,
            one_each=given.one_each, seed=self.pipeline.seed,
        )  # fmt: skip
        begun = (self.out / "run" / "manifest.json").is_file()
        if begun and file.is_file() and file.read_bytes() != group_lines(found.groups):
            raise UsageError.saying(
                "{} was begun with other groups than these settings give; change them back, or"
                " write another `out` in the pipeline",
                self.out / "run",
            )
        write_groups(found, file)
        if given.audit and given.mix in THREE_GROUPS:
            found = audited(found, given.margin)
        ended = "groups" if found.has_shortcut else None
        self.built = replace(self.built, groups=found, ended=ended)
        return found

    def _written(self) -> Iterator[PassageGroup]:
        from novarag.runs import open_run

        if self.pipeline.noise is None:
            return iter(())
        run = open_run(self.out / "noise")
        return iter_pools(run)

    async def ask(self) -> Run:
        """Ask every group for its samples."""
        mode, samples = self._asking
        run = await self._runner(self._model).ask(
            self.out / "groups.jsonl", mode, place="run", samples=samples
        )
        self.built = replace(self.built, run=run)
        return run

    async def filter(self) -> FilterResult:
        """Filter the trials."""
        given = self.pipeline.filter
        found = filter_trials(
            [self.out / "run", *given.runs], self.out / "filtered", rules=given.rules,
            alignment=given.alignment, balance=given.balance, seed=self.pipeline.seed,
            common=1 + len(given.runs), tolerate_mismatch=given.tolerate_mismatch,
            drop_longest=given.drop_longest, on_event=self.on_event,
        )  # fmt: skip
        ended = None if found.trials else "filter"
        self.built = replace(self.built, filtered=found, ended=ended)
        return found

    async def export(self) -> Export:
        """Write the training set."""
        own = [self.pipeline.ask.strategy] if ":" in self.pipeline.ask.strategy else []
        done = write_export(
            self.out / "filtered", self.out / "export", self._exporting, model=self._model.name,
            strategies=own, on_event=self.on_event,
        )  # fmt: skip
        self.built = replace(self.built, export=done)
        return done
