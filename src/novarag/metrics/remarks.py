"""What is odd about a table of graded answers: repeats that its questions hide, a grade that leaks.

Every interval and every promise takes questions as drawn one by one, and grades as given whatever
the answer is worth. These are the ways in which a table shows that it is not so. A remark changes
no figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy.special import bdtrc

from novarag.metrics.questions import question_keys

if TYPE_CHECKING:
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
