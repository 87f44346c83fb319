"""Variants change passages as they say, by seed, or say that they cannot."""

from collections import Counter

import pytest

from novarag import Passage, PassageGroup, Question
from novarag.errors import UnknownNameError
from novarag.probes import (
    PROFILES,
    RELATIONS,
    VARIANTS,
    VariantContext,
    VariantNeed,
    calls_a_question,
    contradictions_in,
    find_profile,
    find_variant,
    passages_of,
    split_id,
    variant_id,
)
from novarag.probes.variants import CLAIMED_CONFIDENCE, MOST_LOOKED_AT
from novarag.taxonomy import PassageKind, RelevantFacet
from tests.support.growth import Counting, slope

QUESTION = Question(id="q", text="Where?", answers=("Paris",))
GROUP = PassageGroup(
    question=QUESTION,
    passages=tuple(Passage(text=f"own {n}", kind=PassageKind.GOLD) for n in range(3)),
)
OTHERS = {
    f"o{n}": (
        Passage(text=f"other {n}", kind=PassageKind.RELEVANT, facet=RelevantFacet.ENTITY),
        Passage(text=f"Paris {n}"),
        GROUP.passages[0],
    )
    for n in range(5)
}
AGAINST = Passage(text="It is Rome.", kind=PassageKind.COUNTERFACTUAL, claim="Rome")
CONTEXT = VariantContext(passages={**OTHERS, "q": GROUP.passages}, contradictions={"q": AGAINST})
EMPTY = PassageGroup(question=QUESTION, passages=())


def made(name, group=GROUP, context=CONTEXT, seed=0):
    found = VARIANTS[name].make(group, context, seed=seed)
    return None if found is None else [passage.text for passage in found.passages]


def test_the_original_and_its_repeat_stay():
    assert made("original") == made("repeat") == ["own 0", "own 1", "own 2"]


def test_a_shuffle_moves_something_and_loses_nothing():
    assert all(made("shuffle", seed=s) != made("original") for s in range(20))
    assert sorted(made("shuffle")) == made("original")


def test_irrelevant_passages_stand_between_the_own():
    found = made("irrelevant")
    assert [text for text in found if text.startswith("own")] == made("original")
    assert len([text for text in found if text.startswith("other")]) == 3


def test_lost_support_holds_no_own_passage_and_no_answer():
    group = VARIANTS["lost-support"].make(GROUP, CONTEXT, seed=1)
    assert all(p.text.startswith("other") for p in group.passages)
    assert len(set(group.passages)) == 3
    assert {p.kind for p in group.passages} == {PassageKind.IRRELEVANT}


def test_unlabelled_passages_stay_unlabelled():
    bare = VariantContext(passages={f"o{n}": (Passage(text=f"x{n}"),) for n in range(3)})
    assert VARIANTS["lost-support"].make(GROUP, bare).kinds is None


def test_the_top_passage_is_the_one_given_first():
    shown = PassageGroup(question=QUESTION, passages=GROUP.passages, order=(2, 0, 1))
    assert made("duplicate", shown)[-1] == "own 1"
    assert made("top-first", shown) == ["own 1", "own 0", "own 2"]
    assert made("top-last", shown) == ["own 0", "own 2", "own 1"]
    assert made("injected-confidence", shown)[1] == f"own 1 {CLAIMED_CONFIDENCE}"


def test_a_contradiction_is_added_once():
    found = made("contradiction")
    assert len(found) == 4
    assert AGAINST.text in found
    again = PassageGroup(question=QUESTION, passages=(*GROUP.passages, AGAINST))
    assert made("contradiction", again) is None


@pytest.mark.parametrize(
    ("name", "group", "context"),
    [
        ("shuffle", PassageGroup(question=QUESTION, passages=GROUP.passages[:1]), CONTEXT),
        ("irrelevant", GROUP, VariantContext()),
        ("lost-support", GROUP, VariantContext(passages={"q": GROUP.passages})),
        ("lost-support", EMPTY, CONTEXT),
        ("duplicate", EMPTY, CONTEXT),
        ("contradiction", GROUP, VariantContext()),
        ("contradiction", EMPTY, CONTEXT),
        ("injected-answer", EMPTY, CONTEXT),
        ("top-first", GROUP, CONTEXT),
        ("top-last", EMPTY, CONTEXT),
    ],
)
def test_what_cannot_be_made_is_none(name, group, context):
    assert made(name, group, context) is None


