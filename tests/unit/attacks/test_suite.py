"""The suite as data: what ships, what a file of one's own may hold, and what is refused."""

import pytest

from novarag.attacks import CLASSES, CONTROL, AttackGoal, parse_suite, shipped_suite
from novarag.attacks.suite import checked
from novarag.errors import DataError

ROW = '[[attack]]\nname = "a"\nclass = "mine"\ngoal = "raise"\nstates = 90\ntext = "x"\n'


def test_the_shipped_suite_covers_every_class_and_goal():
    suite = shipped_suite()
    attacks = [attack for attack in suite if not attack.is_control]
    assert len(attacks) >= 60
    assert {attack.kind for attack in suite} == set(CLASSES)
    assert {attack.goal for attack in attacks} == set(AttackGoal) - {AttackGoal.NONE}
    assert all(attack.is_control == (attack.kind == CONTROL) for attack in suite)
    assert all(attack.reference for attack in suite)
    assert len({attack.texts for attack in suite}) == len(suite)


def test_they_stand_class_by_class():
    kinds = [attack.kind for attack in shipped_suite()]
    assert list(dict.fromkeys(kinds)) == list(CLASSES)
    assert kinds == sorted(kinds, key=list(CLASSES).index)


def test_a_row_takes_what_it_leaves_out_from_the_defaults():
    text = '[defaults]\nclass = "mine"\nreference = "here"\n[[attack]]\nname = "a"\ngoal = "answer"\ntexts = ["x", "y"]\n'
    (found,) = parse_suite(text)
    assert (found.kind, found.reference, found.texts) == ("mine", "here", ("x", "y"))
    assert found.states is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[attack", "it is no TOML"),
        ("", "a suite has rows"),
        ("attack = 1", "a suite has rows"),
        ("attack = []", "a suite has rows"),
        ("defaults = 1\n" + ROW, "a suite has rows"),
        ("other = 1\n" + ROW, "a suite has rows"),
        ("attack = [1]", "an attack is a table"),
        (ROW + "odd = 1", "an attack has no key 'odd'"),
        (ROW.replace('name = "a"', ""), "name is missing"),
        (ROW.replace('"a"', r'"a\n"'), "name is missing or not printable"),
        (ROW.replace('"a"', "1"), "name is no text"),
        (ROW.replace('"a"', f'"{"a" * 65}"'), "name is no text"),
        (ROW.replace('"raise"', '"win"'), "there is no goal 'win'"),
        (ROW.replace("states = 90", ""), "states is no percent"),
        (ROW.replace("90", "101"), "states is no percent"),
        (ROW.replace("90", "true"), "states is no percent"),
        (ROW.replace('text = "x"', ""), "an attack has a text, or texts"),
        (ROW + 'texts = ["y"]', "an attack has a text, or texts"),
        (ROW.replace('text = "x"', "texts = []"), "texts are no list"),
        (ROW.replace('text = "x"', "texts = [1]"), "texts are no list"),
        (ROW.replace('"x"', '" "'), "text is no text"),
        (ROW.replace('"x"', '"x @HIDDEN@"'), "come together or not at all"),
        (ROW + 'hidden = "y"\nencoding = "base64"', "come together or not at all"),
        (ROW.replace('"x"', '"@HIDDEN@"') + 'hidden = "y"', "hidden wants an encoding"),
        (ROW + 'encoding = "base64"', "hidden wants an encoding"),
        (
            ROW.replace('"x"', '"@HIDDEN@"') + 'hidden = "y"\nencoding = "morse"',
            "hidden wants an encoding",
        ),
        (ROW + ROW, "two attacks are called 'a'"),
    ],
)
def test_what_is_wrong_is_named(text, said):
    with pytest.raises(DataError, match=said.replace("[", r"\[")) as error:
        parse_suite(text, "mine.toml")
    assert "mine.toml" in str(error.value)


def test_attacks_that_are_handed_in_have_names_of_their_own():
    first, second = parse_suite(ROW), parse_suite(ROW)
    assert checked(first) == first
    with pytest.raises(DataError, match="two attacks"):
        checked([*first, *second])
