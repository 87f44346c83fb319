"""What an `on_event` callback hears while a verb works: small records, not printed here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from novarag.runner.events import Note as Note
from novarag.runner.events import Notice as Notice
from novarag.runner.events import RunBegun as RunBegun
from novarag.runner.events import RunEnded as RunEnded
from novarag.runner.events import RunProgress as RunProgress
from novarag.runner.events import silent as silent

if TYPE_CHECKING:
    from pathlib import Path

    from novarag.sft.train.progress import TrainingSnapshot as Trained


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table of answers was read: what was taken for what, a line each."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepBegun:
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
class StepProgress:
    """How far a step without requests is: how many were seen, and how many of them are new."""

    what: str
    seen: int
    fresh: int


@dataclass(frozen=True, slots=True)
class PartsProgress:
    """Some of a known number of parts are done, such as shards or bootstrap replicates."""

    what: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How far a training is, after each of its steps."""

    now: Trained


@dataclass(frozen=True, slots=True)
class FileWritten:
    """A file is in its place."""

    path: Path


Event = (
    Notice | Note | TableRead | StepBegun | StepResult | RunBegun | RunProgress | RunEnded
    | TrainingProgress | StepProgress | PartsProgress | FileWritten
)  # fmt: skip
EventListener = Callable[[Event], None]
