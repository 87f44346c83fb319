"""Take results on one mix of groups to another: each row weighs what its kind weighs there.

A row of a kind counts by the kind's share in the wanted mix over its share among the rows. Every
replicate is weighed to the wanted mix anew, so the intervals are those of the weighed figures. The
mix itself is taken as given: its own uncertainty is not in the intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from novarag.defaults import MEASURE
from novarag.errors import UsageError
from novarag.metrics.questions import question_keys
from novarag.metrics.table import METRICS
from novarag.metrics.tally import fold, make_rows
from novarag.metrics.views import LEAST_QUESTIONS, LEAST_ROWS, figure_interval
from novarag.stats.figure import Figure
from novarag.stats.resampling import draws

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from novarag.metrics.tally import GradedRows
    from novarag.stats.arrays import Floats, Ints

MIXED = tuple(m.name for m in METRICS.values() if m.interval and not m.costly)
"""The metrics that are weighed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedFigures:
    """Figures at a wanted mix; `effective` says how many equal rows would be as good.

    Kish, Survey Sampling, 1965: the square of the weights' sum over the sum of their squares.
    """

    figures: Mapping[str, Figure]
    wanted: Mapping[str, float]
    found: Mapping[str, float]
    rows: int
    left_out: int
    questions: int
    effective: float


def reweigh(
    frame: pl.DataFrame,
    mix: Mapping[str, float],
    *,
    replicates: int = MEASURE.replicates,
    seed: int = MEASURE.seed,
) -> MixedFigures:
    """Measure a table of answers as if its groups came in another mix of kinds.

    The frame needs the column `kind` beside `question`, `confidence` and `correct`. A kind of the
    mix that has no row is refused: what was never asked cannot be weighed.
    """
    wanted = _checked(mix)
    missing = [c for c in ("question", "confidence", "correct", "kind") if c not in frame.columns]
    if missing:
        raise UsageError(f"the table has no column {missing}; to weigh by group kind it needs it")
    known = pl.col("confidence").is_not_null() & pl.col("correct").is_not_null()
    kept = frame.filter(known & pl.col("kind").cast(pl.String).is_in(list(wanted)))
    kinds = kept["kind"].cast(pl.String).to_list()
    absent = [kind for kind in wanted if kind not in kinds]
    if absent:
        raise UsageError.saying(
            "this mix is not attainable: {} groups are in it and no read and graded answer is of"
            " that kind; ask some, or measure without `kind_shares`",
            ", ".join(absent),
        )
    questions = question_keys(kept["question"])
    names = {name: i for i, name in enumerate(dict.fromkeys(questions))}
    if kept.height < LEAST_ROWS or len(names) < LEAST_QUESTIONS:
        raise UsageError(
            f"{kept.height} rows of {len(names)} questions are too few: a figure needs"
            f" {LEAST_ROWS} rows and {LEAST_QUESTIONS} questions"
        )
    order = list(wanted)
    at = np.array([order.index(kind) for kind in kinds], dtype=np.intp)
    rows = make_rows(
        kept["confidence"].cast(pl.Float64).to_numpy(),
        kept["correct"].cast(pl.Boolean).to_numpy(),
        np.array([names[q] for q in questions], dtype=np.intp),
    )
    target = np.array([wanted[kind] for kind in order])
    even = _weights(np.ones(rows.size), at, target)
    return MixedFigures(
        figures=_figures(rows, at, target, even, (len(names), replicates, seed)),
        wanted=wanted,
        found={kind: kinds.count(kind) / len(kinds) for kind in order},
        rows=rows.size,
        left_out=frame.height - rows.size,
        questions=len(names),
        effective=float(even.sum() ** 2 / (even**2).sum()),
    )


def _checked(mix: Mapping[str, float]) -> dict[str, float]:
    """Return the shares above zero, adding up to one."""
    if not all(math.isfinite(share) and share >= 0 for share in mix.values()):
        raise UsageError(f"the shares of a mix are numbers from 0: {dict(mix)}")
    total = math.fsum(mix.values())
    if total <= 0:
        raise UsageError("the mix has no group of any known kind")
    return {kind: share / total for kind, share in sorted(mix.items()) if share > 0}


def _weights(base: Floats, at: Ints, target: Floats) -> Floats:
    """Scale rows so that each kind has its wanted share; they add up to the number of rows."""
    held = np.bincount(at, base, target.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = target * base.sum() / held
    return np.asarray(base * factor[at])


def _figures(
    rows: GradedRows, at: Ints, target: Floats, even: Floats, drawing: tuple[int, int, int]
) -> dict[str, Figure]:
    questions, replicates, seed = drawing
    whole = fold(rows.level, rows.at, rows.correct, [even])
    samples: dict[str, list[Floats]] = {name: [] for name in MIXED}
    with np.errstate(invalid="ignore", divide="ignore"):
        for drawn in draws(questions, replicates, seed=seed, width=rows.level.size):
            part = fold(rows.level, rows.at, rows.correct, _drawn(drawn, rows, at, target))
            for name, out in samples.items():
                out.append(np.asarray(METRICS[name].of(part)))
        values = {name: float(METRICS[name].of(whole)[0]) for name in MIXED}
    return {
        name: Figure(
            value,
            *figure_interval(METRICS[name], value, np.concatenate(samples[name])),
            rows.size,
        )
        for name, value in values.items()
    }


def _drawn(
    drawn: Sequence[Floats] | Floats, rows: GradedRows, at: Ints, target: Floats
) -> Iterator[Floats]:
    """Weigh every replicate to the wanted mix; one that lacks a kind has no figures."""
    for weight in drawn:
        base = weight[rows.question]
        held = np.bincount(at, base, target.size)
        yield _weights(base, at, target) if held.all() else np.full(base.size, np.nan)
