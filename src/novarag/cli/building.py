"""The verb that goes all the way: from questions to a training set."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novarag.cli.common import find_strategy
from novarag.cli.console import asking, sum_up
from novarag.cli.models import DriverName, PerMillion, RayAddress, RetryFailed, model_name
from novarag.cli.noise import print_tally
from novarag.cli.running import (
    Means,
    Source,
    Task,
    begin,
    check_server,
    hash_of,
    means_of,
    settings_of,
    walk,
)
from novarag.cli.screen import parse_price
from novarag.errors import UsageError
from novarag.flows import jobs
from novarag.flows.access import Access, reach_endpoints
from novarag.flows.group import audited, write_groups
from novarag.flows.looping import run_sync
from novarag.flows.noise import questions_of, write_noise
from novarag.grouping import find_mix
from novarag.noise import Noising
from novarag.noise.group_build import TRAINING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from novarag.cli.screen import Price as OldPrice
    from novarag.config import Endpoints, Pipeline
    from novarag.filters import Options as FilterOptions
    from novarag.records import PassageGroup
    from novarag.runs.manifest import Settings
    from novarag.sft import Options as ExportOptions
    from novarag.strategies import Strategy


def build(
    pipeline: Annotated[
        list[str],
        typer.Argument(help="TOML files, or the preset `paper`; later ones override earlier ones."),
    ],
    driver: DriverName = "local",
    ray_address: RayAddress = None,
    price: PerMillion = None,
    retry_failed: RetryFailed = False,
) -> None:
    """Build a training set: noise, groups, samples, filter, export; run it again to go on."""
    from novarag.config import load_pipeline

    found = load_pipeline(*pipeline)
    way = _Way(found, driver, ray_address, parse_price(price), retry_failed)
    way.check()
    walk([way.noise, way.groups, way.ask, way.filter, way.export])
    print(f"next: train on {way.out / 'export'}; its README.md says what is in it")


@dataclass(frozen=True)
class _Way:
    """The steps of a pipeline; each leaves its result in the folder, or finds it there."""

    pipeline: Pipeline
    driver: str
    ray_address: str | None
    price: OldPrice | None
    retry_failed: bool

    @property
    def out(self) -> Path:
        return Path(self.pipeline.out)

    def _means(self, told: Endpoints) -> Means:
        return means_of(
            told, driver=self.driver, ray_address=self.ray_address, price=self.price,
            retry_failed=self.retry_failed,
        )  # fmt: skip

    def _questions(self, limit: int | None = None) -> Iterator[PassageGroup]:
        told = self.pipeline.questions
        few = [n for n in (told.limit, limit) if n is not None]
        return islice(questions_of(Path(told.file)), min(few) if few else None)

    def check(self) -> None:
        """Complain about any setting now, not when its step comes and the others are paid for."""
        told = self.pipeline.groups
        if told.mix == TRAINING and told.k < 3:
            raise UsageError("training groups have 3 passages or more: mend k in [groups]")
        if told.mix != TRAINING:
            find_mix(told.mix, k=told.k)
            if told.one_each:
                raise UsageError("one_each belongs to the training groups")
        _ = (self._noising, self._asking, self._filtering, self._exporting)
        check_server(self._means(self.pipeline.model), str(self.out / "run"))

    @cached_property
    def _noising(self) -> Noising | None:
        told = self.pipeline.noise
        if told is None:
            return None
        self._means(told.model or self.pipeline.model).connector()
        return Noising(
            noises=told.kinds, candidates=told.candidates, keep=told.keep,
            verbalised=told.verbalised, seed=self.pipeline.seed,
        )  # fmt: skip

    @cached_property
    def _asking(self) -> tuple[Strategy, Settings]:
        from novarag.calls import Sampling

        told, groups = self.pipeline.ask, self.pipeline.groups
        strategy, means = find_strategy(told.strategy), self._means(self.pipeline.model)
        if told.structured and told.strategy != "nova":
            raise UsageError("structured replies are those of the strategy nova: mend [ask]")
        k = groups.k if groups.mix == TRAINING else find_mix(groups.mix, k=groups.k).size
        sampling = Sampling(n=told.samples, temperature=told.temperature)
        return strategy, settings_of(told, strategy, means, sampling, k=k, name=told.strategy)

    @cached_property
    def _filtering(self) -> FilterOptions:
        from novarag.filters import Options

        told = self.pipeline.filter
        return Options(
            rules=told.rules, alignment=told.alignment, balance=told.balance,
            seed=self.pipeline.seed, common=1 + len(told.runs),
        )  # fmt: skip

    @cached_property
    def _exporting(self) -> ExportOptions:
        from novarag.sft import Options, load_ruler

        told = self.pipeline.export
        ruler = load_ruler(told.tokenizer, longest=told.max_length) if told.tokenizer else None
        return Options(
            formats=told.formats, label_only=told.label_only, ruler=ruler, dev=told.dev,
            seed=self.pipeline.seed, base=told.base,
        )  # fmt: skip

    # — the steps —

    def noise(self) -> int:
        """Have passages written, if the pipeline asks for any."""
        from novarag.calls import Price, Sampling
        from novarag.runs import Settings, is_finished, open_store

        told, noising = self.pipeline.noise, self._noising
        if told is None or noising is None:
            print("no [noise]: the passages of the questions are all there is", file=sys.stderr)
            return 0
        access = Access(
            driver=self.driver, ray_address=self.ray_address, retry_failed=self.retry_failed
        )
        writer = reach_endpoints(told.model or self.pipeline.model, access)
        settings = Settings(
            strategy=noising.name, template_hash=noising.fingerprint, model=writer.name,
            noise=noising,
            sampling=Sampling(temperature=told.temperature, max_tokens=told.max_tokens),
        )  # fmt: skip
        file, limits = self.pipeline.questions.file, (self.pipeline.questions.limit, told.questions)
        source = jobs.Source(
            groups=lambda: noising.requests(self._questions(told.questions)),
            name=Path(file).name,
            hash=f"{hash_of(Path(file))} {limits}",
        )
        store = open_store(self.out / "noise")
        price = Price(self.price.prompt, self.price.completion) if self.price else None
        with asking(price) as (tell, stop):
            result = run_sync(write_noise(source, settings, store, writer, tell=tell, stop=stop))
        code = sum_up(result.run, price, alone=False)
        print_tally(result.tally or ())
        return 0 if is_finished(store) else code

    def groups(self) -> int:
        """Draw passages into groups, and audit them."""
        from novarag.datasets.groups import group_lines
        from novarag.noise.groups import build_groups

        told, file = self.pipeline.groups, self.out / "groups.jsonl"
        found = build_groups(
            chain(self._questions(), self._written()), told.mix, k=told.k, one_each=told.one_each,
            seed=self.pipeline.seed,
        )  # fmt: skip
        begun = (self.out / "run" / "manifest.json").is_file()
        if begun and file.is_file() and file.read_bytes() != group_lines(found.groups):
            raise UsageError(
                f"{self.out / 'run'} was begun with other groups than these settings give; change"
                " them back, or write another `out` in the pipeline"
            )
        write_groups(found, file)
        if told.audit and told.mix == TRAINING:
            found = audited(found, told.margin)
        print(found)
        if found.has_shortcut:
            print("to go on in spite of it, write audit = false in [groups]")
            return 1
        return 0

    def _written(self) -> Iterator[PassageGroup]:
        from novarag.runs import open_store
        from novarag.runs.drafts import iter_pools
        from novarag.runs.look import open_run

        if self.pipeline.noise is None:
            return iter(())
        store = open_store(self.out / "noise")
        return iter_pools(store, open_run(store))

    def ask(self) -> int:
        """Ask every group for its samples."""
        from novarag.datasets import iter_groups
        from novarag.runs import is_finished

        strategy, settings = self._asking
        file, means = self.out / "groups.jsonl", self._means(self.pipeline.model)
        source = Source(groups=partial(iter_groups, file), name=file.name, hash=hash_of(file))
        job = begin(strategy, source, settings, str(self.out / "run"), means)
        code = asyncio.run(Task(job, means, alone=False).run())
        return 0 if is_finished(job.store) else code

    def filter(self) -> int:
        """Pour the trials through the funnel."""
        from novarag.cli.filtering import run_filter

        runs = [str(self.out / "run"), *self.pipeline.filter.runs]
        return 0 if run_filter(runs, self.out / "filtered", self._filtering) else 1

    def export(self) -> int:
        """Write the training set."""
        from novarag.cli.exporting import write_export

        own = [self.pipeline.ask.strategy] if ":" in self.pipeline.ask.strategy else []
        model = model_name(self.pipeline.model.endpoints)
        kept, out = self.out / "filtered", self.out / "export"
        write_export(kept, out, self._exporting, model=model, own=own)
        return 0
