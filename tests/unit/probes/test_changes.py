"""Which relations a change broke."""

import pytest

from novarag.probes import RELATIONS, Verdict
from novarag.probes.changes import compare_verdicts
from novarag.stats.budgets import Held

H, B, C, F = Verdict.HOLDS, Verdict.BREAKS, Verdict.CANNOT_TELL, Verdict.TOO_FEW


@pytest.mark.parametrize(
    ("old", "new", "held"),
    [
        (H, B, Held.BROKEN),
        (H, H, Held.KEPT),
        (B, B, Held.KEPT),  # it was so before
        (B, H, Held.KEPT),
        (B, C, Held.KEPT),
        (B, None, Held.KEPT),
        (C, H, Held.KEPT),
        (None, H, Held.KEPT),
        (C, B, Held.CANNOT_TELL),  # broken now, and nobody knows since when
        (F, B, Held.CANNOT_TELL),
        (None, B, Held.CANNOT_TELL),
        (H, C, Held.CANNOT_TELL),
        (H, F, Held.CANNOT_TELL),
        (H, None, Held.CANNOT_TELL),
    ],
)  # fmt: skip
def test_only_what_held_can_be_newly_broken(old, new, held):
    sides = [{} if verdict is None else {"agreement": verdict} for verdict in (new, old)]
    [found] = compare_verdicts(*sides)
    assert found.held is held
    assert found.title == RELATIONS["agreement"].title


def test_relations_stand_in_their_order_and_none_that_nobody_asked():
    names = list(RELATIONS)[::-1][:3]
    found = compare_verdicts(dict.fromkeys(names, H), {})
    assert [one.name for one in found] == names[::-1]
