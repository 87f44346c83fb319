"""The stages that look at one trial at a time: format, judgment, rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from novarag.taxonomy import EvidenceState, Utility, states_for

if TYPE_CHECKING:
    from novarag.filters.options import Options

ASKED = ["model", "strategy", "question", "group"]
"""What one asks sixteen times."""

EVIDENCE_PASSAGES = "evidence_passages"
"""The column that says how many passages of a group are evidence; `tolerate_mismatch` needs it."""

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
    """Keep what judges every passage right, and the group too where it judges it.

    With `tolerate_mismatch` one passage may be called relevant where it is irrelevant, or the other
    way round.
    """
    if not options.judges:
        return keep_all(trials)
    wrong = pl.col("passages_right") != pl.col("passages_judged")
    if options.tolerate_mismatch:
        wrong &= ~_is_slip(trials)
    stated, checked = pl.col("evidence").is_not_null(), pl.col("group_judged").is_not_null()
    unknown = pl.lit("nothing known to judge by")
    return trials.with_columns(
        reason=pl.when(pl.col("passages_judged").is_null())
        .then(unknown)
        .when(wrong)
        .then(pl.lit("a passage is misjudged"))
        .when(stated & ~checked)
        .then(unknown)
        .when(pl.col("group_right") != pl.col("group_judged"))
        .then(pl.lit("the group is misjudged"))
    )


def _is_slip(trials: pl.DataFrame) -> pl.Series:
    """Say which replies misjudge one passage, and not whether it is evidence.

    One passage that is taken for evidence, or evidence that is not, changes how many passages are
    called highly relevant; one that is mixed up between the other two classes does not.
    """
    one = trials["passages_judged"] - trials["passages_right"] == 1
    said = pl.Series(_count_highly(trials["judgments"]))
    return (one & (said == trials[EVIDENCE_PASSAGES])).fill_null(value=False)


def by_the_rules(trials: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Keep what applies the rules: by what was read (`stated`), or by key words (`keyword`).

    Of what is left the longest replies of each group are dropped, as many as `drop_longest` says.
    """
    if not options.judges:
        held = keep_all(trials)
    else:
        held = _with_keywords(trials) if options.rules == "keyword" else _by_what_was_read(trials)
    return _without_longest(held, options.drop_longest) if options.drop_longest else held


def _without_longest(held: pl.DataFrame, share: float) -> pl.DataFrame:
    """Drop the longest of each group's replies that have no reason yet; one always stays."""
    kept = pl.col("reason").is_null()
    left = kept.sum().over(ASKED)
    out = pl.min_horizontal((left * share).ceil(), left - 1)
    length = pl.col("reply").str.len_chars()
    place = length.rank("ordinal", descending=True).over([*ASKED, kept])
    return held.with_columns(
        reason=pl.when(kept & (place <= out))
        .then(pl.lit("among the longest replies of its group"))
        .otherwise("reason")
    )


def _by_what_was_read(trials: pl.DataFrame) -> pl.DataFrame:
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
