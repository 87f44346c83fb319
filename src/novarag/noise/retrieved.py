"""Groups with and without evidence from what a real search found."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.grouping import assemble
from novarag.noise.cutting import telling_words
from novarag.noise.group_build import GroupBuild
from novarag.noise.training_groups import sound_pool
from novarag.noise.validators import find_fault
from novarag.records import AnswerForm
from novarag.taxonomy import GroupKind, PassageKind
from novarag.texts import tidy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from novarag.records import Passage, PassageGroup

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
