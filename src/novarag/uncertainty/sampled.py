"""Methods that compare several replies to one question."""

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
    camps: dict[str, list[Response]] = defaultdict(list)
    for trial in samples:
        if trial.response is not None:
            camps[normalize(trial.response.answer)].append(trial.response)
    if not camps:
        return samples[0].flaw or Flaw.EMPTY
    winner = max(camps.values(), key=len)
    return Response(answer=winner[0].answer, confidence=fmean(r.confidence for r in winner))
