"""The paper's rule ablation as data: one model's answers, with another's on one set of groups.

Whatever a set moves when it is swapped is owed to the rule that governs it: conflict to Conflict
Independence, one passage with an answer to Noise Invariance, none to Parametric Fallback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from novarag.errors import UsageError
from novarag.grouping import evidence_state
from novarag.taxonomy import EvidenceState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from novarag.records import PassageGroup

PARTS: dict[str, frozenset[str]] = {
    "A": frozenset({"A conflict", "A agree"}),
    "A conflict": frozenset({"A conflict"}),
    "A agree": frozenset({"A agree"}),
    "B": frozenset({"B"}),
    "C": frozenset({"C"}),
}
"""What is swapped at a time, and the sets that it is made of."""

SYSTEMS = ("base", *(f"{part} -> tuned" for part in PARTS), "tuned")
"""The systems that `swap` stacks, in the order of the paper's table."""


def evidence_set(group: PassageGroup) -> str:
    """Name the set of a group: A with two or more passages that state an answer, B one, C none.

    A is parted by whether they agree. Passages that do not say what they claim cannot be shown to
    agree, so they count as a conflict.
    """
    if group.evidence is None:
        raise UsageError.saying(
            "group {!r} has a passage without a kind, so its set is not known; `annotate(...)`"
            " gives kinds",
            group.id,
        )
    if group.evidence < 2:
        return "B" if group.evidence else "C"
    return "A agree" if evidence_state(group) is EvidenceState.CONSISTENT else "A conflict"


def swap(base: pl.DataFrame, tuned: pl.DataFrame, sets: Mapping[str, str]) -> pl.DataFrame:
    """Stack the systems of the ablation, for `measure(by="system")`.

    Each has the rows of `base`, but those of the swapped sets from `tuned`. Both tables must have
    answers to the same groups, as often; `sets` names the set of every group.
    """
    held = [_held(frame, name) for frame, name in ((base, "base"), (tuned, "tuned"))]
    if not held[0].equals(held[1]):
        raise UsageError("the two tables hold answers to different groups, or not as often each")
    if unknown := [group for group in held[0]["group"] if group not in sets]:
        raise UsageError(f"the set of group {unknown[0]!r} is not known ({len(unknown)} in all)")
    columns = [name for name in base.columns if name in tuned.columns]
    of = pl.col("group").replace_strict(dict(sets), return_dtype=pl.String)

    def system(name: str, swapped: frozenset[str]) -> pl.DataFrame:
        inside = of.is_in(list(swapped))
        rows = [base.select(columns).filter(~inside), tuned.select(columns).filter(inside)]
        return pl.concat(rows).with_columns(system=pl.lit(name))

    every = frozenset(sets.values())
    parts = [frozenset[str](), *PARTS.values(), every]
    return pl.concat([system(n, part) for n, part in zip(SYSTEMS, parts, strict=True)])


def _held(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Count the answers to each group."""
    if "group" not in frame.columns or frame["group"].has_nulls():
        raise UsageError(f"the {name} table must say of every answer which group it is for")
    return frame.group_by("group").len().sort("group")
