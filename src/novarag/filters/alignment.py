"""The stage that picks, of all responses to one group, the one whose confidence is best aligned.

The Brier score of one response is the square of its distance to the target: 1 where it is right and
0 where it is wrong, or, with `soft`, the share of the group's samples that are right. The least
distance has the least square, and distances are rounded, so that 0.9 for a right answer and 0.1 for
a wrong one tie as they should; floating point would prefer one of them.

With `share` and `teacher` the target is written into the kept reply (by `export`), so what replies
stated does not choose between them: luck does, and answers stay distributed as the model gives
them. With `unfiltered` every graded response stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from novarag.errors import DataError
from novarag.filters.draws import group_draws, sample_draws
from novarag.filters.stages import ASKED

if TYPE_CHECKING:
    from novarag.filters.options import Options

_DIGITS = 9  # decimals, so that equal distances tie however they were computed
_UNGRADED = "not graded"
_WORSE = "another response is better aligned"
_NOT_DRAWN = "another response of its group was drawn"


def with_target(trials: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Add the share as target, if it is asked for: all samples count, an unread one is not right.

    This comes before the first stage: later, the samples that were dropped would be missing.
    """
    if "target" in trials.columns:
        return trials
    if options.alignment == "teacher":
        raise DataError(
            "a teacher's targets are not there.",
            hint="give each trial its cross-fitted probability, as `filter_trials(...)` does.",
            column="target",
        )
    if options.alignment == "brier":
        return trials.with_columns(target=pl.lit(None, dtype=pl.Float64))
    right = pl.col("correct").fill_null(value=False).cast(pl.Float64).mean().over(ASKED)
    graded = pl.col("correct").is_not_null().any().over(ASKED)
    return trials.with_columns(target=pl.when(graded).then(right))


def aligned(trials: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Keep the best aligned response of each group asked; ties go by seeded luck."""
    bits = options.alignment == "brier"
    target = pl.col("correct").cast(pl.Float64) if bits else pl.col("target")
    distance = (pl.col("confidence") - target).abs().round(_DIGITS)
    graded = pl.col("correct").is_not_null() & distance.is_not_null()
    if options.unfiltered:
        return trials.with_columns(reason=pl.when(~graded).then(pl.lit(_UNGRADED)))
    if options.is_written:
        distance = pl.lit(0.0)
    measured = trials.with_columns(_distance=pl.when(graded).then(distance)).with_row_index("_row")
    nearest = measured.filter(pl.col("_distance") == pl.col("_distance").min().over(ASKED))
    luck = sample_draws(
        group_draws(nearest, seed=options.seed, purpose="alignment"),
        nearest["sample"].cast(pl.Int64).to_numpy(),
    )
    best = nearest.with_columns(_luck=luck).filter(
        pl.col("_luck") == pl.col("_luck").min().over(ASKED)
    )
    if best.select(ASKED).n_unique() != best.height:
        raise DataError(
            "a sample is there more than once.",
            hint="give each sample of a group a number of its own.",
            column="sample",
        )
    return measured.with_columns(
        reason=pl.when(pl.col("_distance").is_null())
        .then(pl.lit(_UNGRADED))
        .when(~pl.col("_row").is_in(best["_row"].implode()))
        .then(pl.lit(_NOT_DRAWN if options.is_written else _WORSE))
    ).drop("_row", "_distance")
