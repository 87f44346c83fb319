"""The groups behind the cells of a table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from novarag.datasets.benchmark import load_benchmark
from novarag.datasets.clean import clean_pools
from novarag.datasets.groups import iter_groups
from novarag.errors import UnknownNameError, UsageError
from novarag.grouping import assemble, find_mix
from novarag.noise.training_groups import sound_pool, training_groups
from novarag.records import PassageGroup
from novarag.seeding import rng_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from novarag.config.grid import GridSetting
    from novarag.records import Passage, Question

    IndexSearch = Callable[[str, Sequence[str], int], Awaitable[Sequence[Sequence[Passage]]]]

SOURCES = ("released", "clean", "mix", "retrieved", "closed-book", "file")


@dataclass(frozen=True, kw_only=True)
class DataScope:
    """Where data is, how much of it is used, and how passages are found.

    `questions` limits each set to that many questions with one group each, by seeded luck.
    """

    data: Path | None = None
    questions: int | None = None
    seed: int = 0
    search: IndexSearch | None = None


async def make_groups(setting: GridSetting, dataset: str, where: DataScope) -> list[PassageGroup]:
    """Make the groups of a setting for one dataset; the same arguments give the same groups."""
    match setting.groups:
        case "released":
            whole = load_benchmark(dataset, part=setting.split, k=setting.k, data=where.data)
            found = [assemble(g.question, g.passages, seed=where.seed, id=g.id) for g in whole]
        case "clean":
            pools = _pools(dataset, where.data)[setting.split]
            found = training_groups(pools, k=setting.k, seed=where.seed, topical=True).groups
        case "mix":
            found = _mixed(setting, dataset, where)
        case "retrieved":
            found = await _retrieved(setting, dataset, where)
        case "closed-book":
            asked = _limited([_bare(q) for q in _questions(dataset, where)], where)
            return [replace(g, id=f"{g.question.id}/closed-book") for g in asked]
        case "file" if setting.file is not None:
            found = list(iter_groups(setting.file))
        case _:
            raise UnknownNameError(setting.groups, SOURCES)
    return _limited(found, where)


def _limited(groups: list[PassageGroup], where: DataScope) -> list[PassageGroup]:
    """Keep some questions with one group each, chosen by luck that other groups do not change."""
    if where.questions is None:
        return groups

    def luck(group: PassageGroup, *keys: str) -> float:
        return rng_for(where.seed, group.question.id, *keys).random()

    chosen: dict[str, PassageGroup] = {}
    for group in sorted(groups, key=lambda g: luck(g, "which", str(g.id))):
        chosen.setdefault(group.question.id, group)
    few = sorted(chosen.values(), key=lambda g: luck(g, "whether"))
    return few[: where.questions]


@lru_cache(maxsize=8)
def _pools(dataset: str, data: Path | None) -> dict[str, list[PassageGroup]]:
    return clean_pools(dataset, data=data)


@lru_cache(maxsize=8)
def _sound_pools(dataset: str, split: str, data: Path | None) -> list[PassageGroup]:
    return [sound_pool(pool, Counter()) for pool in _pools(dataset, data)[split]]


def _mixed(setting: GridSetting, dataset: str, where: DataScope) -> list[PassageGroup]:
    """Draw a mix from the sound passages of every question that has enough of them."""
    if setting.mix is None:
        raise UsageError("a setting with groups = 'mix' names its mix")
    mix = find_mix(setting.mix, k=setting.k, gold_at=setting.gold_at)
    found = []
    for pool in _sound_pools(dataset, setting.split, where.data):
        stock = Counter(passage.kind for passage in pool.passages)
        if all(stock[kind] >= count for kind, count in mix):
            drawn = mix.draw(pool.question, pool.passages, seed=where.seed)
            found.append(replace(drawn, id=f"{pool.question.id}/{setting.key}"))
    return found


def _questions(dataset: str, where: DataScope) -> list[Question]:
    rows = load_benchmark(dataset, k=3, data=where.data)
    return list({row.question.id: row.question for row in rows}.values())


def _bare(question: Question) -> PassageGroup:
    return PassageGroup(question=question, passages=())


async def _retrieved(setting: GridSetting, dataset: str, where: DataScope) -> list[PassageGroup]:
    if where.search is None or setting.search is None:
        raise UsageError.saying(
            "real retrieval needs an index of a corpus: make one with `build_index(corpus, uri)`,"
            " and name it with `index` (and `encoder` for a dense one)"
        )
    few = _limited([_bare(q) for q in _questions(dataset, where)], where)
    asked = [group.question for group in few]
    found = await where.search(setting.search, [q.text for q in asked], setting.k)
    return [
        assemble(q, passages, seed=where.seed, id=f"{q.id}/{setting.search}-k{setting.k}")
        for q, passages in zip(asked, found, strict=True)
    ]
