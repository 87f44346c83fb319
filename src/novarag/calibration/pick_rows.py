"""Which answers to grade next: drawn by evidence state and confidence, at rates that are kept.

The answers of a log, one a question, are laid into strata: each evidence state, cut into bands of
confidence where that tells answers apart best. Rare states are drawn at a higher rate than common
ones, so that a calibration learns of them too; what each picked answer stands for is its weight.
Nothing but confidence and state decides, so a model that takes both into account may be fitted on
the picked rows as they are, and weighted figures are those of the whole log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from novarag.calibration.logistic_models import log_odds
from novarag.defaults import PICK
from novarag.errors import UsageError
from novarag.seeding import seed_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from novarag.stats.arrays import Floats, Ints

LEAST_ROWS = 2
"""Rows that a stratum gets where it has them: one alone says nothing of how rows differ."""

ROWS_A_STRATUM = 6
"""Picked rows for each stratum on average, as long as confidences differ enough."""

_ROUNDING = 1e-9  # what a sum of shares may fall short of a whole number


@dataclass(frozen=True, slots=True, kw_only=True)
class PickStratum:
    """Answers of one state in a band of confidence: how many questions, and how many are picked."""

    state: int
    least: float
    most: float
    questions: int
    picked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PickedRows:
    """Picked rows in the order to grade them in, and replies that could not be read.

    `stratum` numbers `strata`. Unread replies are not graded: some of them stand for all,
    `unread_weight` each, so that the weights of both add up to the log's questions.
    """

    rows: Ints
    stratum: Ints
    strata: tuple[PickStratum, ...]
    unread: Ints
    unread_weight: float = 1.0

    @property
    def weight(self) -> Floats:
        """How many questions of the log each picked row stands for."""
        return weigh(self.strata, self.stratum, np.ones(self.rows.size, dtype=np.bool_))


def pick_rows(
    confidence: Floats,
    state: Ints,
    question: Ints,
    *,
    n: int,
    seed: int = 0,
    spread: float = PICK.spread,
) -> PickedRows:
    """Pick `n` rows to grade, one a question; NaN is the confidence of a reply nobody could read.

    Of a question with several answers one is drawn, read or not, and strata count questions.
    """
    own_seed = seed_for(seed, "pick")
    rng = np.random.default_rng(own_seed)
    frame = one_a_question(question, rng)
    read = ~np.isnan(confidence[frame])
    rows, unread = frame[read], frame[~read]
    if not rows.size:
        raise UsageError("no reply of the log could be read: there is nothing to grade")
    number = stratify(confidence[rows], state[rows], n)
    sizes = np.bincount(number)
    first = np.unique(number, return_index=True)[1]
    counts = allocate(sizes, state[rows][first], n, spread)
    members = np.split(np.argsort(number, kind="stable"), np.cumsum(sizes)[:-1])
    drawn = [rng.choice(own, k, replace=False) for own, k in zip(members, counts, strict=True)]
    picked = rng.permutation(np.concatenate(drawn))
    few = min(unread.size, -(-n * unread.size // rows.size))
    return PickedRows(
        rows=rows[picked],
        stratum=number[picked],
        strata=tuple(
            _stratum(confidence[rows[own]], int(state[rows[own[0]]]), int(k))
            for own, k in zip(members, counts, strict=True)
        ),
        unread=np.sort(rng.choice(unread, few, replace=False)),
        unread_weight=unread.size / few if few else 1.0,
    )


def one_a_question(question: Ints, rng: np.random.Generator) -> Ints:
    """Draw one row of each question, each of its rows with the same chance; in the rows' order."""
    order = rng.permutation(question.size)
    return np.sort(order[np.unique(question[order], return_index=True)[1]])


def _stratum(confidence: Floats, state: int, picked: int) -> PickStratum:
    return PickStratum(
        state=state,
        least=float(confidence.min()),
        most=float(confidence.max()),
        questions=confidence.size,
        picked=picked,
    )


