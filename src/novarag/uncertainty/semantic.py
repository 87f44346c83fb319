"""Semantic entropy: how the samples spread over meanings, whoever says what means the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum, log
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.grading import normalize
from novarag.records import Flaw, Response
from novarag.uncertainty.sample_agreement import answers, basis

if TYPE_CHECKING:
    from novarag.records import Trial

Equivalence = Callable[[str, Sequence[str]], Sequence[int]]
"""A function of a question and answers to it: the number of the meaning of each answer."""

Weigh = Callable[[Sequence[tuple[str, str]]], Sequence[Sequence[float]]]
"""A function of pairs of a premise and a hypothesis: for each the chances of entailment, neutral
and contradiction."""

_THREE = 3  # chances of a pair: entailment, neutral, contradiction


def same_words(question: str, said: Sequence[str]) -> list[int]:  # noqa: ARG001 - an equivalence
    """Let answers mean the same if they are equal as graded: case, articles, accents do not count.

    >>> same_words("Where?", ["Paris", "Lyon", "the paris!"])
    [0, 1, 0]
    """
    numbers: dict[str, int] = {}
    return [numbers.setdefault(normalize(answer), len(numbers)) for answer in said]


def by_entailment(weigh: Weigh) -> Equivalence:
    """Let answers mean the same if each entails the other, by a model of entailment.

    An answer is held against the first of every meaning found so far, with the question before
    it. It joins if entailment is the likeliest of the three in both directions.
    """

    def equivalence(question: str, said: Sequence[str]) -> list[int]:
        firsts: list[str] = []
        numbers: list[int] = []
        for answer in (f"{question} {answer}" for answer in said):
            pairs = [pair for first in firsts for pair in ((first, answer), (answer, first))]
            entails = [row[0] > max(row[1:]) for row in weighed(weigh, pairs)]
            both = [there and back for there, back in zip(entails[::2], entails[1::2], strict=True)]
            numbers.append(both.index(True) if True in both else len(firsts))
            if numbers[-1] == len(firsts):
                firsts.append(answer)
        return numbers

    return equivalence


def weighed(weigh: Weigh, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float, float]]:
    """Put pairs to a model of entailment, and refuse what is not three chances for each."""
    if not pairs:
        return []
    rows = [tuple(float(chance) for chance in row) for row in weigh(pairs)]
    if len(rows) != len(pairs) or any(len(row) != _THREE for row in rows):
        raise UsageError.saying(
            "the model of entailment (`nli`) got {} pairs and must return as many rows of three"
            " chances: entailment, neutral, contradiction",
            len(pairs),
        )
    return [(row[0], row[1], row[2]) for row in rows]


def semantic_entropy(
    greedy: Sequence[Trial], samples: Sequence[Trial], *, equivalence: Equivalence = same_words
) -> Response | Flaw:
    """Return the greedy answer with one minus the scaled entropy of the samples' meanings.

    Kuhn, Gal and Farquhar, 2023, ICLR; by shares of samples in Farquhar et al., 2024, Nature 630.
    The entropy is that of the shares of N samples over meanings, divided by log N, its most. A
    sample that could not be read is a meaning of its own. In terms of the sizes n of the meanings,
    1 - H / log N is the sum of n log n over N log N, which needs no rounding at its ends.
    """
    stated = basis(greedy, samples)
    if isinstance(stated, Flaw):
        return stated
    read = [answer for answer in answers(samples) if answer is not None]
    numbers = equivalence(samples[0].group.question.text, read)
    if len(numbers) != len(read):
        raise UsageError(
            f"the equivalence got {len(read)} answers and must return a number for each,"
            f" not {len(numbers)}"
        )
    count = len(samples)
    sizes = Counter(numbers).values()  # unread samples have size 1, whose logarithm is zero
    kept = fsum(size * log(size) for size in sizes) / (count * log(count))
    return Response(answer=stated.answer, confidence=min(1.0, kept))
