"""Which answers are the same, strictly and leniently, and what matching may cost."""

import numpy as np
import pytest

from novarag import Question, Response
from novarag.errors import UsageError
from novarag.probes import DEFAULT_RISK, NO_RISK, MatchingRisk, ProbeReplies, estimate_risk
from novarag.probes.matching import agreeing, same_words, split_share
from novarag.records import AnswerForm

OPEN = Question(id="q", text="?")
YES_NO = Question(id="q", text="?", form=AnswerForm.YES_NO)


def test_strictly_equal_are_normalised_words():
    assert same_words(["The Seine.", None, "seine", "Seine river"], OPEN) == [0, -1, 0, 1]


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("1918", "26 October 1918", True),
        ("26 October 1918", "1918", True),
        ("John Fitzgerald Kennedy", "John Kennedy Junior", True),
        ("Paris", "Lyon", False),
        ("I do not know", "Not sure.", True),
        ("NYC", "New York", False),
    ],
)
def test_leniently_equal_is_what_may_both_be_right(one, two, same):
    first, second = agreeing([one, two], OPEN)
    assert (first == second) is same


def test_accepted_answers_are_spellings_of_each_other():
    known = Question(id="q", text="?", answers=("NYC", "New York"))
    assert agreeing(["NYC", "New York", "Boston"], known) == [0, 0, 1]


def test_agreement_is_closed():
    assert agreeing(["red", "blue sky at noon", "red blue sky", None], OPEN) == [0, 0, 0, -1]


def test_yes_and_no_go_by_polarity():
    said = ["Yes, he did.", "yes", "No.", "North Korea"]
    assert same_words(said, YES_NO) == [0, 0, 1, 2]
    assert agreeing(said, YES_NO) == [0, 0, 1, 2]


def test_what_a_risk_may_cost():
    count = np.array([1.0, 2.0, 5.0, 12.0])
    found = MatchingRisk(bound=0.08, pair=0.02, source="").of_replies(count)
    assert found == pytest.approx([0.0, 0.01, 0.04, 0.08 * 11 / 12])
    assert NO_RISK.of_replies(count).tolist() == [0.0] * 4


@pytest.mark.parametrize(("bound", "pair"), [(0.01, 0.02), (1.2, 0.1), (0.1, -0.1)])
def test_a_risk_is_a_share(bound, pair):
    with pytest.raises(UsageError, match="`pair`"):
        MatchingRisk(bound=bound, pair=pair, source="")


def test_split_share_counts_ordered_pairs():
    assert split_share([0, 1, 0, 2], [True, True, True, False]) == (True, pytest.approx(4 / 12))
    assert split_share([0, 0, 1], [True, True, False]) == (False, 0.0)


def asked(name, *said, answers=("NYC", "New York")):
    question = Question(id=name, text="?", answers=answers)
    replies = [None if a is None else Response(answer=a, confidence=0.9) for a in said]
    return ProbeReplies(question=question, replies={"original": replies[:1], "repeat": replies[1:]})


def test_a_risk_is_estimated_from_accepted_answers():
    probed = [asked(f"q{at}", "NYC", "NYC", None) for at in range(99)]
    found = estimate_risk([*probed, asked("split", "NYC", "New York")])
    assert (found.share, found.questions) == (0.01, 100)
    assert found.bound == pytest.approx(0.0466, abs=1e-3)
    assert found.pair == found.bound
    assert estimate_risk(probed).bound < found.bound


def test_groups_of_one_question_count_once():
    found = estimate_risk([asked("q", "NYC", "New York"), asked("q", "NYC", "nyc")])
    assert (found.share, found.questions) == (1.0, 1)


def test_no_estimate_without_accepted_answers():
    with pytest.raises(UsageError, match="accepted answers"):
        estimate_risk([asked("q", "NYC", "New York", answers=()), asked("r", "NYC", None)])


def test_the_default_covers_what_was_measured():
    assert DEFAULT_RISK.bound >= 0.069
    assert DEFAULT_RISK.pair >= 0.0144
