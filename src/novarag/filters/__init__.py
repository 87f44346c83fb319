"""Stages of the training-data funnel over a table of trials; each says why it drops a row.

A stage takes the rows still in and returns them with a `reason` column: null keeps the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from novarag.errors import UnknownName

Stage = Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Funnel:
    """What survived, what was dropped and why, and the count after each stage."""

    kept: pl.DataFrame
    dropped: pl.DataFrame
    tally: tuple[tuple[str, int], ...]


def funnel(trials: pl.DataFrame, stages: Sequence[str]) -> Funnel:
    """Pour trials through the named stages in order, counting what each drops."""
    for name in stages:
        if name not in STAGES:
            raise UnknownName(name, STAGES)
    kept, dropped = trials, []
    tally = [("total", trials.height)]
    for name in stages:
        judged = STAGES[name](kept)
        dropped.append(
            judged.filter(pl.col("reason").is_not_null()).with_columns(stage=pl.lit(name))
        )
        kept = judged.filter(pl.col("reason").is_null()).drop("reason")
        tally.append((name, kept.height))
    lost = pl.concat(dropped) if dropped else trials.clear()
    return Funnel(kept, lost, tuple(tally))


def readable(trials: pl.DataFrame) -> pl.DataFrame:
    """Keep what could be read; the flaw is the reason."""
    return trials.with_columns(reason=pl.col("flaw"))


def aligned(trials: pl.DataFrame) -> pl.DataFrame:
    """Keep, for each question and group asked, the one response with the least Brier score.

    Ties go by a hash of question and sample, so no sample number is favoured.
    """
    asked = [c for c in ("question", "group", "strategy", "model") if c in trials.columns]
    loss = (pl.col("confidence") - pl.col("correct").cast(pl.Float64)) ** 2
    luck = pl.struct("question", "sample").hash(seed=0)
    best = pl.struct(loss.fill_null(float("inf")), luck).rank("ordinal").over(asked) == 1
    return trials.with_columns(
        reason=pl.when(loss.is_null())
        .then(pl.lit("not graded"))
        .when(~best)
        .then(pl.lit("another response is better aligned"))
    )


STAGES: dict[str, Stage] = {"format": readable, "alignment": aligned}
"""Every stage by name."""
