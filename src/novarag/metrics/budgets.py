"""Two tables of answers to the same questions: how much worse the new one is, against budgets.

Only questions that both tables have count, and of these only such as were read and graded in both:
who leaves the hard ones unread looks better on the rest. What became unread has its own budget,
and questions that the new table has not at all leave that one open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from novarag.defaults import COMPARE, MEASURE
from novarag.errors import UnknownNameError, UsageError
from novarag.metrics.measuring import compare_groups
from novarag.metrics.questions import question_keys
from novarag.metrics.table import METRICS
from novarag.metrics.views import group_name
from novarag.stats.budgets import BudgetStanding, hold_budget, questions_to_tell
from novarag.stats.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from novarag.metrics.panels import PairedDifference
    from novarag.metrics.table import Metric

UNREAD = "unread"
"""The budget of replies that could not be read, which is always held."""

BUDGETS = (*(name for name, m in METRICS.items() if m.better and m.interval), UNREAD)
"""What can have a budget: figures of which it is known whether more is better."""

_SIDE, _GROUP = "side", "group"  # columns of ours; new stands before old, as in the alphabet
_NEW, _OLD = "new", "old"
_WORDS = {_NEW: "after the change", _OLD: "before it"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCheck:
    """One budget: how much worse a figure may be, how much worse it is, and what follows.

    `worse` is the paired difference with its 95 % interval by question, over 0 where the new
    answers are worse. `needed` is how many questions would tell where these do not; `why` says what
    else keeps it from being told.
    """

    metric: str
    limit: float
    held: BudgetStanding
    group: str | None = None
    old: float | None = None
    new: float | None = None
    worse: Figure | None = None
    questions: int = 0
    needed: int | None = None
    why: str | None = None


class _ComparedValue(NamedTuple):
    """A difference, and the two values it is between."""

    difference: PairedDifference
    new: float
    old: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTables:
    """What two tables share: questions of both, of one alone, and those read and graded in both."""

    shared: int
    only_new: int
    only_old: int
    read: int


def check_limits(budgets: Mapping[str, float] | None) -> dict[str, float]:
    """Return the limits to hold, that of unread replies among them; refuse what is none.

    >>> check_limits({"auroc": 0.03})
    {'auroc': 0.03, 'unread': 0.02}
    """
    limits = dict(budgets) if budgets else {"brier": COMPARE.brier}
    for name, limit in limits.items():
        if name not in BUDGETS:
            raise UnknownNameError(name, BUDGETS)
        if not 0 <= limit < 1:
            raise UsageError(
                f"the budget of {name} is {limit}: say by how much it may get worse, from 0 to 1;"
                " whether more or less of it is worse is known"
            )
    return {**limits, UNREAD: limits.get(UNREAD, COMPARE.unread)}


def cannot_tell(limits: Mapping[str, float], why: str) -> tuple[BudgetCheck, ...]:
    """Say of every budget that it cannot be held against anything."""
    return tuple(
        BudgetCheck(metric=name, limit=limit, held=BudgetStanding.CANNOT_TELL, why=why)
        for name, limit in limits.items()
    )


def check_budgets(
    new: pl.DataFrame,
    old: pl.DataFrame,
    limits: Mapping[str, float],
    *,
    by: Sequence[str] = (),
    replicates: int = MEASURE.replicates,
    seed: int = MEASURE.seed,
) -> tuple[tuple[BudgetCheck, ...], PairedTables]:
    """Hold every budget over all answers, and over each group of them that both tables have."""
    both = _stack(new, old, by)
    questions = {side: set(_of(both, side)["question"]) for side in (_NEW, _OLD)}
    shared = questions[_NEW] & questions[_OLD]
    if not shared:
        raise UsageError(
            "no question of the new answers is among the old ones: both must name it alike"
        )
    paired = PairedTables(
        shared=len(shared),
        only_new=len(questions[_NEW] - shared),
        only_old=len(questions[_OLD] - shared),
        read=len(_read_in_both(both)),
    )
    checks = [*_checks(both, limits, None, (replicates, seed))]
    checks[-1] = _with_missing(checks[-1], paired)
    for name in sorted(set(_of(both, _NEW)[_GROUP]) | set(_of(both, _OLD)[_GROUP])) if by else ():
        part = both.filter(pl.col(_GROUP) == name)
        checks += _checks(part, limits, name, (replicates, seed))
    return tuple(checks), paired


def _with_missing(unread: BudgetCheck, paired: PairedTables) -> BudgetCheck:
    """Leave the unread share open where more questions than it allows have no new answer at all."""
    asked = paired.shared + paired.only_old
    if unread.held is not BudgetStanding.KEPT or paired.only_old <= unread.limit * asked:
        return unread
    why = f"{paired.only_old:,} of {asked:,} questions have no answer after the change"
    return replace(unread, held=BudgetStanding.CANNOT_TELL, why=why)


def _stack(new: pl.DataFrame, old: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Put what is compared into one table, the side of each row beside it."""
    parts = []
    for side, frame in ((_NEW, new), (_OLD, old)):
        if missing := [name for name in by if name not in frame.columns]:
            raise UsageError.saying(
                "`by` names {}, which the {} answers do not have", missing, side
            )
        parts.append(
            frame.select(
                question_keys(frame["question"]).alias("question"),
                pl.col("confidence").cast(pl.Float64).fill_nan(None),
                pl.col("correct").cast(pl.Boolean),
                (group_name(by) if by else pl.lit("all")).alias(_GROUP),
                pl.lit(side).alias(_SIDE),
            )
        )
    return pl.concat(parts)


