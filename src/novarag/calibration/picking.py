"""Which answers to grade next: drawn by evidence state and confidence, at rates that are kept.

The answers of a log, one a question, are laid into strata: each evidence state, cut into bands of
confidence where that tells answers apart best. Rare strata are drawn at a higher rate than common
ones, so that a calibration learns of them too; what each picked answer stands for is its weight.
Nothing but confidence and state decides, so a model that takes both into account may be fitted on
the picked rows as they are, and weighted figures are those of the whole log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.models import log_odds
from novarag.errors import UsageError
from novarag.seeding import stable_hash

if TYPE_CHECKING:
    from novarag.stats.arrays import Floats, Ints

LEAST_ROWS = 2
"""Rows that a stratum gets where it has them: one alone says nothing of how rows differ."""

_ROUNDING = 1e-9
ROWS_A_STRATUM = 6
"""Picked rows for each stratum on average, as long as confidences differ enough."""

SPREAD = 0.3
"""The part of the picks that goes to all strata alike; the rest is drawn at one rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """Answers of one state in a band of confidence: how many questions, and how many are picked."""

    state: int
    least: float
    most: float
    questions: int
    picked: int

    @property
    def weight(self) -> float:
        """How many questions of the log a picked row stands for."""
        return self.questions / self.picked


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """Picked rows in the order to grade them in, and replies that could not be read.

    `stratum` numbers `strata`. Unread replies are not graded: some stand for all, `unread_weight`
    each, so that the weights of both add up to the log's questions.
    """

    rows: Ints
    stratum: Ints
    strata: tuple[Stratum, ...]
    unread: Ints
    unread_weight: float = 1.0

    @property
    def weight(self) -> Floats:
        """How many questions of the log each picked row stands for."""
        weights = np.array([stratum.weight for stratum in self.strata])
        return np.asarray(weights[self.stratum])

    @property
    def questions(self) -> int:
        """How many questions the log has."""
        return sum(s.questions for s in self.strata) + round(self.unread.size * self.unread_weight)


def pick_rows(
    confidence: Floats,
    state: Ints,
    question: Ints,
    *,
    n: int,
    seed: int = 0,
    spread: float = SPREAD,
) -> Picks:
    """Pick `n` rows to grade, one a question; NaN is the confidence of a reply nobody could read.

    Of a question with several answers one is drawn, read or not; strata count questions.
    """
    rng = np.random.default_rng(stable_hash(str(seed), "pick"))
    frame = one_a_question(question, rng)
    read = ~np.isnan(confidence[frame])
    rows, unread = frame[read], frame[~read]
    strata = stratify(confidence[rows], state[rows], n)
    sizes = np.bincount(strata)
    first = np.unique(strata, return_index=True)[1]
    counts = allocate(sizes, state[rows][first], n, spread)
    drawn = [
        rng.choice(np.flatnonzero(strata == i), count, replace=False)
        for i, count in enumerate(counts)
    ]
    picked = rng.permutation(np.concatenate(drawn)) if drawn else np.array([], dtype=np.intp)
    few = min(unread.size, -(-n * unread.size // max(rows.size, 1)))
    return Picks(
        rows=rows[picked],
        stratum=strata[picked],
        strata=tuple(
            _stratum(confidence[rows[strata == i]], int(state[rows[strata == i][0]]), int(count))
            for i, count in enumerate(counts)
        ),
        unread=np.sort(rng.choice(unread, few, replace=False)),
        unread_weight=unread.size / few if few else 1.0,
    )


def one_a_question(question: Ints, rng: np.random.Generator) -> Ints:
    """Draw one row of each question, each of its rows with the same chance; in the rows' order."""
    order = rng.permutation(question.size)
    return np.sort(order[np.unique(question[order], return_index=True)[1]])


def _stratum(confidence: Floats, state: int, picked: int) -> Stratum:
    return Stratum(
        state=state,
        least=float(confidence.min()),
        most=float(confidence.max()),
        questions=confidence.size,
        picked=picked,
    )


def stratify(confidence: Floats, state: Ints, n: int) -> Ints:
    """Number the stratum of each row: states, cut into bands where confidences differ most.

    Each cut takes away the most variance of the confidences' log-odds. A band holds at least one
    part in `n` of the rows, so that none is drawn at more than twice the common rate for the sake
    of its two rows. States are never put together, however rare.
    """
    if np.unique(state).size * LEAST_ROWS > n:
        raise UsageError(
            f"`n` is {n}, and {np.unique(state).size} evidence states need {LEAST_ROWS} rows each:"
            " ask for more"
        )
    least = state.size / n
    bands = [np.flatnonzero(state == value) for value in np.unique(state)]
    cuts = [_cut(confidence, rows, least) for rows in bands]
    while len(bands) < n // ROWS_A_STRATUM and any(cuts):
        at = max(range(len(cuts)), key=lambda i: cuts[i][0] if cuts[i] else 0.0)
        _, *parts = cuts[at]
        bands[at : at + 1] = parts
        cuts[at : at + 1] = [_cut(confidence, rows, least) for rows in parts]
    number = np.zeros(state.size, dtype=np.intp)
    for i, rows in enumerate(bands):
        number[rows] = i
    return number


def _cut(confidence: Floats, rows: Ints, least: float) -> tuple[float, Ints, Ints] | None:
    """Cut rows in two between two confidences; None where no cut leaves `least` on both sides."""
    levels, back, count = np.unique(confidence[rows], return_inverse=True, return_counts=True)
    x = log_odds(levels)
    below = np.cumsum(count)[:-1]
    above = rows.size - below
    total = np.cumsum(count * x)
    between = (total[:-1] - below * total[-1] / rows.size) ** 2 * rows.size / (below * above)
    between[(below < least) | (above < least)] = 0.0
    if not between.size or between.max() <= 0:
        return None
    at = int(between.argmax())
    return float(between[at]), rows[back <= at], rows[back > at]


def allocate(sizes: Ints, state: Ints, n: int, spread: float = SPREAD) -> Ints:
    """Say how many rows each stratum gets: two at least, or all it has.

    All but `spread` of the rows go by size. The rest goes to the states alike, and in each to its
    bands alike. So no stratum is drawn at a rate under 1 - `spread` of the common one, but for
    rounding and for the two rows of others.
    """
    if n >= sizes.sum():
        return sizes
    numbers = np.unique(state, return_inverse=True)[1]
    bands = np.bincount(numbers)
    wish = (1 - spread) * sizes / sizes.sum() + spread / (bands.size * bands[numbers])
    wanted = _scaled(wish, np.minimum(sizes, LEAST_ROWS), sizes, n)
    counts = np.floor(wanted + _ROUNDING).astype(np.intp)
    counts[np.argsort(counts - wanted, kind="stable")[: n - counts.sum()]] += 1
    return np.asarray(counts)


def _scaled(wish: Floats, low: Ints, high: Ints, n: int) -> Floats:
    """Scale wishes by one factor, within limits, to add up to `n`."""
    least, most = 0.0, 1.0 + float((high / wish).max())
    for _ in range(100):
        factor = (least + most) / 2
        if np.clip(factor * wish, low, high).sum() < n:
            least = factor
        else:
            most = factor
    return np.clip(most * wish, low, high)
