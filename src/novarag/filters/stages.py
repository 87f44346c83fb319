"""The stages that look at one trial at a time: format, judgment, rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from novarag.taxonomy import EvidenceState, Utility, states_for

if TYPE_CHECKING:
    from novarag.filters.options import Options

_MOST_OPEN = 2  # highly relevant passages from which on more of them leave the same states open


def keep_all(trials: pl.DataFrame) -> pl.DataFrame:
    """Drop nothing."""
    return trials.with_columns(reason=pl.lit(None, dtype=pl.String))


def readable(trials: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Keep what could be read, classes included; the flaw is the reason."""
    if not options.judges:
        return trials.with_columns(reason=pl.col("flaw"))
    unclassed = pl.col("judgments").list.len().fill_null(0) == 0
    return trials.with_columns(
        reason=pl.col("flaw").fill_null(pl.when(unclassed).then(pl.lit("no passage classes")))
    )


def judged_right(trials: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Keep what judges every passage right, and the group too where it judges it."""
    if not options.judges:
        return keep_all(trials)
    stated, checked = pl.col("evidence").is_not_null(), pl.col("group_judged").is_not_null()
    unknown = pl.lit("nothing known to judge by")
    return trials.with_columns(
        reason=pl.when(pl.col("passages_judged").is_null())
        .then(unknown)
        .when(pl.col("passages_right") != pl.col("passages_judged"))
        .then(pl.lit("a passage is misjudged"))
        .when(stated & ~checked)
        .then(unknown)
        .when(pl.col("group_right") != pl.col("group_judged"))
        .then(pl.lit("the group is misjudged"))
    )


def by_the_rules(trials: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Keep what applies the rules: by what was read (`stated`), or by key words (`keyword`)."""
    if not options.judges:
        return keep_all(trials)
    if options.rules == "keyword":
        return _with_keywords(trials)
    evidence = pl.col("evidence")
    return trials.with_columns(
        reason=pl.when(evidence.is_null())
        .then(pl.lit("no group judgment"))
        .when(~pl.Series(_follows(trials)))
        .then(pl.lit("the group judgment does not follow from the classes"))
        .when(~pl.col("rule_step").fill_null(value=False))
        .then(pl.lit("no step applies the rules"))
    )


def _follows(trials: pl.DataFrame) -> np.ndarray:
    """Say for each row whether its evidence state is one that its classes leave open."""
    highly = np.minimum(_count_highly(trials["judgments"]), _MOST_OPEN)
    follows = np.zeros(trials.height, dtype=bool)
    for state in EvidenceState:
        stated = (trials["evidence"] == state).fill_null(value=False).to_numpy()
        for count in range(_MOST_OPEN + 1):
            if state in states_for([Utility.HIGHLY_RELEVANT] * count):
                follows |= stated & (highly == count)
    return follows


def _count_highly(judgments: pl.Series) -> np.ndarray:
    """Count the passages called highly relevant, flat: a list at a time is slow."""
    lengths = judgments.list.len().fill_null(0).to_numpy().astype(np.int64)
    flat = judgments.drop_nulls().explode(empty_as_null=False)
    said = (flat == Utility.HIGHLY_RELEVANT.value).fill_null(value=False).to_numpy()
    ends = np.concatenate([[0], np.cumsum(said)])[np.cumsum(lengths)]
    return np.diff(ends, prepend=0)


def _with_keywords(trials: pl.DataFrame) -> pl.DataFrame:
    """Keep replies that mention "rules" and "Step k+1", as the paper's appendix does."""
    reply = pl.col("reply").str.to_lowercase()
    step = pl.concat_str(
        pl.lit("step "), (pl.col("judgments").list.len().fill_null(0) + 1).cast(pl.String)
    )
    return trials.with_columns(
        reason=pl.when(~reply.str.contains("rules", literal=True))
        .then(pl.lit('"rules" is not mentioned'))
        .when(~reply.str.contains(step, literal=True))
        .then(pl.lit("the step of the rules is not mentioned"))
    )
