"""Passages without the answer, evidence as short as they are, and groups made of both."""

from types import SimpleNamespace

import pytest

from novarag import GroupKind, Passage, PassageGroup, PassageKind, Provenance, Question
from novarag.noise.cutting import cut_sets, sentences_of, shortened, telling_words, without_answer
from novarag.noise.training_groups import training_groups
from novarag.noise.validators import find_fault
from novarag.records import AnswerForm
from novarag.seeding import rng_for

QUESTION = Question(id="q", text="Who built the Alder lighthouse?", answers=("Mara Holm",))
TALE = (
    "The Alder lighthouse stands on a reef that was feared by every crew of the northern coast.",
    "It was built by Mara Holm in three summers.",
    "Holm came from a family of masons.",
    "Its lamp could be seen for twenty miles in clear weather and for four in a storm.",
    "The keeper of the lighthouse kept a diary that is shown in the museum.",
)


def gold(*said):
    return Passage(text=" ".join(said), kind=PassageKind.GOLD, provenance=Provenance.ORIGINAL)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One came. Two left.", 2),
        ("Dr. Lund met J. Holm. They left.", 2),
        ("In the U.S. Army he served. Then he left!", 2),
        ('He said "no." Then he left.', 2),
        ("It cost 3.5 crowns", 1),
        ("", 1),
    ],
)
def test_a_text_is_split_where_sentences_end(text, count):
    assert len(sentences_of(text)) == count
    assert " ".join(sentences_of(text)) == text


def test_what_is_left_is_verbatim_on_the_topic_and_without_a_word_of_the_answer():
    left = without_answer(gold(*TALE), QUESTION)
    assert left.text == " ".join((TALE[0], TALE[3], TALE[4]))  # "Holm" alone gives it away too
    assert (left.kind, left.provenance) == (PassageKind.RELEVANT, Provenance.ORIGINAL)
    assert find_fault(left, QUESTION) is None


def test_a_counterfactual_loses_its_claim_and_any_word_of_the_answer():
    said = (TALE[0], "It was built by Otto Berg.", "Berg was rich.", "Mara sailed.", TALE[3])
    passage = Passage(
        text=" ".join(said), kind=PassageKind.COUNTERFACTUAL, claim="Otto Berg",
        provenance=Provenance.GENERATED,
    )  # fmt: skip
    left = without_answer(passage, QUESTION)
    assert left.text == f"{TALE[0]} {TALE[3]}"
    assert left.claim is None


def test_what_cannot_be_told_from_words_is_not_cut():
    either = Question(
        id="e", text="Who came first, Mara Holm or Otto Berg?", answers=("Mara Holm",)
    )
    yes = Question(id="y", text="Was it lit?", answers=("yes",), form=AnswerForm.YES_NO)
    assert without_answer(gold(*TALE), either) is None
    assert without_answer(gold(*TALE), yes) is None
    assert without_answer(gold(*TALE[:2]), QUESTION) is None  # sixteen words are no passage
    assert without_answer(gold(TALE[0], TALE[3]), QUESTION) is None  # nothing to leave out
    assert telling_words(QUESTION, ["the Alder"]) is None
    assert telling_words(QUESTION, ["4", "Mara of Alder"]) == {"4", "mara"}


def test_evidence_loses_other_sentences_and_keeps_the_answer():
    left = without_answer(gold(*TALE), QUESTION)
    short = shortened(gold(*TALE), QUESTION, len(left.text.split()))
    assert TALE[1] in short.text
    assert TALE[2] in short.text
    assert find_fault(short, QUESTION) is None
    assert abs(len(short.text.split()) - len(left.text.split())) <= 6
    assert set(sentences_of(short.text)) < set(TALE)
    assert shortened(gold(*TALE), QUESTION, 1000).text == " ".join(TALE)


def word(rng):
    return "".join(rng.choice("abcdefghijklmnoprstuvw") for _ in range(7))


