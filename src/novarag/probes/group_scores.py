"""The scores behind relations, over all groups at once: over 0 on average where one is broken.

An unread reply states nothing and cannot be right. In bounds it therefore enters with a confidence
of 0 and outside of every agreeing set, where it takes away from a break; where a convention
compares two sides it is 1 on the first side and 0 on the second. Whether a relation holds is
decided by the opposite: `most` takes an unread reply as it would speak for a break.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from novarag.probes.replies import ReplyArrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from novarag.probes.matching import MatchingRisk
    from novarag.stats.arrays import Bools, Floats, Ints

_DIGITS = 12  # decimals, so that equal scores tie however they were summed


class GroupScores(NamedTuple):
    """A score for each group, NaN where there is none.

    `least` takes unread replies as they speak least for a break, `most` as they speak most.
    """

    least: Floats
    most: Floats


class Disagreement(NamedTuple):
    """What agreement says of each group, NaN where it has not two replies."""

    stated: Floats
    ceiling: Floats
    taken_off: Floats


def disagreement(side: ReplyArrays, risk: MatchingRisk) -> Disagreement:
    """Return mean confidence, share of the largest agreeing set, and what matching may cost."""
    count = _count(side.asked)
    largest = _shares(side.sets, side.sets, side.asked).max(axis=1, initial=0.0)
    columns = (_stated(side, unread=0.0), largest, risk.of_replies(count))
    return Disagreement(*(np.where(count > 1, column, np.nan) for column in columns))


def agreement(
    first: ReplyArrays, second: ReplyArrays, margin: float, risk: MatchingRisk
) -> GroupScores:
    """Score mean confidence less the share of the largest agreeing set, over both sides."""
    both = joined(first, second)
    stated, largest, taken_off = disagreement(both, risk)
    most = _stated(both, unread=1.0) - largest - margin
    return _where(~np.isnan(stated), stated - largest - taken_off - margin, most)


def joined(first: ReplyArrays, second: ReplyArrays) -> ReplyArrays:
    """Put the replies of two sides into one."""
    return ReplyArrays(
        np.concatenate([first.confidence, second.confidence], axis=1),
        np.concatenate([first.words, second.words], axis=1),
        np.concatenate([first.sets, second.sets], axis=1),
        np.concatenate([first.asked, second.asked], axis=1),
    )


def sum_bound(
    first: ReplyArrays, second: ReplyArrays, margin: float, risk: MatchingRisk
) -> GroupScores:
    """Score the sum of both mean confidences less 1 and the share of pairs of equal answers.

    A pair of which one reply is unread has at most one right answer, one of two unread has none.
    """
    count = _count(first.asked) * _count(second.asked)
    pairs = first.asked[:, :, None] & second.asked[:, None, :]
    read = (first.sets >= 0)[:, :, None] | (second.sets >= 0)[:, None, :]
    equal = (first.sets[:, :, None] == second.sets[:, None, :]) & read
    right = ((read.astype(np.float64) + equal) * pairs).sum(axis=(1, 2)) / count
    least = _stated(first, unread=0.0) + _stated(second, unread=0.0) - right - risk.pair - margin
    most = _stated(first, unread=1.0) + _stated(second, unread=1.0) - right - margin
    return _where(_paired(first, second), least, most)


def rise_beyond_flips(
    first: ReplyArrays, second: ReplyArrays, margin: float, _: MatchingRisk
) -> GroupScores:
    """Score how far the second side is above the first, less the share of answers that changed."""
    return _beyond_flips(first, second, margin, rising=True)


def fall_beyond_flips(
    first: ReplyArrays, second: ReplyArrays, margin: float, _: MatchingRisk
) -> GroupScores:
    """Score how far the second side is below the first, less the share of answers that changed."""
    return _beyond_flips(first, second, margin, rising=False)


def rise(first: ReplyArrays, second: ReplyArrays, margin: float, _: MatchingRisk) -> GroupScores:
    """Score how far the second side is above the first, less the margin."""
    before, after = _both(first, unread=(1.0, 0.0)), _both(second, unread=(0.0, 1.0))
    return _where(
        _paired(first, second), after[0] - before[0] - margin, after[1] - before[1] - margin
    )


def too_small_fall(
    first: ReplyArrays, second: ReplyArrays, margin: float, _: MatchingRisk
) -> GroupScores:
    """Score how much less than the margin the second side falls, or than half of the first side.

    A confidence below twice the margin cannot be asked to fall by all of it.
    """
    before, after = _both(first, unread=(1.0, 0.0)), _both(second, unread=(0.0, 1.0))
    allowed = [np.maximum(stated - margin, stated / 2) for stated in before]
    return _where(_paired(first, second), after[0] - allowed[0], after[1] - allowed[1])


def changed_share(first: ReplyArrays, second: ReplyArrays, *, unread: bool = True) -> Floats:
    """Return for each group how much of the answers changed: half of the shares' differences.

    Of one reply each it is 1 where the answers differ strictly. Unread replies are one more answer,
    unless `unread` is False.
    """
    every = np.concatenate([first.words, second.words], axis=1)
    moved = _shares(every, second.words, second.asked) - _shares(every, first.words, first.asked)
    times = (every[:, :, None] == every[:, None, :]).sum(axis=2)
    total = (np.abs(moved) / times).sum(axis=1)
    if unread:
        total = total + np.abs(_unread(second) - _unread(first))
    return np.asarray(total / 2)


def _beyond_flips(
    first: ReplyArrays, second: ReplyArrays, margin: float, *, rising: bool
) -> GroupScores:
    low, high = (first, second) if rising else (second, first)
    before, after = _stated(low, unread=0.0), _both(high, unread=(0.0, 1.0))
    least = after[0] - before - changed_share(first, second) - margin
    most = after[1] - before - changed_share(first, second, unread=False) - margin
    return _where(_paired(first, second), least, most)


def _shares(codes: Ints, sets: Ints, asked: Bools) -> Floats:
    """Return for each column of `codes` the share of a side's replies that have its number."""
    equal = (codes[:, :, None] == sets[:, None, :]) & (sets >= 0)[:, None, :]
    return np.asarray(equal.sum(axis=2) / _count(asked)[:, None])


