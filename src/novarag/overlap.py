"""How many of a question's words its passages hold: five numbers a group, seen without reading.

The auditor asks whether they tell kinds of groups apart; the word-overlap baseline asks whether
they tell right answers from wrong ones.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from novarag.grading import tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

OVERLAPS = (
    "most of the question's words in a passage",
    "second most of the question's words in a passage",
    "mean of the question's words in a passage",
    "least of the question's words in a passage",
    "the question's words in all passages together",
)
"""What the five numbers of a group are."""


def count_words(questions: Iterable[Sequence[str]]) -> Counter[str]:
    """Count in how many different questions each word occurs."""
    return Counter(word for asked in {tuple(q) for q in questions} for word in set(asked))


def overlap_of(
    asked: Sequence[str], passages: Sequence[Collection[str]], seen: Mapping[str, int]
) -> list[float]:
    """Say how many of a question's words its passages hold, in the order of `OVERLAPS`.

    A word weighs the less the more questions have it, as `seen` counts them.
    """
    if not passages:
        return [0.0] * len(OVERLAPS)
    weight = {word: 1 / seen[word] for word in sorted(set(asked))}
    held = sorted((_held(weight, words) for words in passages), reverse=True)
    together = _held(weight, frozenset[str]().union(*passages))
    return [held[0], held[min(1, len(held) - 1)], sum(held) / len(held), held[-1], together]


def _held(weight: Mapping[str, float], words: Collection[str]) -> float:
    total = sum(weight.values())
    return sum(w for word, w in weight.items() if word in words) / total if total else 0.0


def overlap_rows(groups: Iterable[tuple[str, Iterable[str]]]) -> list[list[float]]:
    """Lay out the five numbers of each group, given as a question and the texts of its passages.

    >>> overlap_rows([("Who lit the reef?", ["They lit the reef.", "Nobody knows."])])[0][0]
    0.6666666666666666
    """
    kept = []
    for question, texts in groups:
        asked = tokens(question)
        wanted = frozenset(asked)
        kept.append((asked, [wanted.intersection(tokens(text)) for text in texts]))
    seen = count_words(asked for asked, _ in kept)
    return [overlap_of(asked, held, seen) for asked, held in kept]
