"""A figure: what was found, between which ends it may lie, and how much stands behind it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % interval and the rows behind it; `low` is None where there is none."""

    value: float
    low: float | None
    high: float | None
    n: int
