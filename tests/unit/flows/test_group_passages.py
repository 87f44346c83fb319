"""Groups and audits from Python."""

import asyncio
from dataclasses import replace

import pytest

from novarag import Passage, audit_groups, group_passages, load_groups, write_example
from novarag.errors import UnknownNameError, UsageError
from novarag.examples import simulated_pools
from novarag.taxonomy import GroupKind, PassageKind


def test_a_file_and_its_pools_give_the_same_groups(tmp_path):
    file, out = write_example(tmp_path / "pools.jsonl").path, tmp_path / "deep" / "groups.jsonl"
    build = group_passages(file, str(out), audit=False)
    assert build.groups == group_passages(simulated_pools(), audit=False).groups
    assert load_groups(out) == build.groups
    assert [p.name for p in out.parent.iterdir()] == ["groups.jsonl"]
    assert (build.audit, build.unaudited, build.has_shortcut) == (None, None, False)
    told = repr(build).splitlines()
    assert told[0] == (
        "288 groups of 96 questions: 96 consistent, 96 counterfactual, 96 irrelevant"
    )


def test_training_groups_are_audited():
    build = group_passages(simulated_pools())
    assert build.audit is not None
    assert build.audit.groups == len(build.groups)
    assert build.audit == audit_groups(build.groups)
    assert "288 groups of 96 questions were audited" in repr(build)
    assert repr(build.audit).splitlines()[-1].startswith("no shortcut: a shortcut beats")
    unknown = replace(build.groups[0], passages=(Passage(text="Who knows?"),))
    found = audit_groups([unknown, *build.groups])
    assert "left out: 1 groups without kinds" in repr(found)


def test_too_few_to_audit_says_so():
    build = group_passages(simulated_pools()[:6])
    assert build.audit is None
    assert build.unaudited.startswith("an audit needs two kinds of groups and 10 questions")
    assert repr(build).splitlines()[-1] == f"not audited: {build.unaudited}"


def test_one_group_of_each_question():
    build = group_passages(simulated_pools(), one_each=True, audit=False)
    assert len({g.question.id for g in build.groups}) == len(build.groups) == 96
    assert {g.kind for g in build.groups} == set(GroupKind)


def test_a_named_mix_and_its_gold():
    build = group_passages(simulated_pools(), mix="gold+counterfactual", gold_at=1)
    assert build.audit is None
    assert {g.passages[0].kind for g in build.groups} == {PassageKind.GOLD}
    assert build.groups[0].id.endswith("/gold+counterfactual-k3-gold1")


def test_what_is_left_out_is_counted():
    pools = simulated_pools()
    bare = replace(pools[0], passages=pools[0].passages[:1])
    empty = replace(
        pools[1], passages=(*pools[1].passages, Passage(text="", kind=PassageKind.GOLD))
    )
    build = group_passages([bare, empty, *pools[2:]], audit=False)
    assert build.short == {"no sound generated gold passage": 1}
    assert build.faults.total() == 1
    assert "left out: 1 passages: " in repr(build)
    assert "left out: 1 questions: no sound generated gold passage" in repr(build)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"out": "x.csv"}, "must end in .jsonl"),
        ({"mix": "gold-only", "one_each": True}, "`one_each` belongs to the training groups"),
        ({"gold_at": 1}, "`gold_at` belongs to the mixes"),
        ({"k": 2}, "k is 3 or more"),
    ],
)
def test_what_cannot_be_is_refused(more, said):
    with pytest.raises(UsageError, match=said):
        group_passages(simulated_pools(), **more)


def test_nothing_to_build_says_why(tmp_path):
    out = tmp_path / "groups.jsonl"
    with pytest.raises(UsageError, match=r"no questions\. .*`make_noise\(\)` writes them"):
        group_passages([], out)
    bare = [replace(pool, passages=()) for pool in simulated_pools()]
    with pytest.raises(UsageError, match="96 questions: no sound original gold passage"):
        group_passages(bare)
    with pytest.raises(UnknownNameError, match="gold-first"):
        group_passages(simulated_pools(), mix="gold-first")
    assert not out.exists()


def test_wrong_types_say_what_was_expected():
    for wrong in (3, ["a passage"]):
        with pytest.raises(TypeError, match="PassageGroup objects, not"):
            group_passages(wrong)
        with pytest.raises(TypeError, match="PassageGroup objects, not"):
            audit_groups(wrong)


def test_a_shortcut_is_told(tmp_path):
    groups = group_passages(simulated_pools(), audit=False).groups
    shouted = [
        replace(g, passages=tuple(replace(p, text=p.text.upper()) for p in g.passages))
        if g.kind is GroupKind.COUNTERFACTUAL
        else g
        for g in groups
    ]
    found = audit_groups(shouted, margin=0.1, seed=1)
    assert found.shortcuts
    assert "shortcut: " in repr(found)
    assert "by more than 10 points" in repr(found).splitlines()[-1]


def test_they_work_in_a_running_loop(tmp_path):
    async def notebook():
        build = group_passages(simulated_pools(), tmp_path / "groups.jsonl", audit=False)
        return build, audit_groups(tmp_path / "groups.jsonl")

    build, audit = asyncio.run(notebook())
    assert audit.groups == len(build.groups)
