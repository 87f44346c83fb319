"""Columns with few values that change how often answers are wrong: models pooled, say.

A calibration and a gate take all rows for one population. Where a column tells answers apart that
are wrong at other rates, what holds for all together holds for none of them. Every column with few
values is looked at, by a test that takes the rows of a question together, and the p-values are
corrected for the number of columns, so that noise is not named: in a table without such a
column one is named with a chance of at most `LEVEL`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy.special import chdtrc

from novarag.metrics.questions import question_keys

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from novarag.stats.arrays import Ints

LEVEL = 0.01
"""The chance of naming a column where none changes the error rate."""

MOST_VALUES, LEAST_ROWS = 12, 20
"""Values that a column may have, and rows and questions that each of them needs."""

MARGIN = 0.05
"""How far apart the error rates of two values must be."""

_SETTLED = 0.02  # where every value has nearly all right or all wrong, it is the grade itself
_OURS = frozenset({"question", "confidence", "correct", "flaw", "abstained", "answer", "weight"})


class SegmentValue(NamedTuple):
    """One value of a column: how many rows it has, and the share of them that is wrong."""

    name: str
    rows: int
    wrong: float


class TellingColumn(NamedTuple):
    """A column that changes the error rate: its values, the least wrong first."""

    column: str
    values: tuple[SegmentValue, ...]
    p: float  # corrected
    looked_at: int  # columns


def telling_columns(
    frame: pl.DataFrame, *, skip: Collection[str] = ()
) -> tuple[TellingColumn, ...]:
    """Name the columns with few values that change the error rate, the surest first."""
    known = frame.filter(pl.col("confidence").is_not_null() & pl.col("correct").is_not_null())
    if known.height < 2 * LEAST_ROWS:
        return ()
    question = question_keys(known["question"]).rank("dense").to_numpy().astype(np.intp) - 1
    wrong = ~known["correct"].cast(pl.Boolean).to_numpy()
    found = []
    for name in known.columns:
        if name in _OURS or name in skip:
            continue
        codes = _codes(known[name], known["confidence"])
        if codes is not None:
            one = _tested(name, *codes, wrong, question)
            found += [] if one is None else [one]
    tested = [(one, min(one.p * len(found), 1.0)) for one in found]
    named = [
        one._replace(p=p, looked_at=len(found))
        for one, p in tested
        if p <= LEVEL and one.values[-1].wrong - one.values[0].wrong >= MARGIN
    ]
    return tuple(sorted(named, key=lambda one: (one.p, one.values[0].wrong - one.values[-1].wrong)))


def _codes(column: pl.Series, confidence: pl.Series) -> tuple[list[str], Ints] | None:
    """Number the values of a column with few; None where it has many, or says the confidence."""
    if column.dtype.is_nested() or not 2 <= column.n_unique() <= MOST_VALUES:
        return None
    texts = column.cast(pl.String).fill_null("")
    pairs = pl.DataFrame({"value": texts, "confidence": confidence})
    if pairs.n_unique() == confidence.n_unique():
        return None
    names = texts.unique().sort()
    codes = texts.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.intp)
    return names.to_list(), codes


def _tested(
    column: str, names: list[str], codes: Ints, wrong: NDArray[np.bool_], question: Ints
) -> TellingColumn | None:
    """Test one column over its values with enough rows; None where these are fewer than two."""
    pairs = np.unique(np.stack([codes, question]), axis=1)[0]
    enough = (np.bincount(codes, minlength=len(names)) >= LEAST_ROWS) & (
        np.bincount(pairs, minlength=len(names)) >= LEAST_ROWS
    )
    if enough.sum() < 2:
        return None
    kept = enough[codes]
    at = np.cumsum(enough)[codes[kept]] - 1
    rows = np.bincount(at)
    rates = np.bincount(at, wrong[kept]) / rows
    if ((rates <= _SETTLED) | (rates >= 1 - _SETTLED)).all():
        return None
    own = [name for name, one in zip(names, enough, strict=True) if one]
    values = [SegmentValue(*one) for one in zip(own, rows.tolist(), rates.tolist(), strict=True)]
    ranked = tuple(sorted(values, key=lambda value: value.wrong))
    return TellingColumn(column, ranked, _p_value(at, wrong[kept], question[kept]), 0)


def _p_value(at: Ints, wrong: NDArray[np.bool_], question: Ints) -> float:
    """Return the p-value of equal error rates: Pearson's, over the design effect (Rao and Scott).

    The design effect is how much more the counts spread by question than rows alone would have
    them, on average over the values; it is 1 where each row has a question of its own.
    """
    share, rate = np.bincount(at) / at.size, float(wrong.mean())
    rest = wrong - rate
    number = np.unique(question, return_inverse=True)[1]
    size, values = int(number.max()) + 1, share.size
    own = np.bincount(number * values + at, rest, size * values).reshape(size, values)
    sums = own - np.outer(np.bincount(number, rest, size), share)
    score = sums.sum(axis=0)[1:]
    alone = rate * (1 - rate) * at.size * (np.diag(share) - np.outer(share, share))[1:, 1:]
    inverse = np.linalg.inv(alone)
    effect = 1.0
    if size < at.size:
        together = sums[:, 1:].T @ sums[:, 1:]
        effect = max(1.0, float(np.trace(inverse @ together)) / (values - 1))
    return float(chdtrc(values - 1, float(score @ inverse @ score) / effect))