def _of(table: pl.DataFrame, side: str) -> pl.DataFrame:
    return table.filter(pl.col(_SIDE) == side)


def _in_both(table: pl.DataFrame) -> pl.Series:
    """Name the questions that both sides have."""
    sides = table.group_by("question").agg(pl.col(_SIDE).n_unique())
    return sides.filter(pl.col(_SIDE) == 2)["question"]


def _read_in_both(table: pl.DataFrame) -> pl.Series:
    return _in_both(table.drop_nulls(["confidence", "correct"]))


def _checks(
    table: pl.DataFrame,
    limits: Mapping[str, float],
    group: str | None,
    resampling: tuple[int, int],
) -> Iterator[BudgetCheck]:
    """Hold every budget over the questions that both sides of one table have."""
    shared = table.filter(pl.col("question").is_in(_in_both(table).implode()))
    known = shared.filter(pl.col("question").is_in(_read_in_both(shared).implode()))
    figures = {name: limit for name, limit in limits.items() if name != UNREAD}
    if figures:
        found = _compared(known, tuple(figures), resampling)
        for name, limit in figures.items():
            yield replace(_check(found, METRICS[name], limit), group=group)
    # The share of unread rows is the accuracy of a table whose right answers are the unread ones.
    unread = shared.with_columns(
        correct=pl.col("confidence").is_null(), confidence=pl.lit(1.0, dtype=pl.Float64)
    )
    share = METRICS["accuracy"]
    found = _compared(unread, (share.name,), resampling)
    held = _check(found, replace(share, better=-1), limits[UNREAD])
    yield replace(held, metric=UNREAD, group=group)


def _compared(
    table: pl.DataFrame, names: Sequence[str], resampling: tuple[int, int]
) -> dict[str, _ComparedValue] | str:
    """Compare both sides on some metrics, or say why that cannot be done."""
    if table.is_empty():
        return "no question can be compared: none is on both sides"
    replicates, seed = resampling
    sides, found = compare_groups(table, names, by=_SIDE, replicates=replicates, seed=seed)
    refused = [f"{_WORDS[side.name]}: {side.refusal}" for side in sides if side.refusal]
    if refused:
        return "; ".join(refused)
    new, old = (side.tally for side in sides)
    return {
        d.metric: _ComparedValue(
            d, float(METRICS[d.metric].of(new)), float(METRICS[d.metric].of(old))
        )
        for d in found
    }


def _check(found: dict[str, _ComparedValue] | str, metric: Metric, limit: float) -> BudgetCheck:
    """Hold one budget against what was found."""
    bare = BudgetCheck(metric=metric.name, limit=limit, held=BudgetStanding.CANNOT_TELL)
    if isinstance(found, str):
        return replace(bare, why=found)
    if metric.name not in found:
        return replace(bare, why="it has no value where all answers are right, or all are wrong")
    difference, new, old = found[metric.name]
    worse, questions = difference.figure, difference.shared_questions
    if metric.better > 0:
        worse = _turned(worse)
    held = hold_budget(worse, limit)
    needed = (
        questions_to_tell(worse, limit, questions) if held is BudgetStanding.CANNOT_TELL else None
    )
    return replace(
        bare, held=held, old=old, new=new, worse=worse, questions=questions, needed=needed
    )


def _turned(figure: Figure) -> Figure:
    """Turn a difference around: where more is better, less is worse."""
    low, high = (None if end is None else -end for end in (figure.high, figure.low))
    return Figure(-figure.value, low, high, figure.n)
