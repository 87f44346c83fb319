"""Groups of a whole set of questions: three groups of each, or one named mix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from novarag.errors import UnknownNameError, UsageError
from novarag.grouping import MIXES, find_mix
from novarag.noise.group_build import ONE_GOLD, THREE_GROUPS, TRAINING, GroupBuild
from novarag.noise.one_gold import one_gold_groups
from novarag.noise.training_groups import merge_pools, sound_pool, training_groups
from novarag.taxonomy import GroupKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from novarag.records import PassageGroup

_BLOCK = 1000  # questions that are built together; they lend passages to each other


def build_groups(
    pools: Iterable[PassageGroup],
    mix: str = TRAINING,
    *,
    k: int,
    gold_at: int | None = None,
    one_each: bool = False,
    seed: int = 0,
) -> GroupBuild:
    """Draw one named mix, or three groups of each question, from every pool that allows it.

    With `one_each` every question keeps one of its groups, the kinds in turn.
    """
    found, merged = GroupBuild(), merge_pools(pools)
    blocks = max(len(merged) // _BLOCK, 1)
    for i in range(blocks):
        block = merged[len(merged) * i // blocks : len(merged) * (i + 1) // blocks]
        if mix == TRAINING:
            found.add(training_groups(block, k=k, seed=seed))
        elif mix == ONE_GOLD:
            found.add(one_gold_groups(block, k=k, seed=seed))
        else:
            found.add(_drawn(block, mix, k=k, gold_at=gold_at, seed=seed))
    return replace(found, groups=list(_in_turn(found.groups))) if one_each else found


def _drawn(
    block: list[PassageGroup], name: str, *, k: int, gold_at: int | None, seed: int
) -> GroupBuild:
    if name not in MIXES:
        raise UnknownNameError(name, [*THREE_GROUPS, *MIXES])
    mix = find_mix(name, k=k, gold_at=gold_at)
    found = GroupBuild()
    for given in block:
        pool = sound_pool(given, found.faults)
        try:
            drawn = mix.draw(pool.question, pool.passages, seed=seed)
        except UsageError as error:
            found.short[str(error).partition(" has ")[2]] += 1
        else:
            at = "" if gold_at is None else f"-gold{gold_at}"
            found.groups.append(replace(drawn, id=f"{pool.question.id}/{name}-k{k}{at}"))
    return found


def _in_turn(groups: Iterable[PassageGroup]) -> Iterator[PassageGroup]:
    """Take one group of each question, the kinds in turn."""
    kinds = list(GroupKind)
    places: dict[str, int] = {}
    for given in groups:
        place = places.setdefault(given.question.id, len(places))
        if given.kind is kinds[place % len(kinds)]:
            yield given
