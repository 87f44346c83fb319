"""Baselines beside probes: what changed passages, and the search, say of an answer.

Neither is in `METHODS`: `estimate` asks about groups as they are and knows no scores of a search.
Who has asked about variants of a group, or has the scores, calls them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.grading import normalize
from novarag.records import Flaw, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.records import Trial


def perturbation_consistency(
    original: Sequence[Trial], variants: Sequence[Trial]
) -> Response | Flaw:
    """Return the original's answer with the share of replies to variants that give it too.

    Equal normalised words are the same answer; a reply that could not be read gives another.
    """
    if not variants:
        raise UsageError.saying(
            "consistency needs replies to `variants` of the group, and there are none"
        )
    stated = original[0].response
    if stated is None:
        return original[0].flaw or Flaw.EMPTY
    words = normalize(stated.answer)
    said = [trial.response for trial in variants]
    same = sum(one is not None and normalize(one.answer) == words for one in said)
    return Response(answer=stated.answer, confidence=same / len(said))


def retrieval_score(greedy: Sequence[Trial], scores: Sequence[float]) -> Response | Flaw:
    """Return the greedy answer with the best score of its passages, cut off at 0 and 1.

    Cosine similarities are such scores; those of BM25 have no upper end and must be scaled first.
    """
    if not scores:
        raise UsageError.saying(
            "`scores` must hold the search's score of each passage, and is empty"
        )
    stated = greedy[0].response
    if stated is None:
        return greedy[0].flaw or Flaw.EMPTY
    return Response(answer=stated.answer, confidence=min(1.0, max(0.0, *scores)))