def stratify(confidence: Floats, state: Ints, n: int) -> Ints:
    """Number the stratum of each row: states, cut into bands where confidences differ most.

    Each cut takes away the most variance of the confidences' log-odds. A band holds at least one
    part in `n` of the rows, so that its two rows are at most twice its share. States are never
    put together, however rare.
    """
    states, level = np.unique(state), np.unique(confidence)
    if states.size * LEAST_ROWS > n:
        raise UsageError.saying(
            "`n` is {}, and {} evidence states need {} rows each: pick more",
            n,
            states.size,
            LEAST_ROWS,
        )
    key = np.searchsorted(states, state) * level.size + np.searchsorted(level, confidence)
    cells, back, count = np.unique(key, return_inverse=True, return_counts=True)
    x, least = log_odds(level[cells % level.size]), state.size / n
    bands = [np.flatnonzero(cells // level.size == i) for i in range(states.size)]
    cuts = [_cut(x[band], count[band], least) for band in bands]
    while len(bands) < n // ROWS_A_STRATUM and max(cuts)[0] > 0:
        widest = cuts.index(max(cuts))
        at = cuts[widest][1]
        parts = [bands[widest][:at], bands[widest][at:]]
        bands[widest : widest + 1] = parts
        cuts[widest : widest + 1] = [_cut(x[band], count[band], least) for band in parts]
    number = np.empty(cells.size, dtype=np.intp)
    for i, band in enumerate(bands):
        number[band] = i
    return np.asarray(number[back])


def _cut(x: Floats, count: Ints, least: float) -> tuple[float, int]:
    """Say how much variance the best cut takes away, and before which cell; 0 where none may be."""
    if x.size < 2:
        return 0.0, 0
    rows, total = count.sum(), np.cumsum(count * x)
    below = np.cumsum(count)[:-1]
    above = rows - below
    between = (total[:-1] - below * total[-1] / rows) ** 2 * rows / (below * above)
    between[(below < least) | (above < least)] = 0.0
    at = int(between.argmax())
    return float(between[at]), at + 1


def allocate(sizes: Ints, state: Ints, n: int, spread: float = PICK.spread) -> Ints:
    """Say how many rows each stratum gets: two at least, or all it has.

    All but `spread` of the rows go by size. The rest goes to the states alike, and in each by size.
    So rates differ by state alone, and none is under 1 - `spread` of the common one, but for
    rounding and for the two rows of small strata.
    """
    if n >= sizes.sum():
        return sizes
    number = np.unique(state, return_inverse=True)[1]
    of_state = np.bincount(number, sizes)
    wish = sizes * ((1 - spread) / sizes.sum() + spread / (of_state.size * of_state[number]))
    wanted = _scaled(wish, np.minimum(sizes, LEAST_ROWS), sizes, n)
    counts = np.floor(wanted + _ROUNDING).astype(np.intp)
    lowest = np.argsort(
        counts / wanted, kind="stable"
    )  # where rounding down costs most of the rate
    counts[lowest[: n - counts.sum()]] += 1
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


def weigh(strata: tuple[PickStratum, ...], stratum: Ints, graded: NDArray[np.bool_]) -> Floats:
    """Say how many questions each graded row stands for; 0 for the others.

    Rows that nobody could grade hand what they stand for to the others of their stratum. A stratum
    without a grade hands it to the nearest, of the same state if there is one.
    """
    got = np.bincount(stratum[graded], minlength=len(strata))
    if not got.any():
        raise UsageError("no answer was graded right or wrong: grade some first")
    stands = np.zeros(len(strata))
    for i, own in enumerate(strata):
        stands[i if got[i] else _nearest(strata, own, got)] += own.questions
    each = stands / np.maximum(got, 1)
    return np.asarray(np.where(graded, each[stratum], 0.0))


def _nearest(strata: tuple[PickStratum, ...], lost: PickStratum, got: Ints) -> int:
    middle = lost.least + lost.most
    return min(
        np.flatnonzero(got).tolist(),
        key=lambda i: (
            strata[i].state != lost.state,
            abs(strata[i].least + strata[i].most - middle),
        ),
    )