def make_pool(i, *, relevant=3, lines=3):
    """A question whose passages have a few sentences, one of them with the answer or the claim."""
    rng = rng_for(0, f"long pool {i}")
    subject, answer, wrong = word(rng).title(), word(rng), word(rng)

    def told(said):
        first = f"The {subject} has {word(rng)} {word(rng)} and many a {word(rng)} beside it."
        more = [f"Its {word(rng)} {word(rng)} is {word(rng)} to {word(rng)} and {word(rng)} alike."
                  for _ in range(lines)]  # fmt: skip
        return " ".join([first, f"It is told of {said} that {word(rng)} came.", *more])

    def passage(kind, said, claim=None, provenance=Provenance.GENERATED):
        return Passage(text=told(said), kind=PassageKind(kind), claim=claim, provenance=provenance)

    return PassageGroup(
        question=Question(id=f"q{i}", text=f"What is the {subject}?", answers=(answer,)),
        passages=(
            passage("gold", answer, provenance=Provenance.ORIGINAL),
            *(passage("gold", answer, claim=answer) for _ in range(2)),
            *(passage("counterfactual", wrong, claim=wrong) for _ in range(2)),
            *(passage("relevant", word(rng)) for _ in range(relevant)),
            *(Passage(text=f"Bread {word(rng)} {word(rng)}.", kind=PassageKind.IRRELEVANT)
              for _ in range(3)),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("k", [3, 5])
def test_groups_without_evidence_are_those_with_it_less_the_answer(k):
    pools = [make_pool(i, relevant=i % 3) for i in range(12)]
    built = training_groups(pools, k=k, topical=True)
    assert len(built.groups) == 36
    for counterfactual, consistent, none in zip(*[iter(built.groups)] * 3, strict=True):
        kinds = [g.kind for g in (counterfactual, consistent, none)]
        assert kinds == [GroupKind.COUNTERFACTUAL, GroupKind.CONSISTENT, GroupKind.IRRELEVANT]
        subject = none.question.text.split()[-1].rstrip("?")
        on_topic = [p for p in none.passages if subject in p.text]
        assert len(on_topic) >= 2
        assert all(p.kind is PassageKind.RELEVANT for p in on_topic)
        assert not any(find_fault(p, none.question) for p in none.passages)
        sizes = [sum(len(p.text.split()) for p in g.passages) for g in (consistent, none)]
        assert abs(sizes[0] - sizes[1]) <= 12
        shared = [{p.text for p in g.passages} for g in (counterfactual, consistent, none)]
        assert len(set.intersection(*shared)) == k - 2  # all fillers are the same
    again = training_groups(pools, k=k, topical=True)
    assert again.groups == built.groups


def test_where_it_cannot_be_cut_a_relevant_passage_is_a_must():
    """Short passages are borrowed for: with `topical` there is always one on the topic."""
    pools = [make_pool(i, lines=0) for i in range(20)]
    none = [g for g in training_groups(pools, k=3, topical=True).groups
            if g.kind is GroupKind.IRRELEVANT]  # fmt: skip
    assert len(none) == 20
    assert all(any(p.kind is PassageKind.RELEVANT for p in g.passages) for g in none)
    some = [g for g in training_groups(pools, k=3).groups if g.kind is GroupKind.IRRELEVANT]
    assert any(not any(p.kind is PassageKind.RELEVANT for p in g.passages) for g in some)
    poor = [make_pool(i, relevant=0, lines=0) for i in range(12)]
    assert training_groups(poor, k=3, topical=True).short == {
        "no relevant passage without the answer": 12
    }


def test_evidence_that_stays_much_longer_than_what_is_left_is_not_cut():
    told = f"It was built by Mara Holm{' and by many others of the northern coast' * 12}."
    against = Passage(
        text=f"{TALE[0]} It was built by Otto Berg. {TALE[3]}", kind=PassageKind.COUNTERFACTUAL,
        claim="Otto Berg", provenance=Provenance.GENERATED,
    )  # fmt: skip
    stock = SimpleNamespace(
        question=QUESTION, gold=[gold(TALE[0], told, TALE[3])], counterfactual=[against],
        supports=[gold(*TALE)],
    )  # fmt: skip
    assert cut_sets(stock) is None


def test_a_relevant_passage_serves_all_three_groups_where_nobody_lends_one():
    pools = [make_pool(0, lines=0), *(make_pool(i, relevant=0, lines=0) for i in range(1, 12))]
    groups = training_groups(pools, k=3, topical=True).groups
    assert {g.question.id for g in groups} == {"q0"}
    shared = set.intersection(*({p.text for p in g.passages} for g in groups))
    assert len(shared) == 1
