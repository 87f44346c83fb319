"""What keeps a defence from being said to hold."""

from types import SimpleNamespace

from novarag.attacks.success import DefenceStanding, DefenceVerdict

QUIET = SimpleNamespace(name="authority", succeeds=False, net=SimpleNamespace(low=0.0, high=0.02))


def verdict(**more):
    facts = {"defence": "plain", "classes": (QUIET,), "together": QUIET, "read": (30, 30)}
    return DefenceVerdict(**facts | more)


def test_a_defence_holds_where_every_class_changes_few_replies():
    assert verdict().held is DefenceStanding.HOLDS


def test_without_replies_with_unread_ones_or_with_cases_left_out_nobody_can_tell():
    for found, says in (
        (verdict(classes=(), together=None), "no attack has a reply"),
        (verdict(read=(3, 30)), "only 3 of 30"),
        (verdict(missing=True), "cases are left out"),
    ):
        assert found.held is DefenceStanding.CANNOT_TELL
        assert says in found.doubt
