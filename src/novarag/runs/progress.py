"""How far a run is: counters that shards move and doors show."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from novarag.records import Trial


@dataclass(slots=True, kw_only=True)
class Progress:
    """What was done, and how much of it before this session."""

    answered_requests: int = 0
    dead_requests: int = 0
    before: int = 0
    in_flight: int = 0
    trials: int = 0
    unread: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tokens_before: int = 0

    @property
    def settled(self) -> int:
        """Return how many requests have an answer or were given up."""
        return self.answered_requests + self.dead_requests

    def answered(self, prompt: int, completion: int, *, before: bool = False) -> None:
        """Count one answered request."""
        self.answered_requests += 1
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        if before:
            self.before += 1
            self.tokens_before += completion

    def died(self, requests: int, *, before: bool = False) -> None:
        """Count requests that were given up."""
        self.dead_requests += requests
        self.before += requests if before else 0

    def read(self, trial: Trial) -> None:
        """Count one trial."""
        self.trials += 1
        self.unread += trial.flaw is not None

    def resume(self, counts: dict[str, Any]) -> None:
        """Count a shard that was finished before."""
        self.answered_requests += counts["requests"] - counts["dead"]
        self.dead_requests += counts["dead"]
        self.before += counts["requests"]
        self.trials += counts["trials"]
        self.unread += counts["unread"]
        self.prompt_tokens += counts["prompt_tokens"]
        self.completion_tokens += counts["completion_tokens"]
        self.tokens_before += counts["completion_tokens"]

    def facts(self) -> dict[str, int]:
        """Return the counters as plain numbers."""
        return asdict(self)


class ProgressBoard:
    """The progress of all shards together."""

    def __init__(self) -> None:
        self._finished = Progress()
        self._live: dict[int, Progress] = {}

    def open(self, shard: int) -> Progress:
        """Return the counters of a shard that is about to be worked on."""
        return self._live.setdefault(shard, Progress())

    def show(self, shard: int, facts: dict[str, int]) -> None:
        """Take over the counters of a shard that somebody else works on."""
        self._live[shard] = Progress(**facts)

    def close(self, shard: int) -> None:
        """Add a shard to those that are over."""
        progress = self._live.pop(shard, None)
        if progress is not None:
            self._finished = _sum([self._finished, progress])

    def finish(self, shard: int, counts: dict[str, Any], before: int) -> None:
        """Close a shard that somebody else worked on, with its final counts."""
        seen = self._live.pop(shard, Progress())
        if "requests" not in counts:
            self._finished = _sum([self._finished, seen])
            return
        whole = Progress()
        whole.resume(counts)
        whole.before = before
        if before < counts["requests"]:
            whole.tokens_before = seen.tokens_before
        self._finished = _sum([self._finished, whole])

    def total(self) -> Progress:
        """Add everything up."""
        return _sum([self._finished, *self._live.values()])


def _sum(parts: list[Progress]) -> Progress:
    facts = [part.facts() for part in parts]
    return Progress(**{name: sum(f[name] for f in facts) for name in facts[0]})
