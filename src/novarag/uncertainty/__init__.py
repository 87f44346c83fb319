"""Uncertainty methods over several responses to one question."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

from novarag.errors import UsageError
from novarag.grading import normalize
from novarag.records import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def ensemble(responses: Sequence[Response]) -> Response:
    """Return the most frequent answer with its mean confidence; ties go to the first sample."""
    if not responses:
        raise UsageError("an ensemble needs at least one response")
    camps: dict[str, list[Response]] = defaultdict(list)
    for response in responses:
        camps[normalize(response.answer)].append(response)
    winner = max(camps.values(), key=len)
    return Response(answer=winner[0].answer, confidence=fmean(r.confidence for r in winner))


METHODS: dict[str, Callable[[Sequence[Response]], Response]] = {"ensemble": ensemble}
"""Every method by name."""
