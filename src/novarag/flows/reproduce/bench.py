"""All that tables are made with: models, data and a folder in which replies are asked for once."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from novarag.atomic import write_whole
from novarag.config.grid import BASE, GridSetting
from novarag.errors import NovaragError, ServiceError, UnfinishedError, UsageError
from novarag.flows.draws import Draws, cost_of, iter_estimates
from novarag.flows.estimate import find_methods
from novarag.flows.events import Note, RunBegun, RunEnded, RunProgress, silent
from novarag.flows.reproduce.groups import DataScope, make_groups
from novarag.runner.access import check_keys
from novarag.runner.runner import Runner
from novarag.runner.sources import hash_of, source_of
from novarag.runner.stop import Stop
from novarag.strategies import find_strategy
from novarag.uncertainty import GREEDY, Need, serving, union

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from novarag.calls import Cost
    from novarag.config.asking import ReplySettings
    from novarag.config.grid import TableGrid, TableSystem
    from novarag.flows.events import Event, EventListener
    from novarag.records import Passage, PassageGroup, Trial
    from novarag.retrieval.encoding import Encoder
    from novarag.retrieval.milvus import MilvusIndex
    from novarag.runner.access import ModelAccess
    from novarag.runs import Run
    from novarag.uncertainty import Method

    Ask = tuple[GridSetting, str, str, str]

_TOGETHER = 4  # asks at a time

SAMPLED = Need(samples=16, temperature=1.0)
"""What a training set is filtered from."""


def _method(system: TableSystem) -> Method:
    """Find the one method of a system."""
    found = find_methods([system.method])
    if len(found) != 1:
        raise UsageError(f"{system.name!r} has {len(found)} methods: name one")
    return found[0].beside(find_strategy(system.strategy).name)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """All that tables are made with. `models` says how each role is reached.

    `questions` limits every set; groups, draws and what they were made with stay in `out`.
    """

    out: Path
    models: Mapping[str, ModelAccess]
    replies: ReplySettings
    questions: int | None = None
    data: Path | None = None
    index: str | None = None
    encoder: str | None = None
    seed: int = 0
    on_event: EventListener = silent
    _drawn: dict[Ask, dict[Need, Run]] = field(default_factory=dict)
    _groups: dict[Path, list[PassageGroup]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_keys(*self.models.values(), encoder=self.encoder)

    # — who is asked —

    @property
    def names(self) -> dict[str, str]:
        """Return the name of the model in each role."""
        return {role: model.name for role, model in self.models.items()}

    @property
    def simulated(self) -> bool:
        """Say whether a simulated respondent is among the models."""
        return any(model.simulated for model in self.models.values())

    def role(self, system: TableSystem) -> str:
        """Say who answers for a system: where its model is not at hand, the base does."""
        return system.model if system.model in self.models else BASE

    def named(self, system: TableSystem) -> TableSystem:
        """Say in a system's name where the base stands in for a trained model."""
        stands_in = system.model not in self.models
        return replace(system, name=f"{system.name} (prompt only)") if stands_in else system

    # — what is at hand —

    def lacking(self, grid: TableGrid) -> tuple[str, ...]:
        """Name the parameters that a table needs and that are not at hand; mostly none.

        Groups that were retrieved before are in the folder, and need neither index nor encoder.
        """
        searched = {
            setting.search
            for setting, dataset, _ in grid.cells()
            if setting.groups == "retrieved" and not self._file(setting, dataset).is_file()
        }
        wanted = {"index": bool(searched), "encoder": bool(searched - {"bm25"})}
        return tuple(name for name, needed in wanted.items() if needed and not getattr(self, name))

    # — asking —

    async def ask(self, grids: Sequence[TableGrid], stop: Stop) -> None:
        """Ask what all tables need; replies that several need are asked for once."""
        stamp = self._stamp()
        asks = self._asks(grids)
        with ExitStack() as stack:
            search = _Search(self.index, self.encoder, stack) if self.index else None
            for setting, dataset, *_ in asks:
                await self._make_groups(setting, dataset, search)
        write_whole(self._file_stamp, orjson.dumps(stamp, option=orjson.OPT_INDENT_2))
        waiting = {ask[2] for ask in asks if not self._draws(ask).are_drawn(union(asks[ask]))}
        for role in [role for role in self.models if role in waiting]:
            await self.models[role].check()  # all of them, before the first is paid
        await self._draw(asks, stop)

    async def _draw(self, asks: Mapping[Ask, Sequence[Need]], stop: Stop) -> None:
        """Get the replies of several asks at a time: one that ends must not idle the server."""
        halt, turns = stop.fork(), asyncio.Semaphore(_TOGETHER)
        unfinished: list[UnfinishedError] = []

        async def one(number: int, ask: Ask) -> None:
            async with turns:
                if halt.is_set():
                    return
                setting, dataset, role, strategy = ask
                about = f"{dataset}, {setting.label}: {self.names[role]}, {strategy}"
                self.on_event(Note(f"[{number}/{len(asks)}] {about}"))
                try:
                    self._drawn[ask] = await self._draws(ask, halt).draw(union(asks[ask]))
                except UnfinishedError as error:
                    unfinished.append(error)
                    halt.set()

        try:
            async with asyncio.TaskGroup() as tasks:
                for number, ask in enumerate(asks, start=1):
                    tasks.create_task(one(number, ask))
        except* NovaragError as errors:
            raise errors.exceptions[0] from None  # the first to fail stopped the others
        if unfinished or len(self._drawn) < len(asks):
            failed = any(not error.stopped for error in unfinished) and not stop.is_set()
            raise UnfinishedError(str(self.out), stopped=not failed)

    def _quiet(self, event: Event) -> None:
        """Tell of a run only what is amiss: many run at once."""
        fine = isinstance(event, RunEnded) and event.summary.finished and not event.summary.dead
        if not fine and not isinstance(event, (RunBegun, RunProgress)):
            self.on_event(event)

    def _asks(self, grids: Iterable[TableGrid]) -> dict[Ask, list[Need]]:
        asks: dict[Ask, list[Need]] = {}
        for grid in grids:
            for setting, dataset, system in grid.cells():
                needs = asks.setdefault(self._ask(setting, dataset, system), [])
                needs += [SAMPLED] if grid.table == "retention" else _method(system).needs
        return asks

    def _ask(self, setting: GridSetting, dataset: str, system: TableSystem) -> Ask:
        return replace(setting, name=""), dataset, self.role(system), system.strategy

    def _draws(self, ask: Ask, stop: Stop | None = None) -> Draws:
        setting, dataset, role, strategy = ask
        groups, model = self.groups(setting, dataset), self.models[role]
        file = self._file(setting, dataset)
        share = max(1, model.access.concurrency // _TOGETHER)
        return Draws(
            source=source_of(groups, name=file.name, hash=hash_of(file)),
            strategy=strategy,
            runner=Runner(
                model=replace(model, access=replace(model.access, concurrency=share)),
                folder=self.out / "draws" / file.stem / role / strategy.replace(":", "."),
                on_event=self._quiet,
                stop=stop or Stop(),
            ),
            replies=self.replies,
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
        stamp: dict[str, object] = {
            "questions": self.questions,
            "seed": self.seed,
            **more,
            "models": self.names,
        }
        if not self._file_stamp.is_file():
            return stamp
        old = self._old_stamp()
        clash = [k for k in ("questions", "seed") if old.get(k) != stamp[k]]
        clash += [k for k in more if old.get(k) and stamp[k] and old[k] != stamp[k]]
        models = old.get("models", {})
        clash += [r for r, model in self.names.items() if models.get(r, model) != model]
        if clash:
            raise UsageError.saying(
                "{} was begun with another {}; change that back, or give another `out`",
                self.out,
                " and ".join(clash),
            )
        kept = {k: stamp[k] or old.get(k) for k in more}
        return stamp | kept | {"models": models | self.names}

    def _old_stamp(self) -> dict[str, Any]:
        try:
            old = orjson.loads(self._file_stamp.read_bytes())
            if isinstance(old["models"], dict):
                return dict(old)
        except (orjson.JSONDecodeError, TypeError, KeyError):
            pass
        raise UsageError.saying("{} is damaged; give another `out`", self._file_stamp)

    # — groups —

    def _file(self, setting: GridSetting, dataset: str) -> Path:
        own = "" if setting.file is None else f"-{hash_of(Path(setting.file))[:8]}"
        return self.out / "groups" / f"{dataset}-{setting.key}{own}.jsonl"

    def groups(self, setting: GridSetting, dataset: str) -> list[PassageGroup]:
        """Return the groups of a setting, which were made before."""
        return self._groups[self._file(setting, dataset)]

    async def _make_groups(
        self, setting: GridSetting, dataset: str, search: _Search | None
    ) -> None:
        """Make the groups of a setting, or find them in the folder."""
        from novarag.datasets.groups import group_line, iter_groups

        file = self._file(setting, dataset)
        if file in self._groups:
            return
        if not file.is_file():
            self.on_event(Note(f"making groups: {dataset}, {setting.label}"))
            scope = DataScope(
                data=self.data, questions=self.questions, seed=self.seed, search=search
            )
            found = await make_groups(setting, dataset, scope)
            if not found:
                raise UsageError(f"{dataset} has no groups for {setting.label}")
            write_whole(file, b"".join(map(group_line, found)))
        self._groups[file] = list(iter_groups(file))

    # — what came back —

    def estimates(
        self, setting: GridSetting, dataset: str, system: TableSystem
    ) -> tuple[pl.DataFrame, Cost]:
        """Return what a system's method makes of its replies, and what they took."""
        import polars as pl

        method = _method(system)
        drawn = self._drawn[self._ask(setting, dataset, system)]
        table = pl.concat(iter_estimates(drawn, [method], system.strategy))
        if table.is_empty():
            raise ServiceError(f"all requests of {system.name} failed", retryable=True)
        return table, cost_of(method, drawn)

    def named_groups(
        self, setting: GridSetting, dataset: str, system: TableSystem
    ) -> list[PassageGroup]:
        """Return the groups as they were asked, each under the name that its answers go by."""
        drawn = self._drawn[self._ask(setting, dataset, system)]
        return list(next(iter(drawn.values())).groups())

    def greedy(
        self, setting: GridSetting, dataset: str, system: TableSystem
    ) -> dict[str, list[Trial]]:
        """Return a system's likeliest replies by group."""
        drawn = self._drawn[self._ask(setting, dataset, system)]
        return drawn[serving(GREEDY, drawn)].trials_by_group()

    def run(self, setting: GridSetting, dataset: str, system: TableSystem, need: Need) -> Run:
        """Return the run that serves a need."""
        drawn = self._drawn[self._ask(setting, dataset, system)]
        return drawn[serving(need, drawn)]


class _Search:
    """Search of an index, opened when the first setting needs it."""

    def __init__(self, index: str | None, encoder: str | None, stack: ExitStack) -> None:
        self._uri, self._name, self._stack = str(index), encoder, stack
        self._index: MilvusIndex | None = None
        self._encoder: Encoder | None = None

    async def __call__(
        self, mode: str, queries: Sequence[str], k: int
    ) -> Sequence[Sequence[Passage]]:
        from novarag.flows.encoders import open_encoder
        from novarag.retrieval.milvus import open_index
        from novarag.retrieval.searching import MilvusRetriever

        if self._index is None:
            self._index = self._stack.enter_context(open_index(self._uri))
        if mode != "bm25" and self._encoder is None:
            if self._name is None:
                raise UsageError.saying(
                    "a dense search needs the encoder of the index: add `encoder`"
                )
            self._encoder = await open_encoder(self._name)
        encoder = None if mode == "bm25" else self._encoder
        return await MilvusRetriever(self._index, mode=mode, encoder=encoder).search(queries, k=k)
