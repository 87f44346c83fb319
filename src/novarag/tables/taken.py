"""What was taken for what, in words: a line for each column of a table that was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novarag.tables.cells import Looks
from novarag.tables.grades import Grading
from novarag.tables.unsettled import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.tables.confidences import Confidences
    from novarag.tables.grades import Grades

_LISTED = 6
_BARE = (Looks.ZERO, Looks.FRACTION, Looks.ONE, Looks.FEW, Looks.MANY, Looks.OUTSIDE)


def say_confidences(column: str, taken: Confidences, counts: Mapping[str, int]) -> str:
    """Say how a confidence column was read; `counts` has empty and named cells as they stand."""
    bare = sum(taken.counts.get(look, 0) for look in _BARE)
    signed = taken.counts.get(Looks.SIGNED, 0)
    parts = [f"{signed:,} with their sign, such as 85%"] if signed else []
    parts += [f"{bare:,} {_scale(taken)}"] if bare else []
    parts += [_named(taken, counts)] if taken.named else []
    unread = sum(counts.values()) - sum(_shares(taken, counts).values())
    parts += [f"{unread:,} unread{_listing(_without(taken, counts))}"] if unread else []
    return f"confidence: column {column!r}, {'; '.join(part for part in parts if part)}"


def _scale(taken: Confidences) -> str:
    if taken.scale.mixed:
        return "from 0 to 1, or percents where over 1"
    return "from 0 to 1" if taken.scale.top == 1 else f"from 0 to {taken.scale.top:g}"


def _named(taken: Confidences, counts: Mapping[str, int]) -> str:
    shares = _shares(taken, counts)
    return ", ".join(
        f"{shown(value)} as {taken.value(value):.4g} ({count:,})" for value, count in shares.items()
    )


def _shares(taken: Confidences, counts: Mapping[str, int]) -> dict[str, int]:
    return {value: n for value, n in counts.items() if taken.value(value) is not None}


def _without(taken: Confidences, counts: Mapping[str, int]) -> dict[str, int]:
    return {value: n for value, n in counts.items() if taken.value(value) is None}


def say_grades(column: str, taken: Grades, empty: int = 0) -> str:
    """Say how a grade column was read; `empty` cells have nothing in them."""
    parts = []
    for said in (Grading.RIGHT, Grading.WRONG, Grading.UNGRADED):
        counts = dict(taken.counts.get(said, {}))
        if empty and said is Grading.UNGRADED:
            counts[""] = counts.get("", 0) + empty
        if counts or said is not Grading.UNGRADED:
            parts.append(f"{sum(counts.values()):,} {said.value}{_listing(counts)}")
    return f"correct: column {column!r}, {'; '.join(parts)}"


def _listing(counts: Mapping[str, int]) -> str:
    """List values with their counts, the most common first."""
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    said = [f"{shown(v) if v else 'empty'} {n:,}" for v, n in ranked[:_LISTED]]
    more = f", {len(ranked) - _LISTED:,} other values" if len(ranked) > _LISTED else ""
    return f" ({', '.join(said)}{more})" if said else ""
