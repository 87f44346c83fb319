"""What an `on_event` callback hears while a verb works: small records, not printed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from novarag.flows.jobs import RunSummary
    from novarag.runs import Manifest, Progress
    from novarag.sft.train.progress import Progress as Trained


@dataclass(frozen=True, slots=True)
class Notice:
    """Something was found amiss, such as a damaged file, and put right."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing while one waits."""

    text: str


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table of answers was read: what was taken for what, a line each."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of several begins."""

    name: str
    number: int
    steps: int


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step of several is done; `result` is what the verb of that name returns."""

    name: str
    result: object


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


@dataclass(frozen=True, slots=True)
class Counted:
    """How far a step without requests is: how many were seen, and how many of them are new."""

    what: str
    seen: int
    fresh: int


@dataclass(frozen=True, slots=True)
class Advanced:
    """Some of a known number of parts are done, such as shards or bootstrap replicates."""

    what: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How far a training is, after each of its steps."""

    now: Trained


@dataclass(frozen=True, slots=True)
class Wrote:
    """A file is in its place."""

    path: Path


Event = (
    Notice | Note | TableRead | Step | StepResult | RunBegun | RunProgress | RunEnded
    | TrainingProgress | Counted | Advanced | Wrote
)  # fmt: skip
Tell = Callable[[Event], None]


def silent(_: Event) -> None:
    """Hear everything and say nothing: the default of every `on_event`."""
