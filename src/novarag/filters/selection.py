"""The stages that choose among what is sound: the best aligned responses, common groups, balance.

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

import numpy as np
import polars as pl

from novarag.errors import DataError
from novarag.filters.stages import ASKED, keep_all
from novarag.prose import say
from novarag.seeding import stable_hash
from novarag.taxonomy import GroupKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from novarag.filters.options import Options

_GROUP = ["question", "group"]
_KIND = ["model", "kind"]


def common(trials: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Keep groups that are kept for every model; with one model, all."""
    if options.common <= 1:
        return keep_all(trials)
    models = pl.col("model").n_unique().over(_GROUP)
    return trials.with_columns(
        reason=pl.when(models < options.common).then(pl.lit("not kept for every model"))
    )


def balanced(trials: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Keep as many groups of each kind as the balance allows; which, is seeded luck.

    `uniform` goes by the rarest kind of each model. A kind of which nothing is left cannot be
    balanced against and does not count. Luck depends on the group alone, so models that have the
    same groups left keep the same ones.
    """
    if options.balance == "none" or not trials.height:
        return keep_all(trials)
    luck = group_draws(trials, seed=options.seed, purpose="balance")
    drawn = trials.with_columns(_luck=luck)
    order = pl.struct("_luck", "strategy").rank("ordinal").over(_KIND)
    allowed = pl.col("_allowed")
    counted = drawn.join(_allowed(trials, options), on=_KIND, how="left", maintain_order="left")
    return counted.with_columns(
        reason=pl.when(pl.col("kind").is_null())
        .then(pl.lit("the kind of the group is not known"))
        .when(order > allowed)
        .then(pl.lit("more of its kind than balance allows"))
    ).drop("_luck", "_allowed")


def _allowed(trials: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Say how many groups of each kind may stay for each model."""
    counts = trials.drop_nulls("kind").group_by(_KIND).len("_allowed")
    if options.balance == "uniform":
        return counts.with_columns(pl.col("_allowed").min().over("model"))
    kind = pl.col("kind")
    rare = pl.col("_allowed").filter(kind == GroupKind.IRRELEVANT.value).sum().over("model")
    return counts.with_columns(
        _allowed=pl.when((kind == GroupKind.CONSISTENT.value) & (rare > 0))
        .then(pl.min_horizontal("_allowed", rare))
        .otherwise("_allowed")
    )


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
            hint=say("give each trial its cross-fitted probability, as `filter_trials(...)` does."),
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


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def group_draws(trials: pl.DataFrame, *, seed: int, purpose: str) -> NDArray[np.uint64]:
    """Draw a number for the group of each row; the rows of a group draw the same one."""
    drawn = _draws(trials, str(seed), purpose)
    return np.fromiter(drawn, dtype=np.uint64, count=trials.height)


def _draws(trials: pl.DataFrame, seed: str, purpose: str) -> Iterator[int]:
    last, drawn = None, 0
    for group in zip(trials["question"], trials["group"], strict=True):  # pragma: no branch
        if group != last:  # the rows of a group mostly stand together
            drawn = stable_hash(seed, purpose, group[0], group[1] or "")
            last = group
        yield drawn


def sample_draws(of_group: NDArray[np.uint64], sample: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Mix a group's number with the sample's (splitmix64): two samples never draw the same one."""
    mixed = of_group + sample.astype(np.uint64) * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    drawn: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return drawn
