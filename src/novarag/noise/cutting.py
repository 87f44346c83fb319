"""Passages without some of their sentences: without the answer, or with it and as short.

A passage that loses the sentences with the answer is on the topic and no evidence. What is left is
verbatim, so nothing is made up; the evidence it is set against loses other sentences, so that
length does not tell the two apart.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Protocol

from novarag.noise.surface import apart
from novarag.noise.validators import find_fault, folded
from novarag.records import AnswerForm
from novarag.taxonomy import GroupKind, PassageKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag.records import Passage, Question

# Where a sentence ends: a stop, perhaps a quotation mark, blanks, and a capital or a digit. No
# end is an initial or an abbreviation, "J. Smith", "Dr. Smith".
_BREAK = re.compile(
    r"(?:(?<=[\w)\]\u2019\u201d'\"%][.!?])|(?<=[.!?][\"\u201d\u2019]))\s+(?=[\"\u201c'(\[]?[A-Z0-9])"
)
_NOT_AN_END = re.compile(r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|Jr|Sr|St|No|vs|Co|Inc|Ltd|Gen|Lt))\.$")
_LEAST = 20  # words of a passage that is still one
_LONGER = 1.25  # times as long as without the answer the gold passage may be
_LETTERS = 3  # of a word that tells nothing by itself
_EXACT = 3.0  # times as much as words of the question that are lost, a length that is off counts
_MOST = 8  # sentences among which all choices are tried


GroupSets = dict[GroupKind, list["Passage"]]
"""The passages of a question's groups, by the groups' kind."""


class SoundEvidence(Protocol):
    """The sound passages of a question that bear on its answer."""

    @property
    def question(self) -> Question:
        """What is asked."""

    @property
    def gold(self) -> Sequence[Passage]:
        """Original passages with the answer."""

    @property
    def supports(self) -> Sequence[Passage]:
        """Generated passages with the answer."""

    @property
    def counterfactual(self) -> Sequence[Passage]:
        """Generated passages with another."""


def cut_sets(stock: SoundEvidence) -> GroupSets | None:
    """Set the gold and a counterfactual passage without the answer against both with it.

    None where the answer cannot be cut out, or not without giving it away by the length.
    """
    asked, gold = stock.question, stock.gold[0]
    anchor = without_answer(gold, asked)
    cut = [c for p in stock.counterfactual if (c := without_answer(p, asked)) is not None]
    if anchor is None or not cut:
        return None
    gold = shortened(gold, asked, _length(anchor))
    if _length(gold) > _LONGER * _length(anchor):
        return None
    trios = [
        (c, shortened(against, asked, _length(c)), shortened(agreeing, asked, _length(c)))
        for c, against, agreeing in product(cut, stock.counterfactual, stock.supports)
    ]
    companion, *beside = min(trios, key=lambda trio: apart(trio, (anchor, gold, gold)))
    return {
        GroupKind.COUNTERFACTUAL: [gold, beside[0]],
        GroupKind.CONSISTENT: [gold, beside[1]],
        GroupKind.IRRELEVANT: [anchor, companion],
    }


def _length(passage: Passage) -> int:
    return len(passage.text.split())


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences; an initial or "Dr." ends none.

    >>> sentences_of("Dr. J. Lund came. In 1901 he left the U.S. for good.")
    ['Dr. J. Lund came.', 'In 1901 he left the U.S. for good.']
    """
    found: list[str] = []
    for part in _BREAK.split(text):
        if found and _NOT_AN_END.search(found[-1]):
            found[-1] += f" {part}"
        else:
            found.append(part)
    return found


def telling_words(question: Question, said: Iterable[str]) -> frozenset[str] | None:
    """Return the words that give an answer or a claim away; None where one has none of its own.

    A claim whose words all stand in the question, as one of two that it names, cannot be cut out.
    """
    asked, words = set(folded(question.text).split()), set[str]()
    for one in said:
        own = [w for w in folded(one).split() if w not in asked]
        own = [w for w in own if len(w) > _LETTERS or w[-1].isdigit()] or own
        if not own:
            return None
        words.update(own)
    return frozenset(words)


def without_answer(passage: Passage, question: Question) -> Passage | None:
    """Leave out every sentence that holds a word of an answer, or of the passage's claim.

    None where too little is left, or where that cannot be told from words: a yes or no, or an
    answer that the question names.
    """
    words = _given_away(passage, question)
    if words is None:
        return None
    said = sentences_of(passage.text)
    kept = [s for s in said if words.isdisjoint(folded(s).split())]
    text = " ".join(kept)
    if len(kept) == len(said) or len(text.split()) < _LEAST:
        return None
    cut = replace(passage, text=text, kind=PassageKind.RELEVANT, facet=None, claim=None)
    return cut if find_fault(cut, question) is None else None


def shortened(passage: Passage, question: Question, words: int) -> Passage:
    """Leave out sentences without the answer until a passage has about so many words.

    Of choices about as good, the one goes that keeps more of the question's words.
    """
    telling = _given_away(passage, question) or frozenset()
    said = sentences_of(passage.text)
    held, sizes = [set(folded(s).split()) for s in said], [len(s.split()) for s in said]
    spare = [i for i, s in enumerate(held) if telling.isdisjoint(s)][:_MOST]
    asked = set(folded(question.text).split())

    def cost(dropped: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        kept = [i for i in range(len(said)) if i not in dropped]
        off = abs(sum(sizes[i] for i in kept) - words) / words
        lost = asked.difference(*(held[i] for i in kept))
        return _EXACT * off + len(lost) / max(len(asked), 1), dropped

    choices = (c for n in range(len(spare) + 1) for c in combinations(spare, n))
    best = min((c for c in choices if len(c) < len(said)), key=cost)
    return replace(passage, text=" ".join(s for i, s in enumerate(said) if i not in best))


def _given_away(passage: Passage, question: Question) -> frozenset[str] | None:
    if question.form is AnswerForm.YES_NO or not question.answers:
        return None
    claims = [] if passage.claim is None else [passage.claim]
    return telling_words(question, [*question.answers, *claims])
