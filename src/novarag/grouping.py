"""Assemble passages into groups. Pure: same seed, same group, on every machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.errors import UnknownNameError, UsageError
from novarag.grading import normalize
from novarag.records import PassageGroup
from novarag.seeding import rng_for
from novarag.taxonomy import EvidenceState, PassageKind, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from novarag.records import Judgment, Passage, Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """How many passages of each kind a group holds, and where gold stands if not anywhere.

    >>> Mix(gold=1, counterfactual=2).size
    3
    """

    gold: int = 0
    counterfactual: int = 0
    relevant: int = 0
    irrelevant: int = 0
    gold_at: int | None = None

    def __post_init__(self) -> None:
        if self.gold_at is not None and not (self.gold == 1 and 1 <= self.gold_at <= self.size):
            raise UsageError(f"one gold passage among {self.size} cannot stand at {self.gold_at}")
        if min(count for _, count in self) < 0:
            raise UsageError(f"a mix cannot hold a negative number of passages: {self}")

    def __iter__(self) -> Iterator[tuple[PassageKind, int]]:
        yield PassageKind.GOLD, self.gold
        yield PassageKind.COUNTERFACTUAL, self.counterfactual
        yield PassageKind.RELEVANT, self.relevant
        yield PassageKind.IRRELEVANT, self.irrelevant

    @property
    def size(self) -> int:
        """The number of passages, the paper's k."""
        return sum(count for _, count in self)

    def draw(self, question: Question, pool: Sequence[Passage], *, seed: int = 0) -> PassageGroup:
        """Draw this mix from a pool and shuffle it; raise `UsageError` if the pool is too small.

        Where gold passages of several provenances are at hand, the original ones are taken.
        """
        rng = rng_for(seed, question.id, "draw")
        chosen: list[Passage] = []
        for kind, count in self:
            stock = [p for p in pool if p.kind is kind]
            if len(stock) < count:
                raise UsageError(
                    f"question {question.id!r} has {len(stock)} {kind} passages, {count} are needed"
                )
            original = [p for p in stock if p.provenance is Provenance.ORIGINAL]
            chosen += rng.sample(original if len(original) >= count else stock, count)
        return assemble(question, chosen, seed=seed, gold_at=self.gold_at)


MIXES: dict[str, Callable[[int], Mix]] = {
    "gold-only": lambda _: Mix(gold=1),
    "gold+counterfactual": lambda k: Mix(gold=1, counterfactual=k - 1),
    "gold+relevant": lambda k: Mix(gold=1, relevant=k - 1),
    "gold+irrelevant": lambda k: Mix(gold=1, irrelevant=k - 1),
    "counterfactual-only": lambda k: Mix(counterfactual=k),
    "relevant-only": lambda k: Mix(relevant=k),
    "irrelevant-only": lambda k: Mix(irrelevant=k),
}
"""The paper's controlled settings by name, for k passages; the paper has k = 3."""


def find_mix(name: str, *, k: int = 3, gold_at: int | None = None) -> Mix:
    """Find a mix by name.

    >>> find_mix("gold+relevant", gold_at=2)
    Mix(gold=1, counterfactual=0, relevant=2, irrelevant=0, gold_at=2)
    """
    if name not in MIXES:
        raise UnknownNameError(name, MIXES)
    return replace(MIXES[name](k), gold_at=gold_at)


def assemble(
    question: Question,
    passages: Sequence[Passage],
    *,
    seed: int = 0,
    gold_at: int | None = None,
    id: str | None = None,  # noqa: A002 - the name of the field it fills
) -> PassageGroup:
    """Shuffle passages into a group, to blunt position bias; the permutation is kept.

    Args:
        question: The question that the passages are shown beside.
        passages: The passages, in any order.
        seed: Seed of the permutation, which also depends on the id of the question and on `id`.
        gold_at: The place of the gold passage, counted from 1; None leaves it where it was shuffled
            to.
        id: A name for the group, for groups that ask the same question; None gives it none.
    """
    order = list(range(len(passages)))
    rng_for(seed, question.id, "order", *([] if id is None else [id])).shuffle(order)
    if gold_at is not None:
        gold = next(i for i in order if passages[i].kind is PassageKind.GOLD)
        order.remove(gold)
        order.insert(gold_at - 1, gold)
    return PassageGroup(
        question=question, passages=tuple(passages[i] for i in order), order=tuple(order), id=id
    )


def evidence_state(group: PassageGroup) -> EvidenceState | None:
    """Say what a perfect reader would find: conflict, consistency, or too little to go on.

    It follows from the answers the passages put forward, so two counterfactual passages with one
    claim and no gold beside them are consistent, though both are wrong. None when a passage has
    no kind, or when counterfactual passages alone do not say what they claim.

    Args:
        group: A question beside its passages, with the kind of each.
    """
    if group.kinds is None:
        return None
    false = [p for p in group.passages if p.kind is PassageKind.COUNTERFACTUAL]
    true = PassageKind.GOLD in group.kinds
    if not false:
        return EvidenceState.CONSISTENT if true else EvidenceState.INSUFFICIENT
    if true:
        return EvidenceState.CONFLICTING
    if len(false) == 1:
        return EvidenceState.CONSISTENT
    claims = {normalize(p.claim) for p in false if p.claim}
    if len(claims) > 1:
        return EvidenceState.CONFLICTING
    stated = all(p.claim for p in false)
    return EvidenceState.CONSISTENT if stated else None


def check_judgment(
    judgment: Judgment | None,
    kinds: Sequence[PassageKind] | None,
    state: EvidenceState | None,
) -> dict[str, int | None]:
    """Count the judgments that can be checked against the truth, and those that are right."""
    counts: dict[str, int | None] = dict.fromkeys(
        ("passages_judged", "passages_right", "group_judged", "group_right")
    )
    if judgment and judgment.passages and kinds is not None:
        pairs = zip(judgment.passages, kinds, strict=True)
        counts["passages_judged"] = len(kinds)
        counts["passages_right"] = sum(said is kind.utility for said, kind in pairs)
    if judgment and judgment.group and state is not None:
        counts["group_judged"] = 1
        counts["group_right"] = int(judgment.group is state)
    return counts