def _count(asked: Bools) -> Floats:
    """Count the replies of each group; what has none is divided by 1, and left out later."""
    return np.asarray(np.maximum(asked.sum(axis=1), 1), dtype=np.float64)


def _unread(side: ReplyArrays) -> Floats:
    return np.asarray((side.asked & np.isnan(side.confidence)).sum(axis=1) / _count(side.asked))


def _stated(side: ReplyArrays, *, unread: float) -> Floats:
    """Return the mean confidence of each group, with unread replies as given."""
    said = np.where(np.isnan(side.confidence), unread, side.confidence)
    return np.asarray(np.where(side.asked, said, 0.0).sum(axis=1) / _count(side.asked))


def _both(side: ReplyArrays, *, unread: tuple[float, float]) -> tuple[Floats, Floats]:
    return _stated(side, unread=unread[0]), _stated(side, unread=unread[1])


def _paired(first: ReplyArrays, second: ReplyArrays) -> Bools:
    return np.asarray(first.asked.any(axis=1) & second.asked.any(axis=1))


def _where(there: Bools, least: Floats, most: Floats) -> GroupScores:
    """Keep the scores of groups that have one; what is equal must not differ by rounding."""
    return GroupScores(
        np.where(there, least.round(_DIGITS), np.nan), np.where(there, most.round(_DIGITS), np.nan)
    )


def by_question(names: Sequence[str], values: Floats) -> dict[str, float]:
    """Average the values of groups by their question's id, without groups that have none (NaN).

    >>> by_question(["a", "a", "b", "c"], np.array([0.25, 0.75, 1.0, np.nan]))
    {'a': 0.5, 'b': 1.0}
    """
    found: dict[str, list[float]] = {}
    for name, value in zip(names, values.tolist(), strict=True):
        if not np.isnan(value):
            found.setdefault(name, []).append(value)
    return {name: fmean(held) for name, held in found.items()}
