"""Which answers are the same? Strictly for what must not flip, leniently for what must not agree.

Two kinds of error have opposite effects. A bound on *changed* answers is safe if answers are only
called equal where grading could not tell them apart (`same_words`). A bound on *agreeing* answers
is safe if answers are called equal wherever both might be right (`agreeing`): one inside the
other, half of their words shared, two refusals, two spellings of an accepted answer. What is left,
two answers called different of which both are right, is the matching risk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from novarag.probes.replies import Probed
    from novarag.records import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingRisk:
    """The share of questions that may have two answers called different and both right.

    `bound` is what is taken off. `share` was seen among `questions`; both None where the bound is
    the default or was given by hand. `source` says where it comes from.
    """

    bound: float
    source: str
    share: float | None = None
    questions: int | None = None


DEFAULT_RISK = MatchingRisk(bound=0.08, source="real replies of twelve models to NQ and TriviaQA")
"""What is taken off where nothing better is known."""


def same_words(answers: Sequence[str | None], question: Question) -> list[int]:
    """Number answers so that equal numbers are graded alike, whatever is right; -1 for None."""
    raise NotImplementedError


def agreeing(answers: Sequence[str | None], question: Question) -> list[int]:
    """Number answers so that those which might both be right share a number; -1 for None."""
    raise NotImplementedError


def estimate_risk(probed: Iterable[Probed], *, level: float = 0.05) -> MatchingRisk:
    """Estimate the matching risk from questions with accepted answers, with an upper bound.

    Answers are matched as if nobody knew what is right, then graded: a question counts where two
    that do not agree are both right. The bound is exact (Clopper-Pearson) and one-sided. Grading
    misses spellings that nobody listed, so a bound from a few accepted answers may be too low.
    """
    raise NotImplementedError
