"""Looking at dev accuracy while training: when to stop, and which state of the adapter to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LOST = 0.03
"""Share of right answers that a look may be below the first."""
PATIENCE = 2
"""Looks below that in a row end a training: one of a few dozen questions is within luck."""
GROUPS = 32
"""Dev groups that are looked at: with evidence alone, as without it hardly an answer is right."""


class Look(NamedTuple):
    """How a model did on dev groups after so many rows."""

    rows: int
    right: float
    read: float
    judged: float


def is_over(looks: Sequence[Look]) -> bool:
    """Say whether a training has lost what its model could do before it.

    >>> first, low = Look(0, 0.5, 1.0, 0.3), Look(50, 0.4, 1.0, 0.5)
    >>> is_over([first, low]), is_over([first, low, low])
    (False, True)
    """
    last = looks[1:][-PATIENCE:]
    return len(last) == PATIENCE and all(look.right < looks[0].right - LOST for look in last)


def last_sound(looks: Sequence[Look]) -> int:
    """Return after how many rows the adapter last did as well as before: that one is kept."""
    return max((look.rows for look in looks if look.right >= looks[0].right - LOST), default=0)
