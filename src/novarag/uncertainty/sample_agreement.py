"""Methods that count how many replies to one question agree."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

from novarag.grading import normalize
from novarag.records import Flaw, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.records import Trial


def ensemble(samples: Sequence[Trial]) -> Response | Flaw:
    """Return the most frequent answer with its mean confidence; ties go to the first sample."""
    winner = _majority(samples)
    if isinstance(winner, Flaw):
        return winner
    return Response(answer=winner[0].answer, confidence=fmean(r.confidence for r in winner))


def self_frequency(samples: Sequence[Trial]) -> Response | Flaw:
    """Return the most frequent answer with its share of all samples, unread ones included.

    Wang et al., Self-Consistency, 2023, ICLR, who take the answer by such a vote.
    """
    winner = _majority(samples)
    if isinstance(winner, Flaw):
        return winner
    return Response(answer=winner[0].answer, confidence=len(winner) / len(samples))


def _majority(samples: Sequence[Trial]) -> list[Response] | Flaw:
    """Find the largest camp of equal answers, or the flaw where none was read."""
    camps: dict[str, list[Response]] = defaultdict(list)
    for trial in samples:
        if trial.response is not None:
            camps[normalize(trial.response.answer)].append(trial.response)
    if not camps:
        return samples[0].flaw or Flaw.EMPTY
    return max(camps.values(), key=len)
