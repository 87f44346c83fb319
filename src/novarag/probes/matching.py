"""Which answers are the same? Strictly for what must not flip, leniently for what must not agree.

Two kinds of error have opposite effects. A bound on *changed* answers is safe if answers are only
called equal where grading could not tell them apart (`same_words`). A bound on *agreeing* answers
is safe if answers are called equal wherever both might be right (`agreeing`): one inside the
other, half of their words shared, two refusals, two spellings of an accepted answer. What is left,
two answers called different of which both are right, is the matching risk.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import fsum
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from novarag.errors import UsageError
from novarag.grading import CRITERIA, grade, is_refusal, normalize, polarity
from novarag.records import AnswerForm
from novarag.stats.exact import upper_bound
from novarag.taxonomy import Grade

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag.probes.replies import ProbeReplies
    from novarag.records import Question
    from novarag.stats.arrays import Floats


_F1, _WITHIN = CRITERIA["f1"], CRITERIA["boundary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingRisk:
    """How often two answers that are called different may both be right, at most.

    `bound` is the share of questions that have two such answers among all their replies, `pair`
    the share of pairs of replies that are two such answers. `share` and `questions` are what was
    seen, None where the bounds are given by hand. `source` says where they come from.
    """

    bound: float
    pair: float
    source: str
    share: float | None = None
    questions: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.pair <= self.bound <= 1:
            raise UsageError.saying(
                "the matching risk of a pair lies between 0 and that of a question, which is at"
                " most 1: `pair` is {} and `bound` is {}",
                self.pair,
                self.bound,
            )

    def of_replies(self, count: Floats) -> Floats:
        """Return by how much the share of right replies may exceed the largest agreeing set.

        Of M replies all but one at most, on the share `bound` of questions. And, since R right
        replies of which r agree make R (R - r) ordered pairs, at most (M - 1) / 2 times `pair`.
        """
        return np.minimum(self.bound * (1 - 1 / count), self.pair * (count - 1) / 2)


DEFAULT_RISK = MatchingRisk(
    bound=0.08, pair=0.02, source="short answers of twelve models to NQ and TriviaQA, judged"
)
"""What is taken off where nothing better is known."""

NO_RISK = MatchingRisk(bound=0.0, pair=0.0, source="answers are matched without error")
"""For answers from a closed list, such as yes and no."""


def same_words(answers: Sequence[str | None], question: Question) -> list[int]:
    """Number answers so that equal numbers are graded alike, whatever is right; -1 for None.

    >>> from novarag.records import Question
    >>> same_words(["The Seine", "seine!", None, "river Seine"], Question(id="q", text="Which?"))
    [0, 0, -1, 1]
    """
    numbers: dict[str, int] = {}
    return [
        -1 if answer is None else numbers.setdefault(_words(answer, question), len(numbers))
        for answer in answers
    ]


def agreeing(answers: Sequence[str | None], question: Question) -> list[int]:
    """Number answers so that those which might both be right share a number; -1 for None.

    Sets are closed: where one answer agrees with two others, all three share a number.

    >>> from novarag.records import Question
    >>> agreeing(["Seine", None, "the river Seine", "Rhine"], Question(id="q", text="Which?"))
    [0, -1, 0, 1]
    """
    said = {_words(answer, question): answer for answer in answers if answer is not None}
    words = list(said)
    refused = [is_refusal(answer) for answer in said.values()]
    right = [_is_right(answer, question) for answer in said.values()]
    sets = list(range(len(words)))
    for one in range(len(words)):
        for two in range(one):
            if sets[one] != sets[two] and (
                (refused[one] and refused[two])
                or (right[one] and right[two])
                or _alike(words[one], words[two])
            ):
                old, new = sets[one], sets[two]
                sets = [new if at == old else at for at in sets]
    place = dict(zip(words, sets, strict=True))
    numbers: dict[int, int] = {}
    return [
        -1 if answer is None else numbers.setdefault(place[_words(answer, question)], len(numbers))
        for answer in answers
    ]


def estimate_risk(probed: Iterable[ProbeReplies], *, level: float = 0.05) -> MatchingRisk:
    """Estimate the matching risk from questions with accepted answers, with upper bounds.

    Answers are matched as if nobody knew what is right, then graded: a question counts where two
    that do not agree are both right. Bounds are exact and one-sided (Clopper-Pearson). Grading
    misses spellings that nobody listed, so bounds from a few accepted answers may be too low.
    """
    found: dict[str, list[tuple[bool, float]]] = {}
    for one in probed:
        question = one.question
        said = [r.answer for replies in one.replies.values() for r in replies if r is not None]
        if question.answers and len(said) > 1:
            sets = agreeing(said, replace(question, answers=()))
            right = [grade(answer, question) is Grade.RIGHT for answer in said]
            found.setdefault(question.id, []).append(split_share(sets, right))
    if not found:
        raise UsageError.saying(
            "no question has accepted answers and two replies that could be read, so the matching"
            " risk cannot be estimated; give a MatchingRisk, or leave it at its default"
        )
    count = len(found)
    seen = fsum(max(two for two, _ in groups) for groups in found.values())
    pairs = fsum(fmean(share for _, share in groups) for groups in found.values())
    bound = upper_bound(seen, count, level)
    return MatchingRisk(
        bound=bound,
        pair=min(bound, upper_bound(pairs, count, level)),
        source=f"graded replies to {count:,} questions",
        share=seen / count,
        questions=count,
    )


def split_share(sets: Sequence[int], right: Sequence[bool]) -> tuple[bool, float]:
    """Say whether right replies are in two sets, and the share of pairs that are so split."""
    sizes = Counter(number for number, good in zip(sets, right, strict=True) if good)
    apart = sizes.total() ** 2 - sum(size**2 for size in sizes.values())
    return len(sizes) > 1, apart / (len(sets) * (len(sets) - 1))


def _words(answer: str, question: Question) -> str:
    """Return what an answer is compared by: yes, no, or its normalised words."""
    if question.form is AnswerForm.YES_NO and (said := polarity(answer)) is not None:
        return "yes" if said else "no"
    return normalize(answer)


def _alike(one: str, two: str) -> bool:
    return _WITHIN(one, two) or _WITHIN(two, one) or _F1(one, two)


def _is_right(answer: str, question: Question) -> bool:
    return bool(question.answers) and grade(answer, question) is Grade.RIGHT
