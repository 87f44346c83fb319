"""The scores behind relations, over all groups at once: over 0 on average where one is broken.

An unread reply states nothing and cannot be right. In bounds it therefore enters with a confidence
of 0 and outside of every agreeing set, where it takes away from a break; where a convention
compares two sides it is 1 on the first side and 0 on the second. Whether a relation holds is
decided by the opposite: `most` takes an unread reply as it would speak for a break.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from novarag.probes.replies import Side
    from novarag.stats.arrays import Bools, Floats, Ints


class Scores(NamedTuple):
    """A score for each group, NaN where there is none.

    `least` takes unread replies as they speak least for a break, `most` as they speak most.
    """

    least: Floats
    most: Floats


def agreement(first: Side, second: Side, margin: float, risk: float) -> Scores:
    """Score mean confidence less the share of the largest agreeing set, over both sides."""
    confidence = np.concatenate([first.confidence, second.confidence], axis=1)
    sets = np.concatenate([first.sets, second.sets], axis=1)
    asked = np.concatenate([first.asked, second.asked], axis=1)
    count = _count(asked)
    largest = _shares(sets, sets, asked).max(axis=1, initial=0.0)
    there = count >= 2
    taken = margin + risk * (1 - 1 / count)
    least = _stated(confidence, asked, unread=0.0) - largest - taken
    most = _stated(confidence, asked, unread=1.0) - largest - margin
    return _where(there, least, most)


def sum_bound(first: Side, second: Side, margin: float, risk: float) -> Scores:
    """Score the sum of both mean confidences less the most that both sides can have right.

    That is the largest sum of the shares that one answer has on both sides: for one reply each, 2
    where they agree and 1 where they do not.
    """
    sets = np.concatenate([first.sets, second.sets], axis=1)
    shares = _shares(sets, first.sets, first.asked) + _shares(sets, second.sets, second.asked)
    largest = shares.max(axis=1, initial=0.0)
    one, two = _count(first.asked), _count(second.asked)
    taken = margin + risk * (2 - np.maximum(1 / one, 1 / two))
    stated = [
        _stated(first.confidence, first.asked, unread=unread)
        + _stated(second.confidence, second.asked, unread=unread)
        for unread in (0.0, 1.0)
    ]
    there = (one >= 1) & (two >= 1)
    return _where(there, stated[0] - largest - taken, stated[1] - largest - margin)


def rise_beyond_flips(first: Side, second: Side, margin: float, _: float) -> Scores:
    """Score how far the second side is above the first, less the share of answers that changed."""
    return _beyond_flips(first, second, margin, rising=True)


def fall_beyond_flips(first: Side, second: Side, margin: float, _: float) -> Scores:
    """Score how far the second side is below the first, less the share of answers that changed."""
    return _beyond_flips(first, second, margin, rising=False)


def rise(first: Side, second: Side, margin: float, _: float) -> Scores:
    """Score how far the second side is above the first, less the margin."""
    before, after = _both(first, unread=(1.0, 0.0)), _both(second, unread=(0.0, 1.0))
    there = (_count(first.asked) >= 1) & (_count(second.asked) >= 1)
    return _where(there, after[0] - before[0] - margin, after[1] - before[1] - margin)


def too_small_fall(first: Side, second: Side, margin: float, _: float) -> Scores:
    """Score how much less than the margin the second side falls, or than half of the first side.

    A confidence below twice the margin cannot be asked to fall by all of it.
    """
    before, after = _both(first, unread=(1.0, 0.0)), _both(second, unread=(0.0, 1.0))
    there = (_count(first.asked) >= 1) & (_count(second.asked) >= 1)
    allowed = [np.maximum(stated - margin, stated / 2) for stated in before]
    return _where(there, after[0] - allowed[0], after[1] - allowed[1])


def changed_share(first: Side, second: Side) -> Floats:
    """Return for each group how much of the answers changed: half of the shares' differences.

    Of one reply each it is 1 where the answers differ strictly. Unread replies are one more answer.
    """
    everyone = np.concatenate([first.words, second.words], axis=1)
    moved = _shares(everyone, second.words, second.asked) - _shares(
        everyone, first.words, first.asked
    )
    times = (everyone[:, :, None] == everyone[:, None, :]).sum(axis=2)
    unread = _unread(second) - _unread(first)
    return ((np.abs(moved) / times).sum(axis=1) + np.abs(unread)) / 2
