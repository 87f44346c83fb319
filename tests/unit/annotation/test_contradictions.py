"""Contradictions that keep a unit, a month or a first name, and what is none (T5)."""

import pytest

from novarag.annotation import annotate, make_profile
from novarag.annotation.denial import ClaimSpan, _spelt_alike, denies
from novarag.annotation.values import sizes_differ
from novarag.records import Passage, PassageGroup, Question
from novarag.taxonomy import PassageKind
from tests.support.manuals import made_up_groups
from validation.annotation_manuals import count_manuals

GOLD, OTHER = PassageKind.GOLD, PassageKind.COUNTERFACTUAL
PAGE = "The pump Tarvel 240 {} in the plant Aldenau, as the testing office wrote down."
ELSEWHERE = (
    "The market hall opens at seven and sells fruit, bread and flowers from the valley.",
    "A choir of forty voices sang in the old church on the first evening of the festival.",
    "Bees prefer the slopes in the south, where thyme and heather grow between the stones.",
)


def two(asked, answer, first, second):
    question = Question(id="q", text=asked, answers=(answer,))
    texts = (PAGE.format(first), PAGE.format(second), *ELSEWHERE)
    group = PassageGroup(question=question, passages=tuple(Passage(text=t) for t in texts))
    found = annotate([group])[0]
    assert found[0].kind is GOLD
    return found[1]


@pytest.mark.parametrize(
    ("asked", "answer", "said", "other", "claim"),
    [
        ("How much did the pump Tarvel 240 weigh?", "142 kg", "did weigh {}", "150 kg", "150"),
        ("How much did the pump Tarvel 240 weigh?", "1,420 kg", "did weigh {}", "1,850 kg", "1,850"),
        (
            "When was the pump Tarvel 240 approved?",
            "12 March 2019", "was approved on {}", "3 March 2019", "3 March 2019",
        ),
        (
            "When was the pump Tarvel 240 approved?",
            "12 March 2019", "was approved on {}", "12 April 2019", "12 April 2019",
        ),
        (
            "When was the pump Tarvel 240 approved?",
            "12 March 2019", "was approved on {}", "12 March 2021", "12 March 2021",
        ),
        (
            "Who approved the pump Tarvel 240?",
            "Maria Keller", "was approved by {}", "Maria Huber", "Maria Huber",
        ),
        (
            "Who approved the pump Tarvel 240?",
            "Maria Keller", "was approved by {}", "Anna Keller", "Anna Keller",
        ),
    ],
)  # fmt: skip
def test_t5_a_contradiction_may_keep_its_unit_its_month_or_a_name(
    asked, answer, said, other, claim
):
    found = two(asked, answer, said.format(answer), said.format(other))
    assert found.kind is OTHER
    assert claim in found.claim
    assert found.confidence >= 0.6


@pytest.mark.parametrize(
    ("asked", "answer", "said", "other"),
    [
        ("How much did the pump Tarvel 240 weigh?", "142 kg", "did weigh {}", "142 kilograms"),
        ("How much did the pump Tarvel 240 weigh?", "142 kg", "did weigh {}", "0.142 t"),
        ("How long did the pump Tarvel 240 run?", "90 minutes", "did run {}", "1.5 hours"),
        (
            "When was the pump Tarvel 240 approved?",
            "12 March 2019", "was approved on {}", "March 12, 2019",
        ),
        ("When was the pump Tarvel 240 approved?", "12 March 2019", "was approved on {}", "2019"),
        ("Who approved the pump Tarvel 240?", "Maria Keller", "was approved by {}", "M. Keller"),
        ("Who approved the pump Tarvel 240?", "Maria Keller", "was approved by {}", "Keller"),
        (
            "Who approved the pump Tarvel 240?",
            "Danny Keller", "was approved by {}", "Daniel Keller",
        ),
        ("Who approved the pump Tarvel 240?", "Jan M\u00fcller", "was approved by {}", "Jan Mueller"),
    ],
)  # fmt: skip
def test_t5_the_same_written_otherwise_is_no_contradiction(asked, answer, said, other):
    assert two(asked, answer, said.format(answer), said.format(other)).kind is not OTHER


def test_t5_a_sister_model_contradicts_nobody():
    question = Question(
        id="q", text="How much does the pump Tarvel 240 weigh?", answers=("142 kg",)
    )
    texts = (
        "The pump Tarvel 240 weighs 142 kg without its frame, as measured at delivery.",
        "The pump Tarvel 260 weighs 150 kg without its frame, as measured at delivery.",
        *ELSEWHERE,
    )
    group = PassageGroup(question=question, passages=tuple(Passage(text=t) for t in texts))
    one, sister, *_ = annotate([group])[0]
    assert one.kind is GOLD
    assert sister.kind is not OTHER


def test_t5_a_sentence_that_does_not_say_of_whom_it_speaks_contradicts_nobody():
    question = Question(
        id="q", text="What Roud index number has the rhyme Tarvel?", answers=("821",)
    )
    texts = (
        "Is this the rhyme Tarvel? It has a Roud index number of 821 in the old collection.",
        "Is this a song of Borsk? It has a Roud index number of 12986 in the old collection.",
        *ELSEWHERE,
    )
    group = PassageGroup(question=question, passages=tuple(Passage(text=t) for t in texts))
    assert annotate([group])[0][1].kind is not OTHER


def test_t5_a_value_in_a_sentence_on_all_that_was_asked_is_not_surely_related():
    question = Question(
        id="q", text="How much does the pump Tarvel 240 weigh?", answers=("142 kg",)
    )
    texts = (
        "The pump Tarvel 240 weighs 142 kg without its frame, as measured at delivery.",
        "Lift it by two people only: all in all 150 kg does the pump Tarvel 240 weigh.",
        *ELSEWHERE,
    )
    group = PassageGroup(question=question, passages=tuple(Passage(text=t) for t in texts))
    found = annotate([group])
    assert found[0][1].confidence < 0.6
    assert "'150'" in found[0][1].evidence.reason
    profile = make_profile([group], found, min_confidence=0.6, expect="retrieved", replicates=50)
    assert all("150" not in e.passages[0] for e in profile.examples["relevant"])


@pytest.mark.parametrize(
    ("answer", "claim", "denied"),
    [
        ("red valve", "crimson valve", False),
        ("red valve", "a lever of brass", True),
        ("7433 hours", "1824 hours", True),
        ("7433 hours", "some hours", False),
        ("March 2019", "12 March 2019", False),
        ("12 March", "13 March 2019", True),
    ],
)
def test_t5_what_denies_an_answer(answer, claim, denied):
    assert denies(ClaimSpan(claim, 0, len(claim)), ClaimSpan(answer, 0, len(answer))) is denied


def test_t5_sizes_in_other_units():
    assert not sizes_differ(142, "kg", 313.06, "lb")
    assert sizes_differ(142, "kg", 142, "lb")


def test_t5_contradictions_of_made_up_manuals_are_found_and_nothing_else():
    found = count_manuals(list(made_up_groups(60, seed=7)))
    assert found.contradictions >= 10
    assert found.share >= 0.9
    assert found.false <= 0.02 * found.others


def test_t5_the_manuals_are_the_same_for_a_seed():
    one, again, other = (list(made_up_groups(3, seed=s)) for s in (1, 1, 2))
    assert one == again != other


def test_numbers_are_spelt_alike_only_if_they_are_equal():
    assert _spelt_alike("142", "142")
    assert not _spelt_alike("142", "143")
    assert _spelt_alike("jonathan", "johnathan")
