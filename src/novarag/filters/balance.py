"""The stages that look at what is left as a whole: common groups, balance of kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from novarag.filters.draws import group_draws
from novarag.filters.stages import keep_all
from novarag.taxonomy import GroupKind

if TYPE_CHECKING:
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
