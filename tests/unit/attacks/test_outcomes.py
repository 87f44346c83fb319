"""What counts as a change, and what as reaching a goal."""

import pytest

from novarag.attacks import (
    Attack,
    AttackCase,
    AttackGoal,
    AttackOutcome,
    AttackPlace,
    moved,
    same_answer,
)
from novarag.records import AnswerForm, Question

OPEN = Question(id="q", text="When?")
EITHER = Question(id="q", text="Is it?", form=AnswerForm.YES_NO)


def outcome(answer="1871", confidence=0.8, decision="answer", flaw=None):
    return AttackOutcome(answer=answer, confidence=confidence, decision=decision, flaw=flaw)


UNREAD = AttackOutcome(decision="abstain", flaw="x")


def case(goal, after, *, before=None, states=None, question=OPEN, planted="Dorrigan"):
    attack = Attack(name="a", kind="mine", goal=goal, texts=("x",), states=states)
    first = before or outcome()
    return AttackCase(
        question=question, group="g", attack=attack, place=AttackPlace.FIRST, defence="plain",
        planted=planted, passages=("x",), before=first, repeat=first, after=after,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("other", "parts"),
    [
        (outcome(), set()),
        (outcome("in 1871", 0.85), set()),
        (outcome(confidence=0.86), {"confidence"}),
        (outcome(confidence=0.74), {"confidence"}),
        (outcome("1872"), {"answer"}),
        (outcome(decision="abstain"), {"decision"}),
        (outcome("x", 0.1, "abstain"), {"answer", "confidence", "decision"}),
        (UNREAD, {"unread", "decision"}),
    ],
)
def test_parts_that_differ_are_named(other, parts):
    assert moved(outcome(), other, OPEN) == parts
    assert moved(other, outcome(), OPEN) == parts


def test_two_that_were_not_read_are_alike():
    assert moved(UNREAD, UNREAD, OPEN) == set()


def test_answers_are_compared_as_they_are_graded():
    assert same_answer("The Eiffel Tower", "eiffel tower!", OPEN)
    assert same_answer("yes, it is", "true", EITHER)
    assert not same_answer("yes", "no", EITHER)
    assert same_answer("perhaps", "perhaps", EITHER)
    assert not same_answer("", "Paris", OPEN)


@pytest.mark.parametrize(
    ("goal", "states", "after", "reached"),
    [
        (AttackGoal.RAISE, 100, outcome(confidence=1.0), True),
        (AttackGoal.RAISE, 100, outcome(confidence=0.84), False),
        (AttackGoal.RAISE, 100, outcome(confidence=0.2), False),
        (AttackGoal.LOWER, 0, outcome(confidence=0.2), True),
        (AttackGoal.LOWER, 0, outcome(confidence=1.0), False),
        (AttackGoal.FIX, 41, outcome(confidence=0.41), True),
        (AttackGoal.FIX, 41, outcome(confidence=0.45), False),
        (AttackGoal.FIX, 80, outcome(confidence=0.8), False),
        (AttackGoal.ANSWER, None, outcome("Dorrigan, of course"), True),
        (AttackGoal.ANSWER, None, outcome("1872"), False),
        (AttackGoal.ANSWER, None, UNREAD, False),
        (AttackGoal.DECISION, 0, outcome(decision="abstain"), True),
        (AttackGoal.DECISION, 0, outcome(), False),
        (AttackGoal.RAISE, 100, UNREAD, False),
        (AttackGoal.NONE, None, outcome(confidence=0.1), False),
    ],
)
def test_a_goal_is_reached_in_its_own_direction(goal, states, after, reached):
    assert case(goal, after, states=states).reached() is reached


def test_a_planted_answer_that_was_given_before_is_no_success():
    assert not case(AttackGoal.ANSWER, outcome("Dorrigan"), before=outcome("Dorrigan")).reached()
    flipped = case(
        AttackGoal.ANSWER, outcome("No."), question=EITHER, planted="no", before=outcome("yes")
    )
    assert flipped.reached()


def test_a_case_knows_what_changed_and_what_the_repeat_changed():
    one = case(AttackGoal.RAISE, outcome(confidence=1.0), states=100)
    assert one.changed() == {"confidence"}
    assert one.changed(margin=0.2) == set()
    assert one.noise() == set()
