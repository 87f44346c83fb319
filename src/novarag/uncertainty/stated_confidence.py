"""Methods that take a confidence as the model states it: with its answer, or asked about it."""

from __future__ import annotations

import re
from math import exp, fsum, isfinite
from typing import TYPE_CHECKING

from novarag.records import Flaw, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.records import Trial


def verbal(greedy: Sequence[Trial]) -> Response | Flaw:
    """Return what the reply states."""
    return greedy[0].response or greedy[0].flaw or Flaw.EMPTY


# " True." and "true" are one verdict.
_NOT_A_LETTER = re.compile(r"[\W\d_]+")


def p_true(greedy: Sequence[Trial], verdicts: Sequence[Trial]) -> Response | Flaw:
    """Return the greedy answer with the chance that the verdict on it begins with "True".

    Kadavath et al., Language Models (Mostly) Know What They Know, 2022.
    The chance is P(True) / (P(True) + P(False)), over all spellings among the first token's
    alternatives: spaces, punctuation and case do not count.
    """
    stated = greedy[0].response
    if stated is None:
        return greedy[0].flaw or Flaw.EMPTY
    found = [
        (word == "true", logprob)
        for token, logprob in verdicts[0].completion.alternatives
        if (word := _NOT_A_LETTER.sub("", token).casefold()) in {"true", "false"}
        and isfinite(logprob)
    ]
    if not found:
        return Flaw.NO_VERDICT
    top = max(logprob for _, logprob in found)  # taken out, lest all vanish
    weights = [(yes, exp(logprob - top)) for yes, logprob in found]
    share = fsum(w for yes, w in weights if yes) / fsum(w for _, w in weights)
    return Response(answer=stated.answer, confidence=min(1.0, share))
