"""The three groups of a question with one gold passage, as the paper words them."""

from collections import Counter
from dataclasses import replace

import pytest

from novarag import GroupKind, PassageKind, Provenance, UsageError, group_passages
from novarag.noise.groups import build_groups, one_gold_groups
from tests.unit.noise.test_training_groups import POOLS, make_pool
from validation.paper_groups import WORDS, draw, is_worded, preset


@pytest.mark.parametrize("k", [2, 3, 5])
def test_every_group_is_as_the_paper_words_its_kind(k):
    found = one_gold_groups(POOLS, k=k, seed=4)
    assert Counter(g.kind for g in found.groups) == dict.fromkeys(GroupKind, len(POOLS))
    assert not found.short
    for group in found.groups:
        assert len(group.passages) == k
        assert is_worded(group)
        gold = [p for p in group.passages if p.kind is PassageKind.GOLD]
        assert len(gold) == (group.kind is not GroupKind.IRRELEVANT)
        assert all(p.provenance is Provenance.ORIGINAL for p in gold)


def test_a_consistent_group_has_one_supporting_passage_which_ours_has_two_of():
    """Set B of the paper's ablation, and its rule of noise, need exactly one."""
    paper, ours = (build_groups(POOLS, mix, k=3).groups for mix in ("one-gold", "training"))
    evidence = [
        {g.evidence for g in made if g.kind is GroupKind.CONSISTENT} for made in (paper, ours)
    ]
    assert evidence == [{1}, {2}]


def test_the_preset_draws_the_papers_groups():
    assert preset().groups.mix == "one-gold"
    found = draw(POOLS)
    assert set(WORDS) == {g.kind for g in found.groups}
    assert all(map(is_worded, found.groups))


def test_how_many_passages_contradict_is_drawn_from_one_on():
    found = one_gold_groups(POOLS, k=4).groups
    counted = Counter(g.kinds.count(PassageKind.COUNTERFACTUAL) for g in found)
    assert set(counted) == {0, 1, 2}  # a pool has two
    assert min(counted[1], counted[2]) > len(POOLS) // 4


def test_the_same_seed_gives_the_same_groups_whatever_stands_beside():
    assert one_gold_groups(POOLS[:5], k=3).groups == one_gold_groups(POOLS, k=3).groups[:15]
    assert one_gold_groups(POOLS[:5], k=3, seed=1).groups != one_gold_groups(POOLS[:5], k=3).groups


def test_what_is_missing_is_counted():
    def without(pool, *kinds):
        return replace(pool, passages=tuple(p for p in pool.passages if p.kind not in kinds))

    pools = [
        without(POOLS[0], PassageKind.GOLD),
        without(POOLS[1], PassageKind.COUNTERFACTUAL),
        without(POOLS[2], PassageKind.RELEVANT, PassageKind.IRRELEVANT),
        make_pool(99, relevant=0),
    ]
    found = one_gold_groups(pools, k=4)
    assert not found.groups
    assert found.short == {
        "no sound gold passage": 1,
        "no sound counterfactual passage": 1,
        "too few relevant and irrelevant passages": 2,
    }
    with pytest.raises(UsageError, match="k is 2 or more"):
        one_gold_groups(pools, k=1)


def test_group_passages_takes_the_mix_and_audits_it():
    found = group_passages(POOLS, mix="one-gold")
    assert found.audit is not None
    assert len(group_passages(POOLS, mix="one-gold", one_each=True, audit=False).groups) == len(
        POOLS
    )
    with pytest.raises(UsageError, match="gold_at"):
        group_passages(POOLS, mix="one-gold", gold_at=1)
