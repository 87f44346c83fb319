"""Which relations a change broke."""

import pytest

from novarag.probes import RELATIONS, RelationVerdict
from novarag.probes.changes import compare_verdicts
from novarag.stats.budgets import BudgetStanding

H, B, C, F = (
    RelationVerdict.HOLDS,
    RelationVerdict.BREAKS,
    RelationVerdict.CANNOT_TELL,
    RelationVerdict.TOO_FEW,
)


@pytest.mark.parametrize(
    ("old", "new", "held"),
    [
        (H, B, BudgetStanding.BROKEN),
        (H, H, BudgetStanding.KEPT),
        (B, B, BudgetStanding.KEPT),  # it was so before
        (B, H, BudgetStanding.KEPT),
        (B, C, BudgetStanding.KEPT),
        (B, None, BudgetStanding.KEPT),
        (C, H, BudgetStanding.KEPT),
        (None, H, BudgetStanding.KEPT),
        (C, B, BudgetStanding.CANNOT_TELL),  # broken now, and nobody knows since when
        (F, B, BudgetStanding.CANNOT_TELL),
        (None, B, BudgetStanding.CANNOT_TELL),
        (H, C, BudgetStanding.CANNOT_TELL),
        (H, F, BudgetStanding.CANNOT_TELL),
        (H, None, BudgetStanding.CANNOT_TELL),
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
