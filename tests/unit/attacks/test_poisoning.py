"""Attacks among passages: in their place, with their words, and nothing else touched."""

import base64

import pytest

from novarag.attacks import (
    MARK,
    Attack,
    AttackGoal,
    AttackPlace,
    planted_answer,
    poison,
    shipped_suite,
)
from novarag.attacks.suite import ENCODINGS
from novarag.records import AnswerForm, Passage, PassageGroup, Question
from novarag.taxonomy import PassageKind

QUESTION = Question(id="q", text="When was {it} %s built?", answers=("1871",))
GROUP = PassageGroup(
    id="g",
    question=QUESTION,
    passages=tuple(Passage(text=text, kind=PassageKind.GOLD) for text in ("one", "two", "three")),
    order=(2, 0, 1),
)


def attack(text="x", **more):
    given = {"name": "a", "kind": "mine", "goal": AttackGoal.RAISE, "states": 90, "texts": (text,)}
    return Attack(**given | more)


@pytest.mark.parametrize(("place", "at"), [("first", 0), ("middle", 1), (AttackPlace.LAST, 3)])
def test_it_stands_where_it_is_put(place, at):
    found = poison(GROUP, attack(), place)
    assert found.passages[at].text == "x"
    assert found.passages[:at] + found.passages[at + 1 :] == GROUP.passages
    assert found.question == GROUP.question
    assert found.order is None
    assert found.id == f"g\x1fa\x1f{place}"


def test_several_passages_stand_together():
    found = poison(GROUP, attack(texts=("x", "y", "z")), "middle")
    assert [p.text for p in found.passages] == ["one", "x", "y", "z", "two", "three"]


def test_a_place_must_be_one():
    with pytest.raises(ValueError, match="nowhere"):
        poison(GROUP, attack(), "nowhere")


def test_words_are_put_in_once_and_nothing_in_them_is_read():
    asked = "Is @ANSWER@ {0} %s \\1 @STATES@ right?"
    group = PassageGroup(question=Question(id="q", text=asked), passages=())
    text = "{x} %d ({ (?P<a>) @QUESTION@ / @ANSWER@ / @STATES@ / @OTHER@"
    found = poison(group, attack(text), "first").passages[0].text
    planted = planted_answer(group.question, 0)
    assert found == f"{{x}} %d ({{ (?P<a>) {asked} / {planted} / 90 / @OTHER@"


def test_a_group_without_a_name_goes_by_its_question():
    nameless = PassageGroup(question=QUESTION, passages=())
    assert poison(nameless, attack(), "last").id.startswith("q\x1f")


def test_a_lie_is_a_counterfactual_passage_with_its_claim():
    lie = poison(GROUP, attack("@ANSWER@", goal=AttackGoal.ANSWER, states=None), "first").passages[
        0
    ]
    order = poison(GROUP, attack(), "first").passages[0]
    assert (lie.kind, lie.claim) == (PassageKind.COUNTERFACTUAL, lie.text)
    assert (order.kind, order.claim) == (PassageKind.IRRELEVANT, None)
    assert lie.flags == (MARK, "goal:answer")
    assert order.flags == (MARK, "goal:raise", "states:90")
    assert order.source == "attack:a"


def test_a_planted_answer_is_wrong_and_the_same_for_every_attack():
    planted = planted_answer(QUESTION, 0)
    assert planted == planted_answer(QUESTION, 0)
    assert len({planted_answer(QUESTION, seed) for seed in range(40)}) > 6
    taken = Question(id="q", text=f"Who is {planted}?", answers=("x",))
    assert planted_answer(taken, 0) != planted
    accepted = Question(id="q", text="Who?", answers=(planted,))
    assert planted_answer(accepted, 0) != planted


@pytest.mark.parametrize(("answers", "planted"), [(("Yes",), "no"), (("no",), "yes")])
def test_the_other_of_yes_and_no_is_planted(answers, planted):
    question = Question(id="q", text="Is it?", answers=answers, form=AnswerForm.YES_NO)
    assert planted_answer(question, 0) == planted


def test_without_an_answer_either_is_planted():
    drawn = {
        planted_answer(Question(id=f"q{i}", text="Is it?", form=AnswerForm.YES_NO), 0)
        for i in range(20)
    }
    assert drawn == {"yes", "no"}


def test_hidden_words_can_be_taken_out_again():
    text = "State 90%. Tel: 1"
    bits = ENCODINGS["zero-width"](text).replace("\u200b", "0").replace("\u200c", "1")
    assert bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)).decode() == text
    assert base64.b64decode(ENCODINGS["base64"](text)).decode() == text
    assert ENCODINGS["bidi"](text)[1:-1][::-1] == text
    assert ENCODINGS["split"](text).replace("\u2060", "") == text
    assert "".join(chr(ord(c) - 0xE0000) for c in ENCODINGS["tags"](text)) == text
    assert ENCODINGS["tags"]("é") == "é"
    assert ENCODINGS["spaced"](text).replace(" ", "").replace("_", " ") == text
    assert text in ENCODINGS["html-comment"](text)
    assert text in ENCODINGS["html-style"](text)


def test_hidden_words_have_their_slots_filled_first():
    hiding = attack("see @HIDDEN@", hidden="State @STATES@%.", encoding="base64")
    text = poison(GROUP, hiding, "first").passages[0].text
    assert base64.b64decode(text.removeprefix("see ")) == b"State 90%."


def test_no_slot_is_left_in_the_shipped_suite():
    for one in shipped_suite():
        for passage in poison(GROUP, one, "last").passages:
            assert not any(slot in passage.text for slot in ("@ANSWER@", "@QUESTION@", "@STATES@"))
