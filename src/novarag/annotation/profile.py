"""The noise profile of an index: what its passages are, where they conflict, what is missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from novarag.annotation.agreement import Agreement, agree
from novarag.annotation.model import KINDS
from novarag.annotation.near_duplicates import stale_pairs
from novarag.annotation.tokens import cut_sentences
from novarag.defaults import ANNOTATE
from novarag.stats.binomial import share_ends
from novarag.stats.figure import Figure
from novarag.stats.resampling import draws
from novarag.taxonomy import GroupKind, PassageKind, group_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from novarag.annotation.annotate import Annotation
    from novarag.annotation.tokens import Sentence
    from novarag.records import PassageGroup

UNDECIDED = "undecided"
EXAMPLES = 5  # undecided passages that a profile shows
_YES, _NO = "yes", "no"
_EVERYTHING = (*(k.value for k in KINDS), UNDECIDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileExample:
    """A question with a passage, or two, that show something."""

    question: str
    answers: tuple[str, ...]
    group: str | None
    passages: tuple[str, ...]
    reasons: tuple[str, ...]
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFinding:
    """How often something happens, among how many groups, and some examples.

    Among no groups there is no share.
    """

    share: Figure | None
    among: int
    count: int
    examples: tuple[ProfileExample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolProfile:
    """What was found. Shares of passages by kind, of groups by group kind, and by rank.

    `group_mix` counts only groups whose every passage has a best guess; it is what measurements
    can be weighed by. A share of nothing is not there: `kinds` and `group_mix` may be empty.
    """

    groups: int
    questions: int
    passages: int
    min_confidence: float
    expect: str
    witnesses: Mapping[str, int]
    kinds: Mapping[str, Figure]
    ranks: tuple[Mapping[str, float], ...]
    group_mix: Mapping[str, Figure]
    undecided_groups: int
    conflicts: ProfileFinding
    stale: ProfileFinding
    unsupported: ProfileFinding
    examples: Mapping[str, tuple[ProfileExample, ...]]
    agreement: Agreement | None = None
    notes: tuple[str, ...] = field(default=())


def settled(annotation: Annotation, min_confidence: float) -> PassageKind | None:
    """Return the kind a verdict gives its passage; None where it is not sure enough."""
    return annotation.kind if annotation.confidence >= min_confidence else None


def with_kinds(
    group: PassageGroup, annotations: Sequence[Annotation], *, min_confidence: float
) -> PassageGroup:
    """Return a group whose passages have the kinds that were found, and no others."""
    pairs = [
        (passage, annotation, settled(annotation, min_confidence))
        for passage, annotation in zip(group.passages, annotations, strict=True)
    ]
    passages = tuple(
        replace(p, kind=kind, facet=None, claim=None if kind is None else a.claim)
        for p, a, kind in pairs
    )
    return replace(group, passages=passages)


def make_profile(
    groups: Sequence[PassageGroup],
    annotations: Sequence[Sequence[Annotation]],
    *,
    min_confidence: float,
    expect: str,
    replicates: int = ANNOTATE.replicates,
    seed: int = ANNOTATE.seed,
) -> PoolProfile:
    """Draw up the profile; known kinds of the passages serve only to report agreement."""
    table = _QuestionCounts(groups, annotations, min_confidence, replicates, seed)
    kinds = [[settled(a, min_confidence) for a in row] for row in annotations]
    return PoolProfile(
        groups=len(groups),
        questions=len(table.names),
        passages=sum(len(g.passages) for g in groups),
        min_confidence=min_confidence,
        expect=expect,
        witnesses=dict(
            sorted(Counter(w for row in annotations for a in row for w in a.by).items())
        ),
        kinds=table.shares(
            [[k.value if k is not None else UNDECIDED for k in row] for row in kinds], _EVERYTHING
        ),
        ranks=_by_rank(kinds),
        group_mix=table.shares(
            [[g.value] if (g := _guess(row)) is not None else [] for row in annotations],
            tuple(k.value for k in GroupKind),
        ),
        undecided_groups=sum(_guess(row) is None for row in annotations),
        conflicts=table.finding(
            [_conflict(g, row, min_confidence) for g, row in _paired(groups, annotations)]
        ),
        stale=table.finding([_stale(g) for g in groups]),
        unsupported=table.finding(
            [_unsupported(g, row) for g, row in _paired(groups, annotations)],
            among=[_guess(row) is not None for row in annotations],
        ),
        examples={k.value: table.most_sure(k) for k in KINDS},
        agreement=_agreement(groups, kinds, replicates, seed),
    )


def _paired(
    groups: Sequence[PassageGroup], annotations: Sequence[Sequence[Annotation]]
) -> list[tuple[PassageGroup, Sequence[Annotation]]]:
    return list(zip(groups, annotations, strict=True))


class _QuestionCounts:
    """Counts by question, so that whole questions are resampled."""

    def __init__(
        self, groups: Sequence[PassageGroup], annotations: Sequence[Sequence[Annotation]],
        min_confidence: float, replicates: int, seed: int,
    ) -> None:  # fmt: skip
        self.groups, self.annotations, self.min_confidence = groups, annotations, min_confidence
        self.replicates, self.seed = replicates, seed
        self.names = {
            name: i for i, name in enumerate(dict.fromkeys(g.question.id for g in groups))
        }
        self.at = [self.names[g.question.id] for g in groups]

    def shares(self, words: Sequence[Sequence[str]], known: Sequence[str]) -> dict[str, Figure]:
        """Return the share of each word among all, with intervals; nothing of nothing."""
        cells = np.zeros((len(self.names), len(known)))
        for at, row in zip(self.at, words, strict=True):
            for word in row:
                cells[at, known.index(word)] += 1
        total = float(cells.sum())
        if not total:
            return {}
        asked = int(np.count_nonzero(cells.sum(axis=1)))
        width = cells.shape[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = np.concatenate(
                [
                    (counted := w @ cells) / counted.sum(axis=1, keepdims=True)
                    for w in draws(len(self.names), self.replicates, seed=self.seed, width=width)
                ]
            )
        return {
            word: Figure(
                float(cells[:, i].sum() / total), *share_ends(drawn[:, i], asked), int(total)
            )
            for i, word in enumerate(known)
        }

    def finding(
        self, found: Sequence[ProfileExample | None], *, among: Sequence[bool] | None = None
    ) -> ProfileFinding:
        """Return how many groups show something, with the first few; `among` says which count."""
        counted = among if among is not None else [True] * len(found)
        words = [
            [_YES if f is not None else _NO] if known else []
            for f, known in zip(found, counted, strict=True)
        ]
        shown = self.shares(words, (_YES, _NO))
        examples: dict[str, ProfileExample] = {}
        for example in found:
            if example is not None:
                examples.setdefault(example.question, example)
        return ProfileFinding(
            share=shown.get(_YES),
            among=sum(counted),
            count=sum(f is not None for f in found),
            examples=tuple(examples.values())[:EXAMPLES],
        )

    def most_sure(self, kind: PassageKind) -> tuple[ProfileExample, ...]:
        """Show the surest verdicts of a kind, one a question."""
        sure = sorted(
            (
                (-a.confidence, n, i)
                for n, row in enumerate(self.annotations)
                for i, a in enumerate(row)
                if settled(a, self.min_confidence) is kind
            ),
        )
        examples: dict[str, ProfileExample] = {}
        for minus, n, i in sure:
            group = self.groups[n]
            if group.question.text not in examples and len(examples) < EXAMPLES:
                why = self.annotations[n][i].evidence
                examples[group.question.text] = _example(
                    group, [(why.quote, why.reason)], confidence=-minus
                )
        return tuple(examples.values())


def _example(
    group: PassageGroup, shown: Sequence[tuple[str, str]], *, confidence: float | None = None
) -> ProfileExample:
    return ProfileExample(
        question=group.question.text,
        answers=group.question.answers,
        group=group.id,
        passages=tuple(quote for quote, _ in shown),
        reasons=tuple(reason for _, reason in shown),
        confidence=confidence,
    )


def _guess(row: Sequence[Annotation]) -> GroupKind | None:
    """Name a group by the best guess for each passage; None where one has none.

    Where the search found nothing, no passage answers.
    """
    if not row:
        return GroupKind.IRRELEVANT
    kinds = [a.kind for a in row if a.kind is not None]
    return group_kind(kinds) if len(kinds) == len(row) else None


def _by_rank(kinds: Sequence[Sequence[PassageKind | None]]) -> tuple[dict[str, float], ...]:
    deepest = max((len(row) for row in kinds), default=0)
    ranks = []
    for rank in range(deepest):
        here = Counter(
            (k.value if k is not None else UNDECIDED)
            for row in kinds
            if rank < len(row)
            for k in [row[rank]]
        )
        total = here.total()
        ranks.append({word: here[word] / total for word in _EVERYTHING})
    return tuple(ranks)


def _conflict(
    group: PassageGroup, row: Sequence[Annotation], min_confidence: float
) -> ProfileExample | None:
    """A passage that supports the answer beside one that states another."""
    found = {settled(a, min_confidence): a for a in reversed(row)}
    yes, no = found.get(PassageKind.GOLD), found.get(PassageKind.COUNTERFACTUAL)
    if yes is None or no is None:
        return None
    return _example(group, [(a.evidence.quote, a.evidence.reason) for a in (yes, no)])


def _stale(group: PassageGroup) -> ProfileExample | None:
    """Two near-identical passages that differ in a number or a date."""
    texts = [(p.text, cut_sentences(p.text)) for p in group.passages]
    pair = next(stale_pairs(texts), None)
    if pair is None:
        return None
    i, j, one, other = pair
    shown = [
        (_sentence_with(*texts[at], value), f"passage {at + 1} says '{value}'")
        for at, value in ((i, one), (j, other))
    ]
    return _example(group, shown)


def _sentence_with(text: str, sentences: Sequence[Sentence], value: str) -> str:
    at = text.find(value)
    return next((text[s.start : s.end] for s in sentences if s.start <= at < s.end), value)


def _unsupported(group: PassageGroup, row: Sequence[Annotation]) -> ProfileExample | None:
    """No passage is even guessed to support the answer, though every one was judged."""
    if any(a.kind in {None, PassageKind.GOLD} for a in row):
        return None
    if not row:
        return _example(group, [])
    best = max(row, key=lambda a: a.chances[0] + a.chances[2])
    return _example(group, [(best.evidence.quote, best.evidence.reason)])


def _agreement(
    groups: Sequence[PassageGroup], kinds: Sequence[Sequence[PassageKind | None]],
    replicates: int, seed: int,
) -> Agreement | None:  # fmt: skip
    rows = [
        (p.kind, said, g.question.id)
        for g, row in zip(groups, kinds, strict=True)
        for p, said in zip(g.passages, row, strict=True)
        if p.kind is not None
    ]
    if not rows:
        return None
    known, said, questions = zip(*rows, strict=True)
    return agree(known, said, questions, replicates=replicates, seed=seed)
