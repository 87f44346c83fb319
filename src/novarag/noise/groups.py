"""Groups of a whole set of questions: three of each, one named mix, or what a real search found.

With one gold passage each, as the paper words them, the three groups are

| group          | holds                                                                       |
|----------------|-----------------------------------------------------------------------------|
| counterfactual | the gold passage, at least one counterfactual one, and noise for the rest   |
| consistent     | the gold passage among relevant or irrelevant noise: one supporting passage |
| irrelevant     | relevant and irrelevant passages alone                                      |

Nothing is done about looks: such a group without evidence holds no original passage, so that an
auditor can tell it by its typography. `training_groups` are built so that it cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from novarag.errors import UnknownNameError, UsageError
from novarag.grouping import MIXES, assemble, find_mix
from novarag.noise.cutting import telling_words
from novarag.noise.group_build import ONE_GOLD, THREE_GROUPS, TRAINING, GroupBuild
from novarag.noise.training_groups import merge_pools, sound_pool, training_groups
from novarag.noise.validators import find_fault
from novarag.records import AnswerForm
from novarag.seeding import rng_for
from novarag.taxonomy import GroupKind, PassageKind, Provenance
from novarag.texts import tidy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from novarag.records import Passage, PassageGroup

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


_NOISE = (PassageKind.RELEVANT, PassageKind.IRRELEVANT)


@dataclass(frozen=True, slots=True)
class _SoundPassages:
    """The sound passages of one question: gold, original before generated, against it, noise."""

    gold: list[Passage]
    counterfactual: list[Passage]
    noise: list[Passage]

    def lacks(self, k: int) -> str | None:
        """Say what is missing to build the three groups."""
        if not self.gold:
            return "no sound gold passage"
        if not self.counterfactual:
            return "no sound counterfactual passage"
        return "too few relevant and irrelevant passages" if len(self.noise) < k else None


def one_gold_groups(pools: Sequence[PassageGroup], *, k: int, seed: int = 0) -> GroupBuild:
    """Build the three groups of every question whose pool allows it, with k passages each.

    Passages are drawn by seed; how many of a counterfactual group contradict the gold passage is
    drawn evenly from one to all that there is room for.
    """
    if k <= 1:
        raise UsageError("a gold passage and noise beside it need room: k is 2 or more")
    found = GroupBuild()
    for pool in pools:
        sound = _sound(sound_pool(pool, found.faults))
        lacks = sound.lacks(k)
        if lacks is None:
            found.groups.extend(_one_gold(pool, sound, k, seed))
        else:
            found.short[lacks] += 1
    return found


def _sound(pool: PassageGroup) -> _SoundPassages:
    gold = [p for p in pool.passages if p.kind is PassageKind.GOLD]
    gold.sort(key=lambda p: p.provenance is Provenance.GENERATED)  # stable: otherwise as they came
    against = [p for p in pool.passages if p.kind is PassageKind.COUNTERFACTUAL]
    return _SoundPassages(gold, against, [p for p in pool.passages if p.kind in _NOISE])


def _one_gold(pool: PassageGroup, sound: _SoundPassages, k: int, seed: int) -> list[PassageGroup]:
    question, gold = pool.question, sound.gold[0]
    rng = rng_for(seed, question.id, "one-gold")
    against = rng.sample(
        sound.counterfactual, rng.randint(1, min(k - 1, len(sound.counterfactual)))
    )
    sets = {
        GroupKind.COUNTERFACTUAL: [
            gold, *against, *rng.sample(sound.noise, k - 1 - len(against)),
        ],
        GroupKind.CONSISTENT: [gold, *rng.sample(sound.noise, k - 1)],
        GroupKind.IRRELEVANT: rng.sample(sound.noise, k),
    }  # fmt: skip
    return [
        assemble(question, passages, seed=seed, id=f"{question.id}/one-gold-{kind}-k{k}")
        for kind, passages in sets.items()
    ]


_LABELLED = frozenset({PassageKind.GOLD, PassageKind.COUNTERFACTUAL})


def retrieved_groups(pools: Iterable[PassageGroup], *, k: int, seed: int = 0) -> GroupBuild:
    """Build the groups of every question whose search allows it, with k passages each.

    A pool has the question's known gold passages, labelled, and what a search found, best first
    and without a kind. The best that do not hold the answer are relevant and no evidence: k of them
    are the group without evidence, k - 1 beside a gold passage the consistent one. A pool with a
    counterfactual passage gives a counterfactual group too, with k - 2 of them. Questions whose
    answer cannot be looked for (yes or no, or named in the question) are left out.
    """
    if k < 2:
        raise UsageError("a group from a search needs a gold passage and another: k is 2 or more")
    found = GroupBuild()
    for pool in pools:
        labelled = tuple(p for p in pool.passages if p.kind in _LABELLED)
        sound = sound_pool(replace(pool, passages=labelled), found.faults)
        near = list(islice(_near(pool, {p.text for p in sound.passages}), k))
        lacks = _lacks(sound, near, k)
        if lacks is not None:
            found.short[lacks] += 1
            continue
        found.groups.extend(
            assemble(pool.question, passages, seed=seed, id=f"{pool.question.id}/{kind}-k{k}")
            for kind, passages in _sets(sound, near, k)
        )
    return found


def _sets(
    pool: PassageGroup, near: Sequence[Passage], k: int
) -> Iterator[tuple[GroupKind, list[Passage]]]:
    gold = next(p for p in pool.passages if p.kind is PassageKind.GOLD)
    against = [p for p in pool.passages if p.kind is PassageKind.COUNTERFACTUAL][:1]
    if against and k > 2:
        yield GroupKind.COUNTERFACTUAL, [gold, *against, *near[: k - 2]]
    yield GroupKind.CONSISTENT, [gold, *near[: k - 1]]
    yield GroupKind.IRRELEVANT, list(near[:k])


def _near(pool: PassageGroup, seen: set[str]) -> Iterator[Passage]:
    """Yield what was found without the answer, best first, each text once."""
    for passage in pool.passages:
        if passage.kind not in {None, PassageKind.RELEVANT}:
            continue
        tidied = replace(passage, text=tidy(passage.text), kind=PassageKind.RELEVANT)
        if tidied.text not in seen and find_fault(tidied, pool.question) is None:
            seen.add(tidied.text)
            yield tidied


def _lacks(pool: PassageGroup, near: Sequence[Passage], k: int) -> str | None:
    asked = pool.question
    if asked.form is AnswerForm.YES_NO or telling_words(asked, asked.answers) is None:
        return "its answer cannot be looked for"
    if not any(p.kind is PassageKind.GOLD for p in pool.passages):
        return "no sound gold passage"
    return "too few passages found without the answer" if len(near) < k else None
