"""What `measure` returns: figures with intervals, panel by panel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.metrics.baselines import Floor
    from novarag.metrics.calibration import Bins
    from novarag.stats.arrays import Floats
    from novarag.stats.figure import Figure


@dataclass(frozen=True, slots=True)
class Bound:
    """What a figure would be if every unread reply were wrong, at 0 % and at 100 %."""

    at_zero: float
    at_full: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Error rate against coverage, at every threshold that can be set."""

    threshold: Floats
    coverage: Floats
    risk: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """All that is known of one group of rows; `refusal` says why nothing more is.

    `worth` is the Brier score of the constant baseline minus that of the stated confidence.
    """

    name: str
    rows: int
    questions: int
    read: int
    ungraded: int
    flaws: Mapping[str, int]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    baselines: Mapping[str, Mapping[str, Figure]] = field(default_factory=dict)
    worth: Figure | None = None
    floor: Floor | None = None
    bins: Bins | None = None
    curve: Curve | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A paired difference between two groups over the same resampled questions."""

    metric: str
    one: str
    other: str
    figure: Figure
    shared_questions: int
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Everything `measure` found, and how."""

    overall: Panel
    groups: tuple[Panel, ...]
    macro: Mapping[str, Figure]
    differences: tuple[Difference, ...]
    by: tuple[str, ...]
    replicates: int
    seed: int
