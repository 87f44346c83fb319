"""Laws of taxonomy, grading and grouping."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novarag import (
    EvidenceState,
    Grade,
    GroupKind,
    Mix,
    Passage,
    PassageGroup,
    PassageKind,
    Question,
    Rule,
    UsageError,
    assemble,
    evidence_state,
    grade,
)
from novarag.grading import normalize
from novarag.seeding import rng_for
from novarag.taxonomy import group_kind, rules_for, states_for

K = PassageKind
kinds = st.lists(st.sampled_from(PassageKind), max_size=6)
claims = st.sampled_from([None, "a", "b", "A"])
passages = st.lists(
    st.builds(Passage, text=st.text(max_size=5), kind=st.sampled_from(PassageKind), claim=claims),
    max_size=5,
)
Q = Question(id="q", text="?", answers=("gold",))


@given(kinds, st.randoms())
def test_group_kind_is_blind_to_order_and_number(present, rng):
    shuffled = present * 2
    rng.shuffle(shuffled)
    assert group_kind(present) is group_kind(shuffled)


@given(kinds)
def test_rules_follow_the_group(present):
    rules = rules_for(present)
    assert (group_kind(present) is GroupKind.COUNTERFACTUAL) == (
        Rule.CONFLICT_INDEPENDENCE in rules
    )
    assert (K.IRRELEVANT in present) == (Rule.NOISE_INVARIANCE in rules)
    assert (K.GOLD not in present) == (Rule.PARAMETRIC_FALLBACK in rules)


@given(kinds)
def test_more_noise_never_makes_a_group_consistent(present):
    noisier = [*present, K.COUNTERFACTUAL]
    assert group_kind(noisier) is GroupKind.COUNTERFACTUAL


@given(passages)
def test_the_evidence_state_is_one_the_true_classes_leave_open(ps):
    group = PassageGroup(question=Q, passages=tuple(ps))
    state = evidence_state(group)
    if state is not None:
        assert state in states_for(p.kind.utility for p in ps)
    if K.GOLD in group.kinds:
        conflict = K.COUNTERFACTUAL in group.kinds
        assert state is (EvidenceState.CONFLICTING if conflict else EvidenceState.CONSISTENT)


@given(st.integers(), st.lists(st.text(max_size=8), max_size=6))
def test_assemble_loses_nothing_repeats_itself_and_keeps_the_order(seed, texts):
    ps = [Passage(text=t) for t in texts]
    group = assemble(Q, ps, seed=seed)
    assert group == assemble(Q, ps, seed=seed)
    assert [ps[i] for i in group.order] == list(group.passages)
    assert sorted(group.order) == list(range(len(ps)))


def test_every_place_is_equally_likely():
    first = [
        assemble(Question(id=str(i), text="?"), [Passage(text=str(j)) for j in range(3)]).order[0]
        for i in range(3000)
    ]
    assert all(850 < first.count(j) < 1150 for j in range(3))


def test_the_generator_is_the_same_on_every_machine():
    assert [rng_for(0, "q").randrange(1000) for _ in range(2)] == [
        rng_for(0, "q").randrange(1000)
    ] * 2
    code = "from novarag.seeding import rng_for; print(rng_for(7, 'x', 'y').randrange(10**9))"
    out = {
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": s}, capture_output=True, text=True, check=True).stdout
        for s in ("1", "2")
    }  # fmt: skip
    assert out == {"285025426\n"}


@given(st.builds(Mix, gold=st.integers(0, 2), counterfactual=st.integers(0, 2), relevant=st.integers(0, 2), irrelevant=st.integers(0, 2)), st.integers())  # fmt: skip
def test_a_mix_is_drawn_exactly(mix, seed):
    pool = [Passage(text=f"{k}{i}", kind=k) for k in K for i in range(3)]
    group = mix.draw(Q, pool, seed=seed)
    assert len(group.passages) == mix.size == len(set(group.passages))
    assert all(sum(p.kind is k for p in group.passages) == n for k, n in mix)


def test_a_mix_that_cannot_be_drawn_says_so():
    with pytest.raises(UsageError, match="0 gold passages, 1 are needed"):
        Mix(gold=1).draw(Q, [])
    with pytest.raises(UsageError, match="negative"):
        Mix(gold=-1)


@given(st.text(max_size=40))
def test_normalising_twice_changes_nothing(text):
    assert normalize(normalize(text)) == normalize(text)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_an_answer_that_holds_the_gold_answer_is_right(before, gold, after):
    q = Question(id="q", text="?", answers=(gold,))
    expected = bool(normalize(gold))
    said = f"{before} \n {gold} \n {after}"
    if expected and f" {normalize(gold)} " in f" {normalize(said)} ":
        assert grade(said, q) is Grade.RIGHT
    if not expected:
        assert grade(said, q) is not Grade.RIGHT


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_wrong_claim_never_makes_an_answer_right(answer, claim):
    q = Question(id="q", text="?", answers=("gold",))
    if grade(answer, q) is not Grade.RIGHT:
        assert grade(answer, q, claims=[claim]) is not Grade.RIGHT


def test_evidence_of_counterfactual_passages_alone():
    def state(*said):
        ps = tuple(Passage(text="x", kind=K.COUNTERFACTUAL, claim=c) for c in said)
        return evidence_state(PassageGroup(question=Q, passages=ps))

    assert state("a") is EvidenceState.CONSISTENT
    assert state("a", "A.") is EvidenceState.CONSISTENT
    assert state("a", "b") is EvidenceState.CONFLICTING
    assert state("a", None) is None
    assert evidence_state(PassageGroup(question=Q, passages=(Passage(text="x"),))) is None
