"""A table or figure as data: groups asked in some settings, by some systems, measured alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from novarag.config.asking import EndpointSettings, ReplySettings
from novarag.config.tables import at_least, load_table, read_toml
from novarag.defaults import GROUP, TABLE
from novarag.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DATASETS = ("strategyqa", "hotpotqa", "nq", "bamboogle")
TABLES = ("grid", "ablation", "retention", "study")
BASE, TUNED, LABELS = "base", "tuned", "label-only"
ROLES = (BASE, TUNED, LABELS)
VERBAL = "verbal"
OWN = "own"
WORDINGS = (OWN, "paper")
OF_THE_PAPER = "-paper"
"""How the name of a strategy in the paper's own wording ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSetting:
    """Where the groups of some cells come from.

    `groups` is `released` (the benchmark as published, shuffled), `clean` (our rebuilt one), `mix`
    (drawn by `mix` from all passages of a question), `retrieved` (by `search`), `closed-book` (no
    passages) or `file` (the user's own).
    """

    groups: str
    name: str = ""
    k: int = at_least(0, GROUP.k)
    mix: str | None = None
    gold_at: int | None = at_least(1, None)
    search: str | None = None
    split: str = "test"
    file: str | None = None

    @property
    def key(self) -> str:
        """Name the groups: equal keys are equal groups, in whatever table they stand."""
        own = None if self.file is None else Path(self.file).stem
        split = None if self.split == "test" else self.split
        parts = [self.groups, self.mix, self.search, own, split]
        joined = "-".join(part for part in parts if part)
        at = "" if self.gold_at is None else f"-at{self.gold_at}"
        return joined if self.groups == "closed-book" else f"{joined}-k{self.k}{at}"

    @property
    def label(self) -> str:
        """Name the groups for readers: a user's own may be of any size, so none is said."""
        return self.key.removesuffix(f"-k{self.k}") if self.groups == "file" else self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSystem:
    """A model asked by a strategy, and the method that makes a confidence of its replies.

    `settings` names those it is asked in, where that is not all of them.
    """

    name: str
    strategy: str = "vanilla"
    method: str = VERBAL
    model: str = BASE
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableGrid:
    """One table or figure: what is asked of whom, and which figures it shows.

    `paper` names the paper's tables, `quotes` figures that only its text states. Replies have at
    most as many tokens as the paper's at test unless `ask` says otherwise.
    """

    title: str
    systems: tuple[TableSystem, ...]
    settings: tuple[GridSetting, ...]
    datasets: tuple[str, ...] = DATASETS
    metrics: tuple[str, ...] = ("ece", "auroc")
    table: str = "grid"
    picture: str | None = None
    average: bool = True
    paper: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    note: str = ""
    out: str = "experiment"
    model: EndpointSettings | None = None
    tuned: EndpointSettings | None = None
    label_only: EndpointSettings | None = None
    ask: ReplySettings = field(default_factory=ReplySettings)
    questions: int | None = at_least(1, None)
    index: str | None = None
    encoder: str | None = None
    seed: int = at_least(0, TABLE.seed)
    replicates: int = at_least(100, TABLE.replicates)
    min_rows: int = at_least(10, TABLE.min_rows)

    def __post_init__(self) -> None:
        if self.ask.max_tokens is None:
            object.__setattr__(self, "ask", replace(self.ask, max_tokens=TABLE.reply_tokens))
        if self.table not in TABLES:
            raise UnknownNameError(self.table, TABLES)
        if not self.systems or not self.settings:
            raise UsageError("a table needs at least one setting and one system")
        if self.table == "ablation" and (len(self.settings), len(self.systems)) != (1, 2):
            raise UsageError("an ablation has one setting and two systems: base, then tuned")
        if len({system.name for system in self.systems}) < len(self.systems):
            raise UsageError("two systems of a table have one name")
        self._check_metrics()
        for system in self.systems:
            self._check(system)

    def _check_metrics(self) -> None:
        from novarag.metrics.table import METRICS
        from novarag.metrics.views import RATIOS

        for metric in self.metrics:
            if metric not in METRICS and metric not in RATIOS:
                raise UnknownNameError(metric, [*METRICS, *RATIOS])

    def _check(self, system: TableSystem) -> None:
        if system.model not in ROLES:
            raise UnknownNameError(system.model, ROLES)
        names = [setting.name for setting in self.settings]
        for name in system.settings:
            if name not in names:
                raise UnknownNameError(name, names)

    def asked_by(self, strategy: str) -> TableGrid:
        """Return the same table with the methods that it asks by CoT asked by another prompt.

        Methods are those that make a confidence of several replies, or of a question about one.
        """
        systems = tuple(
            replace(system, strategy=strategy)
            if system.method != VERBAL and system.strategy == TABLE.method_strategy
            else system
            for system in self.systems
        )
        return replace(self, systems=systems)

    def worded(self, wording: str) -> TableGrid:
        """Return the same table asked in a wording: ours (`own`), or the paper's own (`paper`).

        The paper's are the strategies whose names end in `-paper`; a prompt of which it prints no
        wording stays ours.
        """
        from novarag.strategies import STRATEGIES

        if wording not in WORDINGS:
            raise UnknownNameError(wording, WORDINGS)
        if wording == OWN:
            return self
        theirs = {s.strategy: f"{s.strategy}{OF_THE_PAPER}" for s in self.systems}
        systems = tuple(
            replace(s, strategy=theirs[s.strategy]) if theirs[s.strategy] in STRATEGIES else s
            for s in self.systems
        )
        return replace(self, systems=systems)

    def cells(self) -> Iterator[tuple[GridSetting, str, TableSystem]]:
        """Yield every system with every setting and dataset it is asked in."""
        for setting in self.settings:
            for dataset in self.datasets:
                for system in self.systems:
                    if not system.settings or setting.name in system.settings:
                        yield setting, dataset, system


EXPERIMENTS = (
    "main-k3", "k4", "k5", "real-bm25", "real-dense", "prompts", "controlled-noise",
    "gold-position", "rules", "sampling", "closed-book", "accuracy", "judgments", "reliability",
    "retention", "human-study",
)  # fmt: skip
"""The tables and figures that ship with the package, in `presets/table`, as a page orders them."""


def is_grid(sources: Sequence[str | Path]) -> bool:
    """Say whether some files, or presets, are a table: it has systems."""
    shipped = [source for source in sources if str(source) in EXPERIMENTS]
    files = [Path(s) for s in sources if Path(s).is_file()]
    return bool(shipped) or any("systems" in read_toml(file, EXPERIMENTS) for file in files)


def load_grid(*sources: str | Path) -> TableGrid:
    """Read a table from files or presets; later ones override earlier ones, key by key."""
    return load_table(TableGrid, sources, EXPERIMENTS, folder="table")
