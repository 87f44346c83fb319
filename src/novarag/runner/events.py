"""What is told of a run while it is asked: small records, not printed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novarag.runs import Manifest, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What came of a run's requests, as far as they went."""

    place: str
    requests: int
    answered: int
    fresh: int  # settled now, not before
    dead: int
    trials: int
    unread: int
    prompt_tokens: int
    completion_tokens: int
    stopped: bool

    @property
    def finished(self) -> bool:
        """Say whether nothing is left to ask and nobody asked for a stop."""
        return not self.stopped and self.answered + self.dead >= self.requests

    @property
    def all_failed(self) -> bool:
        """Say whether every request was given up."""
        return self.dead >= self.requests


@dataclass(frozen=True, slots=True)
class Notice:
    """Something was found amiss, such as a damaged file, and put right."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing while one waits."""

    text: str


@dataclass(frozen=True, slots=True)
class RunBegun:
    """Requests are about to be sent; `finished` shards of the run have nothing left to ask."""

    manifest: Manifest
    finished: int


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far the requests of a run are, a few times a second."""

    now: Progress
    requests: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The requests of a run are done, or as far as they went."""

    summary: RunSummary


RunEvent = Notice | Note | RunBegun | RunProgress | RunEnded
RunListener = Callable[[RunEvent], None]


def silent(_: object) -> None:
    """Hear everything and say nothing: the default of every `on_event`."""
