"""The three training groups of a question, made so that looks and topic tell little.

Every group has the same build: an *anchor*, the one original passage, a *companion* that goes with
it, and fillers. Where the answer can be cut out, the passages without evidence are those with it,
less the sentences that hold the answer or the claim; beside evidence they lose other sentences, so
that they are about as long. All fillers are the same passage in the three groups.

| slot       | counterfactual        | consistent            | irrelevant                       |
|------------|-----------------------|-----------------------|----------------------------------|
| anchor     | original gold         | original gold         | the same without the answer      |
| companion  | counterfactual        | generated gold        | counterfactual without its claim |

Where it cannot be cut out (yes or no, an answer that the question names, a passage of a sentence
or two), the passages without evidence are those of another question.

| slot       | counterfactual        | consistent            | irrelevant                       |
|------------|-----------------------|-----------------------|----------------------------------|
| anchor     | original gold         | original gold         | original gold of another question|
| companion  | counterfactual        | generated gold        | either, of that other question   |
| mirror     | generated gold        | counterfactual, a third's | the other one, of that question |
| counter    | relevant to a third   | relevant              | relevant                         |
| apart      | relevant to a third   | relevant to a third   | relevant                         |
| topical    | relevant              | relevant              | relevant to that other question  |
| foreign    | relevant to a third   | relevant to a third   | relevant                         |
| irrelevant | irrelevant            | irrelevant            | irrelevant                       |

The first filler is a mirror or a counter, or always apart where every group without evidence is to
hold a passage on the topic; the others are of the last three sorts. So every group holds one
original passage, and lengths, typography, vocabulary and how well the passages go together are as
alike as the pool allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.grouping import assemble
from novarag.noise.cutting import cut_sets
from novarag.noise.group_build import GroupBuild
from novarag.noise.surface import closest, unlike, words_of
from novarag.noise.validators import PassageFault, find_fault
from novarag.records import PassageGroup
from novarag.seeding import rng_for
from novarag.taxonomy import GroupKind, PassageKind, Provenance
from novarag.texts import tidy

if TYPE_CHECKING:
    import random
    from collections import Counter
    from collections.abc import Iterable, Sequence

    from novarag.noise.cutting import GroupSets
    from novarag.records import Passage, Question

_RING = 10  # questions that lend passages to each other
_FIRST, _MORE = ("mirror", "counter"), ("topical", "topical", "foreign", "irrelevant")
_SHARED = 0.34  # share of a question's words that a passage on another subject may hold
_COMMON = frozenset({
    "of", "in", "on", "at", "to", "for", "and", "or", "by", "with", "from", "as", "is", "are",
    "was", "were", "be", "been", "do", "does", "did", "has", "have", "had", "who", "what",
    "which", "when", "where", "how", "why", "that", "this", "these", "those", "it", "its", "he",
    "she", "his", "her", "they", "their", "name", "many", "much", "first", "between",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _PassageStock:
    """The sound passages of one question, by what they are for."""

    question: Question
    gold: tuple[Passage, ...]
    supports: tuple[Passage, ...]
    counterfactual: tuple[Passage, ...]
    relevant: tuple[Passage, ...]
    irrelevant: tuple[Passage, ...]

    @property
    def lacks(self) -> str | None:
        """Say what is missing to build the three groups."""
        for count, what in (
            (len(self.gold), "no sound original gold passage"),
            (len(self.supports), "no sound generated gold passage"),
            (len(self.counterfactual), "no sound counterfactual passage"),
        ):
            if not count:
                return what
        return None


def sound_pool(pool: PassageGroup, faults: Counter[str]) -> PassageGroup:
    """Set every passage in one typography, and leave out repeated and unsound ones."""
    kept: dict[str, Passage] = {}
    for passage in pool.passages:
        tidied = replace(passage, text=tidy(passage.text))
        fault = find_fault(tidied, pool.question)
        if fault is None and tidied.text in kept:
            fault = PassageFault.REPEATED
        if fault is None:
            kept[tidied.text] = tidied
        else:
            faults[fault] += 1
    return replace(pool, passages=tuple(kept.values()))


def training_groups(
    pools: Sequence[PassageGroup], *, k: int, seed: int = 0, topical: bool = False
) -> GroupBuild:
    """Build the three groups of every question whose pool allows it, with k passages each.

    With `topical` every group without evidence holds a passage on its question's topic; questions
    that have none are left out.
    A larger group holds all of a smaller one, and the same questions are used at every k as long
    as their fillers suffice.
    """
    if k < 3:
        raise UsageError(
            "a training group needs an anchor, a companion and a filler: k is 3 or more"
        )
    found = GroupBuild()
    stocks = []
    for pool in pools:
        stock = _stock(sound_pool(pool, found.faults))
        if stock.lacks:
            found.short[stock.lacks] += 1
        else:
            stocks.append(stock)
    borrowing = _rings(stocks, seed)
    for stock in stocks:
        rng = rng_for(seed, stock.question.id, "training")
        try:
            ring = borrowing[stock.question.id]
            found.groups.extend(_Builder(stock, ring, rng, topical=topical).build(k, seed))
        except _TooFewPassages as reason:
            found.short[str(reason)] += 1
    return found


def _rings(stocks: list[_PassageStock], seed: int) -> dict[str, list[_PassageStock]]:
    """Seat questions in small rings, and tell each from whom it may borrow, nearest first.

    Everybody lends to its neighbour, so that a passage stands in an irrelevant group as often as
    beside its own question. A ring holds questions whose gold passages are about as long, so that
    a borrowed passage does not stand out; it is small, so that few questions share passages.
    """
    by_length = sorted(stocks, key=lambda s: (len(s.gold[0].text), s.question.id))
    rings = max(len(by_length) // _RING, 1)
    ends = [len(by_length) * i // rings for i in range(rings + 1)]
    found = {}
    for start, end in pairwise(ends):
        ring = by_length[start:end]
        if ring:
            rng_for(seed, "ring", ring[0].question.id).shuffle(ring)
        for place, stock in enumerate(ring):
            found[stock.question.id] = [*ring[place + 1 :], *ring[:place]]
    return found


def _stock(pool: PassageGroup) -> _PassageStock:
    def of(kind: PassageKind, *, original: bool | None = None) -> tuple[Passage, ...]:
        return tuple(
            p
            for p in pool.passages
            if p.kind is kind and original in {None, p.provenance is not Provenance.GENERATED}
        )

    return _PassageStock(
        pool.question,
        of(PassageKind.GOLD, original=True),
        of(PassageKind.GOLD, original=False),
        of(PassageKind.COUNTERFACTUAL),
        of(PassageKind.RELEVANT),
        of(PassageKind.IRRELEVANT),
    )


class _TooFewPassages(Exception):  # noqa: N818 - a state, not an accident
    """A question lacks the passages for its groups."""


class _Builder:
    """Builds the groups of one question; `ring` are the others, nearest first."""

    def __init__(
        self,
        stock: _PassageStock,
        ring: Sequence[_PassageStock],
        rng: random.Random,
        *,
        topical: bool,
    ) -> None:
        self.stock, self.rng, self.topical, self._all = stock, rng, topical, ring
        self.words = _telling_words(stock.question)
        self.used: set[str] = set()

    @cached_property
    def ring(self) -> list[_PassageStock]:
        """Those others of which nothing could help or mislead with this question."""
        return [other for other in self._all if self._is_foreign(other)]

    def build(self, k: int, seed: int) -> list[PassageGroup]:
        cut = cut_sets(self.stock)
        sets = self._borrow(k) if cut is None else self._fill(cut, k)
        mine = self.stock.question
        return [
            assemble(mine, passages, seed=seed, id=f"{mine.id}/{kind}-k{k}")
            for kind, passages in sets.items()
        ]

    def _fill(self, sets: GroupSets, k: int) -> GroupSets:
        """Put the same fillers into the groups; the first is on the topic, if there is one."""
        self.used.update(p.text for passages in sets.values() for p in passages)
        for role in ["topical", *self._roles(k - 2)[1:]]:
            own = self._unused(self.stock.relevant) if role == "topical" else None
            filler = own or self._aside()
            for passages in sets.values():
                passages.append(filler)
        return sets

    def _borrow(self, k: int) -> GroupSets:
        if not self.ring:
            raise _TooFewPassages("no other question to borrow passages from")
        if self.topical and not self.stock.relevant:
            raise _TooFewPassages("no relevant passage without the answer")
        mine, donor = self.stock, self.ring[0]
        against, agreeing = _like(mine)
        pair = list(_like(donor))
        self.rng.shuffle(pair)
        sets = {
            GroupKind.COUNTERFACTUAL: [mine.gold[0], against],
            GroupKind.CONSISTENT: [mine.gold[0], agreeing],
            GroupKind.IRRELEVANT: [foreign(donor.gold[0]), foreign(pair[0])],
        }
        self.used.update(p.text for passages in sets.values() for p in passages)
        mirror = agreeing, foreign(pair[1])
        for role in self._roles(k - 2):
            fillers = self._fillers(role, mirror, donor)
            for passages, filler in zip(sets.values(), fillers, strict=True):
                passages.append(filler)
        return sets

    def _roles(self, count: int) -> list[str]:
        """Draw the sorts of the fillers; those of a smaller group come first."""
        first = ("apart",) if self.topical else _FIRST
        return [self.rng.choice(_MORE if i else first) for i in range(count)]

    def _fillers(
        self, role: str, mirror: tuple[Passage, Passage], donor: _PassageStock
    ) -> tuple[Passage, Passage, Passage]:
        """Find one filler for each of the three groups; see the table above."""
        thirds = self.ring[1:] or self.ring
        if role == "mirror":
            agreeing, other = mirror
            offered = [p for third in thirds for p in third.counterfactual]
            return agreeing, foreign(closest(offered, agreeing)), other
        own = None if role == "irrelevant" else self._unused(self.stock.relevant)
        if role == "topical" and own and (theirs := self._unused(donor.relevant)):
            return own, own, foreign(theirs)
        offered = [p for third in thirds for p in third.relevant if p.text not in self.used]
        if own and (borrowed := self._unused([closest(offered, own)] if offered else [])):
            away = foreign(borrowed)
            return away, own if role in {"counter", "topical"} else away, own
        if role == "apart" and own:
            return own, own, own
        return (self._aside(),) * 3

    def _aside(self) -> Passage:
        """Take a passage on another subject."""
        asides = (p for s in (self.stock, *self.ring) for p in s.irrelevant)
        off = self._unused(p for p in asides if self._is_off(p))
        if off is None:
            raise _TooFewPassages("too few passages to fill groups of this size")
        return foreign(off)

    def _unused(self, passages: Iterable[Passage]) -> Passage | None:
        """Take the first passage that no group of this question holds yet."""
        found = next((p for p in passages if p.text not in self.used), None)
        if found is not None:
            self.used.add(found.text)
        return found

    def _is_foreign(self, other: _PassageStock) -> bool:
        """Say whether nothing of another question could help or mislead with this one."""
        offered = (*other.gold, *other.supports, *other.counterfactual, *other.relevant)
        return other.question.id != self.stock.question.id and all(map(self._is_off, offered))

    def _is_off(self, passage: Passage) -> bool:
        """Say whether a passage neither answers this question nor is about its subject."""
        fault = find_fault(foreign(passage), self.stock.question)
        return fault is None and not self._on_subject(passage.text)

    def _on_subject(self, text: str) -> bool:
        said = self.words & words_of(text)
        return len(said) > _SHARED * len(self.words)


def _like(stock: _PassageStock) -> tuple[Passage, Passage]:
    """Choose a counterfactual and an agreeing passage that look most alike."""
    pairs = product(stock.counterfactual, stock.supports)
    return min(pairs, key=lambda pair: unlike(pair[0].text, pair[1].text))


def foreign(passage: Passage) -> Passage:
    """Take a passage to another question, where it is irrelevant whatever it was."""
    return replace(passage, kind=PassageKind.IRRELEVANT, facet=None, claim=None)


def _telling_words(question: Question) -> frozenset[str]:
    return frozenset(w for w in words_of(question.text) if w not in _COMMON and len(w) > 1)


def merge_pools(rows: Iterable[PassageGroup]) -> list[PassageGroup]:
    """Put together all that is offered for each question, every text once, in order of arrival.

    Of two copies of a text, one that has a kind wins.
    """
    merged: dict[str, tuple[Question, dict[str, Passage]]] = {}
    for row in rows:
        _, passages = merged.setdefault(row.question.id, (row.question, {}))
        for passage in row.passages:
            known = passages.get(passage.text)
            if known is None or known.kind is None:
                passages[passage.text] = passage
    return [
        PassageGroup(question=question, passages=tuple(passages.values()), id=question.id)
        for question, passages in merged.values()
    ]
