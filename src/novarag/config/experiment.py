"""From a corpus to a report: what `novarag run experiment` is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from novarag.config.asking import EndpointSettings, ReplySettings
from novarag.config.pipeline import QuestionSettings  # noqa: TC001 - read as settings
from novarag.config.tables import at_least, load_table
from novarag.defaults import ANNOTATE, INDEX, MEASURE, RETRIEVE

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSettings:
    """The documents to search in, and how they are cut into passages."""

    files: tuple[str, ...]
    words: int = at_least(0, INDEX.words)
    limit: int | None = at_least(1, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """Where the index is, and what it is made with; by default a file in `out`."""

    uri: str | None = None
    collection: str = INDEX.collection
    analyzer: str = INDEX.analyzer
    k1: float = at_least(0, INDEX.k1)
    b: float = at_least(0, INDEX.b)
    vectors: str = INDEX.vectors
    encoder: str | None = None
    key_env: str | None = None
    token_env: str = "MILVUS_TOKEN"  # noqa: S105 - the name of a variable


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveSettings:
    """How passages are found; `object` or `http` name a search of the user's own."""

    mode: str = RETRIEVE.mode
    k: int = at_least(1, RETRIEVE.k)
    shuffle: bool = True
    object: str | None = None
    http: str | None = None
    key_env: str | None = None

    @property
    def own(self) -> str | None:
        """The user's own search, if there is one."""
        return self.object or self.http


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotateSettings:
    """From what confidence on a passage that was found gets a kind; by its words alone."""

    min_confidence: float = at_least(0, ANNOTATE.min_confidence)
    replicates: int = at_least(100, ANNOTATE.replicates)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategiesSettings(ReplySettings):
    """How the groups are asked: once by each strategy."""

    strategies: tuple[str, ...] = ("vanilla", "cot", "multi-step")
    samples: int = at_least(1, 1)
    temperature: float = at_least(0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureSettings:
    """What the report says."""

    title: str = "How honest is the confidence under real retrieval?"
    by: tuple[str, ...] = ("strategy",)
    replicates: int = at_least(100, MEASURE.replicates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Everything `novarag run experiment` needs to know."""

    model: EndpointSettings
    questions: QuestionSettings
    corpus: CorpusSettings | None = None
    out: str = "experiment"
    seed: int = at_least(0, MEASURE.seed)
    index: IndexSettings = field(default_factory=IndexSettings)
    retrieve: RetrieveSettings = field(default_factory=RetrieveSettings)
    annotate: AnnotateSettings | None = None
    ask: StrategiesSettings = field(default_factory=StrategiesSettings)
    measure: MeasureSettings = field(default_factory=MeasureSettings)


EXPERIMENTS = ("retrieval-bm25", "retrieval-dense")
"""Experiments that ship with the package, in `presets/experiment`."""


def load_experiment(*sources: str | Path) -> Experiment:
    """Read an experiment from files or presets; later ones override earlier ones, key by key."""
    return load_table(Experiment, sources, EXPERIMENTS, folder="experiment")
