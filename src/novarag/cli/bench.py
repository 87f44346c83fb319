"""Where tables are made: models, data and a folder in which every reply is asked for once."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from novarag.atomic import write_whole
from novarag.cli.drawing import Drawing
from novarag.cli.estimating import find_methods
from novarag.cli.models import is_simulated, model_name
from novarag.cli.running import Source, check_server, hash_of, stopped_by_signals
from novarag.config.grid import BASE, Setting
from novarag.errors import NovaragError, ServiceError, UsageError
from novarag.flows.encoders import open_encoder
from novarag.flows.looping import run_sync
from novarag.strategies import find_strategy
from novarag.uncertainty import GREEDY, Need, serving, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from novarag.calls import Cost
    from novarag.cli.running import Means
    from novarag.config.asking import Replies
    from novarag.config.grid import Grid, System
    from novarag.records import Passage, PassageGroup, Trial
    from novarag.retrieval.encoding import Encoder
    from novarag.retrieval.milvus import Index
    from novarag.runs import Run
    from novarag.uncertainty import Method

    Ask = tuple[Setting, str, str, str]

_TOGETHER = 4  # asks at a time

SAMPLED = Need(samples=16, temperature=1.0)
"""What a training set is filtered from."""


def _method(system: System) -> Method:
    """Find the one method of a system."""
    found = find_methods([system.method])
    if len(found) != 1:
        raise UsageError(f"{system.name!r} has {len(found)} methods: name one")
    return found[0].beside(find_strategy(system.strategy).name)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """All that tables are made with. `means` says how each role is reached.

    `questions` limits every set; groups, draws and what they were made with stay in `out`.
    """

    out: Path
    means: Mapping[str, Means]
    replies: Replies
    questions: int | None = None
    data: Path | None = None
    index: str | None = None
    encoder: str | None = None
    seed: int = 0
    _drawn: dict[Ask, dict[Need, Run]] = field(default_factory=dict)
    _groups: dict[Path, list[PassageGroup]] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)

    # — who is asked —

    @property
    def models(self) -> dict[str, str]:
        """Return the name of the model in each role."""
        return {role: model_name(means.models) for role, means in self.means.items()}

    @property
    def simulated(self) -> bool:
        """Say whether a simulated respondent is among the models."""
        return any(is_simulated(means.models) for means in self.means.values())

    def role(self, system: System) -> str:
        """Say who answers for a system: where its model is not at hand, the base does."""
        return system.model if system.model in self.means else BASE

    def named(self, system: System) -> System:
        """Say in a system's name where the base stands in for a trained model."""
        stands_in = system.model not in self.means
        return replace(system, name=f"{system.name} (prompt only)") if stands_in else system

    # — asking —

    def ask(self, grids: Sequence[Grid]) -> int:
        """Ask what all tables need; replies that several need are asked for once."""
        told = self._stamp()
        asks = self._asks(grids)
        with self._open:
            for setting, dataset, *_ in asks:
                self.groups(setting, dataset)
        write_whole(self._file_stamp, orjson.dumps(told, option=orjson.OPT_INDENT_2))
        for role in self.means:
            drawings = [(self._drawing(ask), union(asks[ask])) for ask in asks if ask[2] == role]
            places = [place for drawing, needs in drawings for place in drawing.places(needs)]
            check_server(self.means[role], *places)
        return asyncio.run(self._draw(asks))

    async def _draw(self, asks: Mapping[Ask, Sequence[Need]]) -> int:
        """Get the replies of several asks at a time: one that ends must not idle the server."""
        stop, turns, codes = stopped_by_signals(), asyncio.Semaphore(_TOGETHER), [0]

        async def one(number: int, ask: Ask) -> None:
            async with turns:
                if stop.is_set():
                    return
                setting, dataset, role, strategy = ask
                said = f"{dataset}, {setting.key}: {self.models[role]}, {strategy}"
                print(f"[{number}/{len(asks)}] {said}", file=sys.stderr)
                drawn = await self._drawing(ask).draw(union(asks[ask]), stop)
                if isinstance(drawn, int):
                    codes.append(drawn)
                    stop.set()
                else:
                    self._drawn[ask] = drawn

        try:
            async with asyncio.TaskGroup() as tasks:
                for number, ask in enumerate(asks, start=1):
                    tasks.create_task(one(number, ask))
        except* NovaragError as errors:
            raise errors.exceptions[0] from None  # the first to fail stopped the others
        return max(codes) or (130 if len(self._drawn) < len(asks) else 0)

    def _asks(self, grids: Iterable[Grid]) -> dict[Ask, list[Need]]:
        asks: dict[Ask, list[Need]] = {}
        for grid in grids:
            for setting, dataset, system in grid.cells():
                needs = asks.setdefault(self._ask(setting, dataset, system), [])
                needs += [SAMPLED] if grid.table == "retention" else _method(system).needs
        return asks

    def _ask(self, setting: Setting, dataset: str, system: System) -> Ask:
        return replace(setting, name=""), dataset, self.role(system), system.strategy

    def _drawing(self, ask: Ask) -> Drawing:
        setting, dataset, role, strategy = ask
        groups, means = self.groups(setting, dataset), self.means[role]
        file = self._file(setting, dataset)
        return Drawing(
            source=Source(groups=partial(iter, groups), name=file.name, hash=hash_of(file)),
            strategy=strategy,
            means=replace(means, concurrency=max(1, means.concurrency // _TOGETHER)),
            replies=self.replies,
            folder=self.out / "draws" / file.stem / role / strategy.replace(":", "."),
            k=setting.k,
        )

    @property
    def _file_stamp(self) -> Path:
        return self.out / "reproduce.json"

    def _stamp(self) -> dict[str, object]:
        """Say what the folder is made with; refuse one that was begun otherwise.

        Models and an index may be added later: what was asked without them stays as it is.
        """
        data = str(self.data or os.environ.get("NOVARAG_DATA", ""))
        more = {"data": data, "index": self.index, "encoder": self.encoder}
        told: dict[str, object] = {
            "questions": self.questions,
            "seed": self.seed,
            **more,
            "models": self.models,
        }
        if not self._file_stamp.is_file():
            return told
        old = orjson.loads(self._file_stamp.read_bytes())
        clash = [k for k in ("questions", "seed") if old.get(k) != told[k]]
        clash += [k for k in more if old.get(k) and told[k] and old[k] != told[k]]
        models = old.get("models", {})
        clash += [r for r, model in self.models.items() if models.get(r, model) != model]
        if clash:
            raise UsageError(
                f"{self.out} was begun with another {' and '.join(clash)}; change that back, or"
                " give another --out"
            )
        kept = {k: told[k] or old.get(k) for k in more}
        return told | kept | {"models": models | self.models}

    # — groups —

    def _file(self, setting: Setting, dataset: str) -> Path:
        own = "" if setting.file is None else f"-{hash_of(Path(setting.file))[:8]}"
        return self.out / "groups" / f"{dataset}-{setting.key}{own}.jsonl"

    def groups(self, setting: Setting, dataset: str) -> list[PassageGroup]:
        """Make the groups of a setting, or find them in the folder."""
        from novarag.datasets.groups import group_line, iter_groups
        from novarag.reproduction.sets import Where, make_groups

        file = self._file(setting, dataset)
        if file not in self._groups:
            if not file.is_file():
                print(f"making groups: {dataset}, {setting.key}", file=sys.stderr)
                search = self._search if self.index else None
                where = Where(
                    data=self.data, questions=self.questions, seed=self.seed, search=search
                )
                found = asyncio.run(make_groups(setting, dataset, where))
                if not found:
                    raise UsageError(f"{dataset} has no groups for {setting.key}")
                file.parent.mkdir(parents=True, exist_ok=True)
                write_whole(file, b"".join(map(group_line, found)))
            self._groups[file] = list(iter_groups(file))
        return self._groups[file]

    async def _search(
        self, mode: str, queries: Sequence[str], k: int
    ) -> Sequence[Sequence[Passage]]:
        from novarag.retrieval.searching import MilvusRetriever

        encoder = None if mode == "bm25" else self._encoder
        return await MilvusRetriever(self._index, mode=mode, encoder=encoder).search(queries, k=k)

    @cached_property
    def _index(self) -> Index:
        from novarag.retrieval.milvus import open_index

        return self._open.enter_context(open_index(str(self.index)))

    @cached_property
    def _encoder(self) -> Encoder:
        if self.encoder is None:
            raise UsageError("a dense search needs the encoder of the index: add --encoder")
        return run_sync(open_encoder(self.encoder))

    # — what came back —

    def estimates(
        self, setting: Setting, dataset: str, system: System
    ) -> tuple[pl.DataFrame, Cost]:
        """Return what a system's method makes of its replies, and what they took."""
        import polars as pl

        from novarag.runs.draws import cost_of, iter_estimates

        method = _method(system)
        drawn = self._drawn[self._ask(setting, dataset, system)]
        table = pl.concat(iter_estimates(drawn, [method], system.strategy))
        if table.is_empty():
            raise ServiceError(f"all requests of {system.name} failed", retryable=True)
        return table, cost_of(method, drawn)

    def named_groups(self, setting: Setting, dataset: str, system: System) -> list[PassageGroup]:
        """Return the groups as they were asked, each under the name that its answers go by."""
        drawn = self._drawn[self._ask(setting, dataset, system)]
        return list(next(iter(drawn.values())).groups())

    def greedy(self, setting: Setting, dataset: str, system: System) -> dict[str, list[Trial]]:
        """Return a system's likeliest replies by group."""
        from novarag.runs.draws import by_group

        drawn = self._drawn[self._ask(setting, dataset, system)]
        return by_group(drawn[serving(GREEDY, drawn)])

    def run(self, setting: Setting, dataset: str, system: System, need: Need) -> str:
        """Return the folder of the run that serves a need."""
        drawn = self._drawn[self._ask(setting, dataset, system)]
        return str(drawn[serving(need, drawn)].store.place)
