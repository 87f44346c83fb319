"""What is odd about a table of graded answers: repeats that its questions hide, columns that tell.

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
from scipy.special import bdtrc, chdtrc

from novarag.metrics.questions import question_keys

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from novarag.stats.arrays import Ints

LEAST = 20
"""Rows, or pairs, below which nothing is remarked."""

MOST_ROWS, MOST_TEXTS = 20_000, 4_000  # looked at, from the first on
_FEWEST_WORDS = 4  # shorter questions differ by one word and ask for something else
_CHANCE = 1e-4  # of so many pairs alike
_MOST_ALIKE = 0.6  # where rows are alike so often by chance, repeats cannot be told
_LONGEST_RUN = 50  # rows that may hide one question
_LEAKED = 0.99  # of the confidences are 0 or 1 and equal the grade


class NearDuplicates(NamedTuple):
    """Questions that differ from another by one word, and how many pairs have one outcome."""

    questions: int
    of: int
    pairs: int
    alike: int
    expected: float


class RowRepeats(NamedTuple):
    """Rows whose confidence and grade repeat: in runs of a length, or the table as a whole."""

    rows: int
    whole: bool


class TableOddities(NamedTuple):
    """What was found; nothing where nothing was."""

    near: NearDuplicates | None
    repeats: RowRepeats | None
    leak: int  # rows with a confidence of 0 or 1 that is the grade
    one_sided: bool | None  # the grade of all graded rows, where others that were read have none


def find_oddities(frame: pl.DataFrame) -> TableOddities:
    """Look at a table with `question`, `confidence` and `correct`."""
    known = frame.select(
        question_keys(frame["question"]).alias("question"),
        pl.col("confidence").cast(pl.Float64).fill_nan(None),
        pl.col("correct").cast(pl.Boolean),
    )
    both = known.drop_nulls(["confidence", "correct"])
    first = both.unique("question", keep="first", maintain_order=True).head(MOST_ROWS)
    outcome = first.select(pl.struct("confidence", "correct").rank("dense")).to_series()
    cells = outcome.to_numpy().astype(np.intp) if first.height else np.zeros(0, dtype=np.intp)
    return TableOddities(
        near=_near(first["question"].to_list()[:MOST_TEXTS], cells),
        repeats=_repeats(cells),
        leak=_leak(both),
        one_sided=_one_sided(known.drop_nulls("confidence")["correct"]),
    )


def _alike_by_chance(cells: Ints) -> float:
    shares = np.bincount(cells) / max(cells.size, 1)
    return float((shares**2).sum())


def _near(texts: list[str], cells: Ints) -> NearDuplicates | None:
    """Find pairs of questions that differ by a word, and whether they share their outcome.

    Questions made after one pattern differ by a word and are others; they are right or wrong each
    by itself. So near duplicates are remarked only where outcomes are shared beyond chance.
    """
    pairs = _pairs(texts)
    if len(pairs) < LEAST:
        return None
    one, other = np.array(sorted(pairs)).T
    alike, chance = int((cells[one] == cells[other]).sum()), _alike_by_chance(cells)
    if chance > _MOST_ALIKE or bdtrc(alike - 1, one.size, chance) > _CHANCE:
        return None
    questions = np.unique(np.concatenate([one, other])).size
    return NearDuplicates(questions, len(texts), one.size, alike, chance * one.size)


def _pairs(texts: list[str]) -> set[tuple[int, int]]:
    """Pair texts that are equal once a word of one of them, or of both, is left out."""
    last: dict[str, int] = {}
    pairs = set()
    for at, text in enumerate(texts):
        words = text.split()
        if len(words) < _FEWEST_WORDS:
            continue
        shorter = (" ".join([*words[:i], *words[i + 1 :]]) for i in range(len(words)))
        for key in (" ".join(words), *shorter):
            if last.get(key, at) != at:
                pairs.add((last[key], at))
            last[key] = at
    return pairs


def _repeats(cells: Ints) -> RowRepeats | None:
    """Find runs of one length with one outcome each, or a table that repeats itself."""
    if cells.size < 2 * LEAST or (chance := _alike_by_chance(cells)) > _MOST_ALIKE:
        return None
    for length in range(min(_LONGEST_RUN, cells.size // 10), 1, -1):
        runs = cells[: cells.size // length * length].reshape(-1, length)
        if (runs == runs[:, :1]).all(axis=1).mean() >= 0.95 and _changes(runs[:, 0], chance):
            return RowRepeats(length, whole=False)
    period = _period(cells)
    return None if period is None else RowRepeats(period, whole=True)


def _changes(values: Ints, chance: float) -> bool:
    """Say whether neighbours are alike no more than by chance: a sorted table is no repeat."""
    alike = float((values[1:] == values[:-1]).mean())
    room = 3 * float(np.sqrt(chance * (1 - chance) / max(values.size - 1, 1)))
    return alike <= chance + room


def _period(cells: Ints) -> int | None:
    """Return after how many rows outcomes come again, where nearly all do and neighbours do not."""
    rates = np.zeros(cells.size // 2 + 2)
    size = 2 ** int(np.ceil(np.log2(2 * cells.size)))
    for value in range(int(cells.min()), int(cells.max()) + 1):
        part = np.fft.rfft((cells == value).astype(np.float64), size)
        rates += np.fft.irfft(part * part.conj(), size)[: rates.size]
    rates /= cells.size - np.arange(rates.size)
    lags = np.arange(5, cells.size // 2 + 1)
    beside = np.maximum(rates[lags - 1], rates[lags + 1])
    found = lags[(rates[lags] >= 0.95) & (rates[lags] - beside >= 0.2)]
    return int(found[0]) if found.size else None


def _leak(both: pl.DataFrame) -> int:
    stated: NDArray[np.float64] = both["confidence"].to_numpy()
    right = both["correct"].to_numpy().astype(bool)
    if right.size < LEAST or right.all() or not right.any():
        return 0
    same = bool(np.isin(stated, (0.0, 1.0)).all()) and (stated == right).mean() >= _LEAKED
    return right.size if same else 0


def _one_sided(correct: pl.Series) -> bool | None:
    graded = correct.drop_nulls()
    if len(graded) < LEAST or len(graded) == len(correct) or graded.n_unique() > 1:
        return None
    return bool(graded[0])


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
