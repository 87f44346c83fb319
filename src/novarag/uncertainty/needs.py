"""What a method is computed from, said before anything is asked, so that it is asked for once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from novarag.calls import Sampling
from novarag.strategies.follow_up import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Replies to one prompt: which prompt, how many samples, how warm, with what detail.

    `strategy` names the prompt; None is the strategy under study. `follow_up` names a question
    that is put about the answer of the greedy reply; it takes the place of the prompt.
    """

    strategy: str | None = None
    follow_up: str | None = None
    samples: int = 1
    temperature: float = 0.0
    logprobs: bool = False
    alternatives: int = 0

    def covers(self, other: Need) -> bool:
        """Say whether these replies can serve another need."""
        return (
            self._prompt == other._prompt
            and self.samples >= other.samples
            and self.logprobs >= other.logprobs
            and self.alternatives >= other.alternatives
        )

    def sampling(self, max_tokens: int | None = None) -> Sampling:
        """Say how a model is asked; of a follow-up's reply the first token decides."""
        return Sampling(
            n=self.samples,
            temperature=self.temperature,
            logprobs=self.logprobs,
            alternatives=self.alternatives,
            max_tokens=max_tokens if self.follow_up is None else LONGEST,
        )

    @property
    def _prompt(self) -> tuple[str | None, str | None, float]:
        return self.strategy, self.follow_up, self.temperature


GREEDY = Need()
"""The likeliest reply to the strategy under study."""


def serving(need: Need, drawn: Iterable[Need]) -> Need:
    """Find the replies that serve a need among those that were drawn."""
    return next(one for one in drawn if one.covers(need))


def union(needs: Iterable[Need]) -> tuple[Need, ...]:
    """Merge needs that the same replies can serve; a follow-up brings the reply it is about.

    Samples at one temperature are shared, as they are drawn in the same way.
    """
    merged: dict[tuple[str | None, str | None, float], Need] = {}
    for need in needs:
        for one in (GREEDY, need) if need.follow_up else (need,):
            old = merged.get(one._prompt, one)
            merged[one._prompt] = replace(
                old,
                samples=max(old.samples, one.samples),
                logprobs=old.logprobs or one.logprobs,
                alternatives=max(old.alternatives, one.alternatives),
            )
    return tuple(merged.values())