@pytest.mark.parametrize("name", VARIANTS)
def test_the_same_seed_makes_the_same_group(name):
    assert made(name) == made(name)
    assert VARIANTS[name].name == name


def test_only_some_variants_need_something():
    assert [name for name, v in VARIANTS.items() if v.needs is not VariantNeed.NOTHING] == [
        "irrelevant", "lost-support", "contradiction",
    ]  # fmt: skip


def test_ids_can_be_taken_apart():
    named = PassageGroup(question=QUESTION, passages=(), id="a~b")
    assert split_id(variant_id(named, "shuffle")) == ("a~b", "shuffle")
    assert VARIANTS["repeat"].make(GROUP, CONTEXT).id == "q~repeat"


def test_passages_and_contradictions_are_collected_by_question():
    both = PassageGroup(question=QUESTION, passages=(GROUP.passages[0], AGAINST))
    assert passages_of([GROUP, both]) == {"q": (*GROUP.passages, AGAINST)}
    other = Passage(text="It is Oslo.", kind=PassageKind.COUNTERFACTUAL, claim="Oslo")
    later = PassageGroup(question=QUESTION, passages=(other,))
    assert contradictions_in([GROUP, both, later]) == {"q": AGAINST}


def test_profiles_ask_for_known_variants():
    assert [calls_a_question(name) for name in PROFILES] == [3, 8, 20]
    assert {v for p in PROFILES.values() for v in p.samples} <= set(VARIANTS)
    assert {v for r in RELATIONS.values() for v in r.variants} <= set(VARIANTS)


@pytest.mark.parametrize("find", [find_variant, find_profile])
def test_unknown_names_are_told(find):
    with pytest.raises(UnknownNameError):
        find("nothing")


def test_names_are_found():
    assert find_variant("shuffle") is VARIANTS["shuffle"]
    assert find_profile("quick").calls == 3


def test_questions_whose_passages_all_hold_the_answer_are_passed_by():
    leaky = {f"leak{n}": (Passage(text=f"Paris {n}"),) for n in range(20)}
    context = VariantContext(passages={**leaky, **OTHERS})
    assert all(text.startswith("other") for text in made("lost-support", context=context))
    assert made("lost-support", context=VariantContext(passages=leaky)) is None


@pytest.mark.parametrize("variant", ["irrelevant", "lost-support"])
def test_drawing_from_other_questions_grows_with_the_questions_alone(variant):
    work = {}
    for size in (50, 100, 200, 400):
        groups = [
            PassageGroup(
                question=Question(id=f"q{i}", text="?", answers=(f"answer{i}",)),
                passages=tuple(Passage(text=f"passage {i} {j}") for j in range(3)),
            )
            for i in range(size)
        ]
        counting = Counting(passages_of(groups))
        context = VariantContext(passages=counting)
        assert all(VARIANTS[variant].make(group, context) for group in groups)
        work[size] = counting.steps
    assert slope(work) <= 1.15


def test_a_search_for_other_passages_ends_where_every_one_holds_the_answer():
    held = {f"o{i}": (Passage(text=f"Paris {i}"),) for i in range(3 * MOST_LOOKED_AT)}
    counting = Counting(held)
    context = VariantContext(passages=counting)
    built = counting.steps
    assert VARIANTS["irrelevant"].make(GROUP, context) is None
    assert counting.steps - built <= MOST_LOOKED_AT


def test_every_other_question_may_be_drawn_and_none_is_preferred():
    held = {f"o{n}": (Passage(text=f"left {n}"), Passage(text=f"right {n}")) for n in range(4)}
    context = VariantContext(passages={**held, "q": GROUP.passages})
    drawn = Counter(made("lost-support", context=context, seed=s)[0] for s in range(4000))
    assert len(drawn) == 8
    assert all(abs(times - 500) < 5 * 21 for times in drawn.values())  # 21: one standard error
