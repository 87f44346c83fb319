"""Counts of one process since its start: what `/metrics` and the status page show."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import NamedTuple

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
"""Upper edges of the classes of times; a last class holds what took longer."""

LEVELS = 20
"""Classes of the confidence, of equal width from 0 to 1; each holds its upper edge."""

_EDGES = tuple(level / LEVELS for level in range(1, LEVELS + 1))


class RequestOutcome(NamedTuple):
    """What became of a request; parts that it does not have are empty."""

    model: str
    route: str
    decision: str
    evidence: str = ""
    action: str = ""


class RequestTallies:
    """Counts requests by outcome, their times and confidences, and what was turned away.

    Every name counted here is one of the settings file or of this package, never a client's text,
    so there are few.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[RequestOutcome] = Counter()
        self.turned_away: Counter[str] = Counter()
        self.seconds: dict[str, list[int]] = {}
        self.seconds_sum: dict[str, float] = {}
        self.confidences: dict[str, list[int]] = {}
        self.confidences_sum: dict[str, float] = {}
        self.tokens: Counter[tuple[str, str]] = Counter()

    def count(
        self, outcome: RequestOutcome, seconds: float, *, confidence: float | None = None
    ) -> None:
        """Count one request that ended."""
        self.outcomes[outcome] += 1
        before = self.seconds_sum.get(outcome.model, 0.0)
        self.seconds_sum[outcome.model] = before + seconds
        times = self.seconds.get(outcome.model)
        if times is None:
            times = self.seconds[outcome.model] = [0] * (len(SECONDS) + 1)
        times[bisect_left(SECONDS, seconds)] += 1
        if confidence is not None:
            levels = self.confidences.get(outcome.model)
            if levels is None:
                levels = self.confidences[outcome.model] = [0] * LEVELS
            levels[min(bisect_left(_EDGES, confidence), LEVELS - 1)] += 1
            total = self.confidences_sum.get(outcome.model, 0.0)
            self.confidences_sum[outcome.model] = total + confidence

    def count_tokens(self, model: str, *, prompt: int, reply: int) -> None:
        """Count tokens that a model's server said it took."""
        self.tokens[model, "prompt"] += prompt
        self.tokens[model, "reply"] += reply

    def turn_away(self, reason: str) -> None:
        """Count a request that was not served: by what stopped it."""
        self.turned_away[reason] += 1
