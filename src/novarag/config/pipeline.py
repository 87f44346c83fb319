"""From questions to a training set: what `novarag train build` is told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from novarag.config.asking import EndpointSettings, ReplySettings
from novarag.config.tables import at_least, load_table
from novarag.defaults import EXPORT, FILTER, GROUP, NOISE


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSettings:
    """Questions with gold passages; other labelled passages in the file join the pool."""

    file: str
    limit: int | None = at_least(1, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSettings:
    """What passages a model writes."""

    kinds: tuple[str, ...] = NOISE.kinds
    candidates: int = at_least(1, NOISE.candidates)
    keep: int = at_least(1, NOISE.keep)
    verbalised: bool = False
    temperature: float = at_least(0, NOISE.temperature)
    max_tokens: int | None = at_least(1, None)
    questions: int | None = at_least(1, None)
    model: EndpointSettings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """How passages are drawn into groups."""

    mix: str = "training"
    k: int = at_least(1, GROUP.k)
    one_each: bool = False
    audit: bool = True
    margin: float = at_least(0, GROUP.margin)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskSettings(ReplySettings):
    """How the groups are asked."""

    strategy: str = "nova"
    samples: int = at_least(1, 16)
    temperature: float = at_least(0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    """How trials are filtered; `runs` are other models' runs for the common questions."""

    rules: str = FILTER.rules
    alignment: str = FILTER.alignment
    balance: str = FILTER.balance
    drop_longest: float = at_least(0, FILTER.drop_longest)
    tolerate_mismatch: bool = False
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSettings:
    """What the training set looks like."""

    formats: tuple[str, ...] = ("canonical", "llama-factory", "openai")
    label_only: bool = False
    tokenizer: str | None = None
    max_length: int = at_least(1, EXPORT.max_length)
    dev: float = at_least(0, EXPORT.dev)
    base: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Everything `novarag train build` needs to know."""

    model: EndpointSettings
    questions: QuestionSettings
    out: str = "build"
    seed: int = at_least(0, 0)
    noise: NoiseSettings | None = None
    groups: GroupSettings = field(default_factory=GroupSettings)
    ask: AskSettings = field(default_factory=AskSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    export: ExportSettings = field(default_factory=ExportSettings)


PRESETS = ("paper", "released")
"""Settings that ship with the package, in `presets/build`."""


def load_pipeline(*sources: str | Path) -> Pipeline:
    """Read a pipeline from files or presets; later ones override earlier ones, key by key."""
    return load_table(Pipeline, sources, PRESETS, folder="build")


REHEARSING = "simulated:base"
"""The model that takes every model's place in a rehearsal."""


def rehearse_pipeline(pipeline: Pipeline) -> Pipeline:
    """Put a simulated model in the place of every model, and the results into a folder beside.

    Other models' runs are left out: they hold other passages than a rehearsal writes.
    """
    out = Path(pipeline.out)
    if out.name in {"", ".."}:  # a path such as "." ends in no name
        out = out.resolve()
    noise = pipeline.noise
    return replace(
        pipeline,
        out=f"{out}-rehearsal",
        model=EndpointSettings(endpoints=(REHEARSING,)),
        noise=None if noise is None else replace(noise, model=None),
        filter=replace(pipeline.filter, runs=()),
    )
