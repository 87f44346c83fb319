"""Stages of the training-data funnel over a table of trials; each says why it drops a row.

A stage takes the rows still in, and the options, and returns the rows with a `reason` column: null
keeps the row. It works on the columns that were read when the reply arrived, not on the reply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from novarag.errors import DataError, UnknownNameError
from novarag.filters.options import Options
from novarag.filters.selection import aligned, balanced, common, with_target
from novarag.filters.stages import (
    ASKED,
    EVIDENCE_PASSAGES,
    by_the_rules,
    judged_right,
    readable,
)
from novarag.filters.tally import FilterTally
from novarag.prose import say

Stage = Callable[[pl.DataFrame, Options], pl.DataFrame]

STAGES: dict[str, Stage] = {
    "format": readable,
    "judgment": judged_right,
    "rules": by_the_rules,
    "alignment": aligned,
    "common": common,
    "balance": balanced,
}
"""Every stage by name, in the order of the paper."""

BY_GROUP = ("format", "judgment", "rules", "alignment")
"""Stages that need no more than the trials of one group at a time, so shards can go one by one."""

OVER_ALL = ("common", "balance")
"""Stages that need all that is left."""

_WHO = (*ASKED, "kind", "sample")
_NEEDS = {
    "format": ("flaw", "judgments"),
    "judgment": (
        "evidence", "passages_judged", "passages_right", "group_judged", "group_right",
    ),
    "rules": ("evidence", "judgments", "rule_step"),
    "alignment": ("confidence", "correct"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FunnelResult:
    """What survived, what was dropped at which stage and why, and the counts."""

    kept: pl.DataFrame
    dropped: pl.DataFrame
    tally: FilterTally


def columns_for(stages: Sequence[str], options: Options) -> list[str]:
    """List the columns of trials that some stages read."""
    needs = dict.fromkeys([*_WHO, *(name for stage in stages for name in _NEEDS.get(stage, ()))])
    if "rules" in stages and (options.rules == "keyword" or options.drop_longest):
        needs["reply"] = None
    if "judgment" in stages and options.tolerate_mismatch:
        needs |= {"judgments": None, EVIDENCE_PASSAGES: None}
    return list(needs)


def funnel(
    trials: pl.DataFrame, stages: Sequence[str] = tuple(STAGES), *, options: Options | None = None
) -> FunnelResult:
    """Pour trials through the named stages in order, counting what each drops and why.

    Args:
        trials: A table of trials, as `tabulate` or a run lays them out.
        stages: The names of the stages, in the order in which trials pass them.
        options: Variants of the stages and the seed of their draws (`novarag.filters.Options`);
            None takes the defaults.
    """
    options = options or Options()
    _check(trials, stages, options)
    tally = FilterTally(tuple(stages))
    tally.count_in(trials)
    kept = with_target(trials, options)
    nothing = kept.clear()
    dropped = [nothing.with_columns(reason=pl.lit(None, dtype=pl.String), stage=pl.lit(""))]
    for name in stages:
        judged = STAGES[name](kept, options)
        kept = judged.drop("reason")
        if judged["reason"].null_count() < judged.height:  # a copy for nothing is spared
            out = judged["reason"].is_not_null()
            dropped.append(judged.filter(out).with_columns(stage=pl.lit(name)))
            kept = kept.filter(~out)
    lost = pl.concat(dropped)
    tally.count_out(lost)
    return FunnelResult(kept, lost, tally)


def _check(trials: pl.DataFrame, stages: Sequence[str], options: Options) -> None:
    for name in stages:
        if name not in STAGES:
            raise UnknownNameError(name, STAGES)
    missing = [name for name in columns_for(stages, options) if name not in trials.columns]
    if missing:
        raise DataError(
            "the trials have no such column.",
            hint=say(
                "give trials as `tabulate(...)` or a run lays them out; `reread(...)` brings the"
                " tables of an older run up to date."
            ),
            column=missing[0],
        )


__all__ = [
    "BY_GROUP",
    "EVIDENCE_PASSAGES",
    "OVER_ALL",
    "STAGES",
    "FilterTally",
    "FunnelResult",
    "Options",
    "Stage",
    "columns_for",
    "funnel",
]
