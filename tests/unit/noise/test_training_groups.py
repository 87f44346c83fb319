"""Groups by name, the three training groups, and the auditor that guards them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from novarag import GroupKind, Passage, PassageGroup, PassageKind, Provenance, Question, UsageError
from novarag.errors import UnknownNameError
from novarag.grouping import MIXES, Mix, assemble, evidence_state, find_mix
from novarag.noise.audit import audit
from novarag.noise.surface import CUES, GroupSurface
from novarag.noise.training_groups import foreign, merge_pools, sound_pool, training_groups
from novarag.seeding import rng_for
from novarag.stats.logistic import fit
from novarag.taxonomy import EvidenceState

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word(rng):
    return "".join(rng.choice(LETTERS) for _ in range(7))


def make_pool(i, *, relevant=3, supports=2, plain=False):
    """A question about made-up words, with everything a training group may need."""
    rng = rng_for(0, f"pool {i}")
    subject, answer, wrong = word(rng), word(rng), word(rng)

    def passage(kind, *said, claim=None, provenance=Provenance.GENERATED):
        body = " ".join([subject, *said, *(word(rng) for _ in range(rng.randint(20, 30)))])
        return Passage(text=f"{body}.", kind=PassageKind(kind), claim=claim, provenance=provenance)

    question = Question(id=f"q{i}", text=f"Where is {subject}?", answers=(answer,))
    return PassageGroup(
        question=question,
        passages=(
            passage("gold", answer, provenance=Provenance.ORIGINAL),
            *(passage("gold", answer, claim=answer) for _ in range(supports)),
            *(passage("counterfactual", wrong, claim=wrong) for _ in range(2)),
            *(passage("relevant") for _ in range(relevant)),
            *(
                Passage(
                    text=f"Bread {word(rng)} {word(rng)}.",
                    kind=PassageKind.IRRELEVANT,
                    provenance=Provenance.GENERATED,
                )
                for _ in range(3)
            ),
        ),
    )


POOLS = [make_pool(i) for i in range(60)]


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("k", [3, 5])
def test_named_mixes(name, k):
    mix = find_mix(name, k=k)
    assert mix.size == (1 if name == "gold-only" else k)
    assert (mix.gold == 1) == name.startswith("gold")


@pytest.mark.parametrize("place", [1, 2, 3])
def test_gold_stands_where_it_was_put(place):
    group = find_mix("gold+relevant", gold_at=place).draw(POOLS[0].question, POOLS[0].passages)
    kinds = group.kinds or ()
    assert kinds.index(PassageKind.GOLD) == place - 1
    assert group.passages[place - 1].provenance is Provenance.ORIGINAL
    assert sorted(group.order or ()) == [0, 1, 2]


def test_gold_cannot_stand_outside_the_group():
    for wrong in (0, 4):
        with pytest.raises(UsageError):
            find_mix("gold+relevant", gold_at=wrong)
    with pytest.raises(UsageError):
        find_mix("relevant-only", gold_at=1)
    with pytest.raises(UnknownNameError):
        find_mix("gold+gold")


def test_gold_of_both_provenances_where_one_is_not_enough():
    group = Mix(gold=2).draw(POOLS[0].question, POOLS[0].passages)
    assert group.kind is GroupKind.CONSISTENT


def test_every_place_is_taken_about_as_often():
    places = Counter(
        find_mix("gold+relevant").draw(p.question, p.passages).kinds.index(PassageKind.GOLD)
        for i in range(10)
        for p in [
            replace(q, question=replace(q.question, id=f"{q.question.id}-{i}")) for q in POOLS
        ]
    )
    assert set(places) == {0, 1, 2}
    assert min(places.values()) > 150


@pytest.mark.parametrize("k", [3, 4, 5, 7])
def test_three_groups_of_every_question_at_every_k(k):
    built = training_groups(POOLS, k=k)
    assert Counter(g.kind for g in built.groups) == dict.fromkeys(GroupKind, len(POOLS))
    assert {len(g.passages) for g in built.groups} == {k}
    assert not built.short
    states = {
        GroupKind.COUNTERFACTUAL: EvidenceState.CONFLICTING,
        GroupKind.CONSISTENT: EvidenceState.CONSISTENT,
        GroupKind.IRRELEVANT: EvidenceState.INSUFFICIENT,
    }
    for group in built.groups:
        assert evidence_state(group) is states[group.kind]
        provenances = Counter(p.provenance for p in group.passages)
        assert provenances[Provenance.ORIGINAL] == 1
        assert len({p.text for p in group.passages}) == k
        if group.kind is GroupKind.IRRELEVANT:
            answers = group.question.answers
            assert not any(a in p.text for a in answers for p in group.passages)


def test_larger_groups_hold_the_smaller_ones():
    small, large = (training_groups(POOLS, k=k).groups for k in (3, 5))
    for a, b in zip(small, large, strict=True):
        assert {p.text for p in a.passages} < {p.text for p in b.passages}


def test_the_same_seed_gives_the_same_groups_and_another_does_not():
    assert training_groups(POOLS, k=3).groups == training_groups(POOLS, k=3).groups
    assert training_groups(POOLS, k=3).groups != training_groups(POOLS, k=3, seed=1).groups


def test_what_is_missing_is_counted_with_its_reason():
    golden = replace(POOLS[0], passages=POOLS[0].passages[1:])
    alone = replace(
        POOLS[1],
        passages=tuple(p for p in POOLS[1].passages if p.kind is not PassageKind.COUNTERFACTUAL),
    )
    bare = replace(POOLS[2], passages=POOLS[2].passages[:1] + POOLS[2].passages[3:])
    hollow = replace(
        POOLS[3], passages=(*POOLS[3].passages, Passage(text="Passage 3:", kind=PassageKind.GOLD))
    )
    built = training_groups([golden, alone, bare, hollow, *POOLS[4:10]], k=3)
    assert built.short == {
        "no sound original gold passage": 1,
        "no sound counterfactual passage": 1,
        "no sound generated gold passage": 1,
    }
    assert built.faults == {"a placeholder stands for the text": 1}
    assert training_groups(POOLS[:1], k=3).short == {"no other question to borrow passages from": 1}
    with pytest.raises(UsageError, match="3 or more"):
        training_groups(POOLS, k=2)


def test_questions_without_relevant_passages_are_filled_with_irrelevant_ones():
    poor = [make_pool(i, relevant=0) for i in range(12)]
    groups = training_groups(poor, k=4).groups
    assert {len(g.passages) for g in groups} == {4}
    none = [replace(p, passages=p.passages[:-3]) for p in poor]
    assert training_groups(none, k=6).short == {"too few passages to fill groups of this size": 12}


def test_a_pool_nobody_can_use_builds_nothing():
    bare = [replace(p, passages=p.passages[:1]) for p in POOLS[:3]]
    built = training_groups(bare, k=3)
    assert (built.groups, built.short.total()) == ([], 3)


def test_gold_of_unknown_provenance_is_taken_for_original():
    unknown = [
        replace(p, passages=(replace(p.passages[0], provenance=None), *p.passages[1:]))
        for p in POOLS[:12]
    ]
    assert len(training_groups(unknown, k=3).groups) == 36


def test_nobody_sits_alone():
    pools = [make_pool(i) for i in range(111)]
    assert not training_groups(pools, k=3).short


def test_an_aside_that_answers_another_question_is_not_borrowed_for_it():
    poor = [make_pool(i, relevant=0) for i in range(12)]
    answers = " ".join(p.question.answers[0] for p in poor[1:])
    poor[0] = replace(
        poor[0],
        passages=(
            *poor[0].passages[:-3],
            Passage(text=f"All: {answers}.", kind=PassageKind.IRRELEVANT),
        ),
    )
    for i in range(1, 12):
        poor[i] = replace(poor[i], passages=poor[i].passages[:-2])
    for group in training_groups(poor, k=4).groups:
        if group.kind is GroupKind.IRRELEVANT:
            assert not any(group.question.answers[0] in p.text for p in group.passages)


def test_texts_that_become_equal_stand_once():
    pool = POOLS[0]
    twin = replace(
        pool.passages[0],
        text=pool.passages[0].text.replace(" ", "  "),
        provenance=Provenance.GENERATED,
    )
    faults = Counter()
    kept = sound_pool(replace(pool, passages=(*pool.passages, twin)), faults)
    assert len(kept.passages) == len(pool.passages)
    assert faults == {"it repeats another passage": 1}
    hidden = Passage(
        text=f"An{pool.question.answers[0][:3]}\u200b{pool.question.answers[0][3:]}",
        kind=PassageKind.RELEVANT,
    )
    leak = replace(
        hidden, text=f"x {pool.question.answers[0][:3]}\u200b{pool.question.answers[0][3:]}"
    )
    sound_pool(replace(pool, passages=(leak,)), faults)
    assert faults["it contains the gold answer"] == 1


def test_a_passage_on_the_subject_is_not_borrowed():
    twins = [
        replace(make_pool(0), question=replace(make_pool(0).question, id=f"t{i}")) for i in range(3)
    ]
    assert training_groups(twins, k=3).short == {"no other question to borrow passages from": 3}


def test_a_passage_on_the_same_subject_with_another_answer_is_not_borrowed():
    pool = make_pool(0)
    right, other = pool.question.answers[0], "quibbling"
    told = [replace(p, text=p.text.replace(right, other)) for p in pool.passages]
    told = [replace(p, claim=other) if p.claim == right else p for p in told]
    twin = replace(
        pool,
        question=Question(id="t", text=pool.question.text, answers=(other,)),
        passages=tuple(told),
    )
    assert training_groups([pool, twin], k=3).short == {
        "no other question to borrow passages from": 2
    }


def test_a_passage_that_holds_the_answer_is_not_borrowed():
    first, second = POOLS[:2]
    telling = replace(second.passages[5], text=f"It tells of {first.question.answers[0]} here.")
    second = replace(second, passages=(*second.passages, telling))
    built = training_groups([first, second], k=3)
    assert built.short == {"no other question to borrow passages from": 1}
    assert {g.question.id for g in built.groups} == {second.question.id}


def test_chance_is_no_shortcut():
    """Labels that mean nothing: however many cues are tried, none may be called a shortcut."""
    failed = 0
    for seed in range(5):
        rng = rng_for(seed, "labels")
        kinds = [PassageKind.RELEVANT, PassageKind.GOLD, PassageKind.COUNTERFACTUAL]
        groups = [
            replace(g, passages=tuple(replace(p, kind=kind, facet=None) for p in g.passages))
            for g in training_groups(POOLS, k=3).groups
            for kind in [rng.choice(kinds)]
        ]
        failed += bool(audit(groups, margin=0).shortcuts)
    assert failed == 0


def test_a_foreign_passage_is_irrelevant_and_claims_nothing():
    passage = foreign(POOLS[0].passages[3])
    assert (passage.kind, passage.claim, passage.facet) == (PassageKind.IRRELEVANT, None, None)


def test_pools_are_tidied_and_merged():
    rough = replace(
        POOLS[0],
        passages=(replace(POOLS[0].passages[0], text="Rome , " + POOLS[0].passages[0].text),),
    )
    assert sound_pool(rough, Counter()).passages[0].text.startswith("Rome, ")
    merged = merge_pools([POOLS[0], POOLS[1], POOLS[0]])
    assert [len(m.passages) for m in merged] == [len(POOLS[0].passages), len(POOLS[1].passages)]


def released_style(k=3):
    """Groups as the released files have them: gold only beside its contradiction, and first."""
    for pool in POOLS:
        gold, other, _, false, *_ = pool.passages
        human = replace(gold, text=gold.text.replace(" ", "  ", 3))
        near = [p for p in pool.passages if p.kind is PassageKind.RELEVANT]
        yield replace(pool, passages=(human, false, near[0]), id=f"{pool.question.id}a")
        yield assemble(pool.question, [other, near[0], near[1]], id=f"{pool.question.id}b")
        yield assemble(pool.question, near, id=f"{pool.question.id}c")


def test_the_auditor_names_position_and_typography():
    found = audit(list(released_style()))
    cues = {f.cue for f in found.shortcuts}
    assert {"position", "typography", "provenance"} <= cues
    told = next(f for f in found.shortcuts if f.cue == "typography" and f.kind == "counterfactual")
    assert told.accuracy > 0.95 > told.majority
    assert told.low > 0.2
    assert any("double spaces" in name for name in told.telling)
    assert told.examples[0].endswith("a")
    assert (found.groups, found.questions, found.left_out) == (180, 60, 0)


def test_the_auditor_passes_our_training_groups():
    pools = [make_pool(i) for i in range(240)]
    found = audit(training_groups(pools, k=3).groups)
    assert not {f.cue for f in found.shortcuts} & {"position", "provenance", "typography"}
    assert found.worst("provenance").excess == 0


def test_the_auditor_asks_for_enough_to_judge():
    groups = training_groups(POOLS, k=3).groups
    with pytest.raises(UsageError, match="two kinds"):
        audit([g for g in groups if g.kind is GroupKind.CONSISTENT])
    with pytest.raises(UsageError, match="10 questions"):
        audit(groups[:9])
    linked = [
        replace(
            g,
            passages=(
                *g.passages,
                *(Passage(text=f"Link {n + j}.", kind=PassageKind.IRRELEVANT) for j in (0, 1)),
            ),
        )
        for g in groups
        for n in [int(g.question.id[1:])]
    ]
    with pytest.raises(UsageError, match="share passages"):
        audit(linked)
    unlabelled = [replace(g, passages=(Passage(text="?"),)) for g in groups]
    with pytest.raises(UsageError, match="none of 180 groups"):
        audit(unlabelled)


def test_a_passage_that_everybody_has_does_not_blind_the_auditor():
    boiler = Passage(text="Terms and conditions apply.", kind=PassageKind.IRRELEVANT)
    groups = [replace(g, passages=(*g.passages, boiler)) for g in released_style()]
    assert "typography" in {f.cue for f in audit(groups).shortcuts}


def test_groups_of_many_sizes_are_audited():
    groups = [
        replace(
            g, passages=g.passages * (1 + i % 5) + (Passage(text="", kind=PassageKind.IRRELEVANT),)
        )
        for i, g in enumerate(released_style())
    ]
    assert audit(groups).groups == 180


def test_a_large_set_is_sampled(monkeypatch):
    monkeypatch.setattr("novarag.noise.audit._MOST", 20)
    assert audit(list(released_style())).questions == 20


def test_the_classifier_learns_what_can_be_learnt():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(600, 3))
    truth = (table[:, 0] > 0).astype(int) + (table[:, 1] > 1)
    model = fit(table[:400], truth[:400], 3)
    said = model.chances(table[400:]).argmax(axis=1)
    assert (said == truth[400:]).mean() > 0.8
    assert np.allclose(model.chances(table).sum(axis=1), 1)


def test_every_cue_has_a_name_for_every_column():
    surface = GroupSurface(training_groups(POOLS, k=3).groups)
    for cue in CUES.values():
        table, names = cue.look(surface)
        assert table.shape == (len(surface.groups), len(names))
