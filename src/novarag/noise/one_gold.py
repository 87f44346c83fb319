"""The three groups of a question with one gold passage each, as the paper words them.

| group          | holds                                                                       |
|----------------|-----------------------------------------------------------------------------|
| counterfactual | the gold passage, at least one counterfactual one, and noise for the rest   |
| consistent     | the gold passage among relevant or irrelevant noise: one supporting passage |
| irrelevant     | relevant and irrelevant passages alone                                      |

Nothing is done about looks: a group without evidence holds no original passage, so that an auditor
can tell it by its typography. `training_groups` are built so that it cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.grouping import assemble
from novarag.noise.group_build import GroupBuild
from novarag.noise.training_groups import sound_pool
from novarag.seeding import rng_for
from novarag.taxonomy import GroupKind, PassageKind, Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.records import Passage, PassageGroup

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
            found.groups.extend(_drawn(pool, sound, k, seed))
        else:
            found.short[lacks] += 1
    return found


def _sound(pool: PassageGroup) -> _SoundPassages:
    gold = [p for p in pool.passages if p.kind is PassageKind.GOLD]
    gold.sort(key=lambda p: p.provenance is Provenance.GENERATED)  # stable: otherwise as they came
    against = [p for p in pool.passages if p.kind is PassageKind.COUNTERFACTUAL]
    return _SoundPassages(gold, against, [p for p in pool.passages if p.kind in _NOISE])


def _drawn(pool: PassageGroup, sound: _SoundPassages, k: int, seed: int) -> list[PassageGroup]:
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
