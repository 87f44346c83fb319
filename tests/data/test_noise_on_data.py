"""Validators, the auditor and nova-clean on the released files."""

import csv
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from novarag.cli import app
from novarag.datasets import DATASETS, load_benchmark, load_groups
from novarag.datasets.clean import _recipe, check_inputs, known_former_aurocs, known_outputs
from novarag.errors import DataError
from novarag.noise import PassageFault, find_fault
from novarag.noise.audit import audit
from novarag.taxonomy import GroupKind, PassageKind
from validation import paper_groups

pytestmark = pytest.mark.data
EYE = Path("docs/evidence/passage-eye-sample.csv")  # verdicts of a reader who saw no alarm
BLAMED = {
    "placeholder_passage": {PassageFault.PLACEHOLDER},
    "cf_agrees_with_gold": {
        PassageFault.STATES_GOLD,
        PassageFault.CLAIM_ABSENT,
        PassageFault.CLAIM_IS_GOLD,
    },
    "irrelevant_contains_answer": {PassageFault.LEAKS_GOLD},
}


def released(k):
    for name, splits in DATASETS.items():
        for split in splits:
            yield from load_benchmark(name, part=split, k=k)


@pytest.mark.parametrize(("k", "placeholders", "mislabelled"), [(3, 95, 71), (5, 164, 86)])
def test_validators_find_every_placeholder_and_every_mislabelled_row(
    data, k, placeholders, mislabelled
):
    found, rows = 0, 0
    for group in released(k):
        faults = [find_fault(p, group.question) for p in group.passages]
        found += faults.count(PassageFault.PLACEHOLDER)
        flagged = ["placeholder_text" in p.flags for p in group.passages]
        assert flagged == [f is PassageFault.PLACEHOLDER for f in faults]
        for flag in group.flags:
            if flag.startswith("group_mislabelled:"):
                rows += 1
                assert BLAMED[flag.partition(":")[2]] & set(faults), group.id
    assert found == placeholders
    assert rows == mislabelled


def test_validators_raise_few_false_alarms(data):
    groups = {group.id: group for k in (3, 5) for group in released(k)}
    counts = Counter()
    with EYE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            name, _, place = row["passage"].rpartition("/p")
            group = groups[name]
            alarm = find_fault(group.passages[int(place)], group.question) is not None
            counts[row["sample"], alarm, row["sound"]] += 1
    assert counts["random", True, "no"] == 4  # and no unsound one is missed:
    assert counts["random", False, "no"] == 0
    assert counts["random", True, "yes"] == 3  # of 200
    assert (counts["alarmed", True, "no"], counts["alarmed", True, "yes"]) == (23, 37)
    assert counts.total() == 260


def test_validators_reject_few_released_passages(data):
    kinds, alarms = Counter(), Counter()
    for group in released(5):
        for passage in group.passages:
            kinds[passage.kind] += 1
            alarms[passage.kind] += find_fault(passage, group.question) is not None
    shares = {kind: alarms[kind] / kinds[kind] for kind in PassageKind}
    assert shares[PassageKind.COUNTERFACTUAL] < 0.1
    assert shares[PassageKind.RELEVANT] < 0.01
    assert shares[PassageKind.IRRELEVANT] == 0


def test_the_auditor_fails_the_released_files(data):
    found = audit(load_benchmark("hotpotqa", k=3))
    by = {(f.cue, f.kind): f for f in found.shortcuts}
    for cue in ("position", "typography"):
        assert by[cue, "counterfactual"].accuracy >= 0.95
    assert "double spaces of passage 1" in " ".join(by["position", "counterfactual"].telling)


def test_nova_clean_is_rebuilt_to_the_byte(data, tmp_path):
    assert not check_inputs(data)
    result = CliRunner().invoke(app, ["paper", "nova-clean", "--out", str(tmp_path), "--no-audit"])
    assert result.exit_code == 0, result.output
    assert {p.name for p in tmp_path.glob("*.jsonl")} == set(known_outputs())
    seen = {}
    for path in sorted(tmp_path.glob("*.jsonl")):
        groups = load_groups(path)
        assert set(Counter(g.kind for g in groups).values()) == {len(groups) // 3}
        assert not [p for g in groups for p in g.passages if find_fault(p, g.question)]
        none = [g for g in groups if g.kind is GroupKind.IRRELEVANT]
        assert all(any(p.kind is PassageKind.RELEVANT for p in g.passages) for g in none)
        split = path.name.rpartition("-k")[0]
        for group in groups:
            assert seen.setdefault(group.question.id, split) == split
            assert "Starship Poopers" not in group.question.text
    found = audit(load_groups(tmp_path / "hotpotqa-test-k3.jsonl"))
    words = {f.kind: f.auroc for f in found.findings if f.cue == "question"}
    assert words["irrelevant"] < 0.8 < 0.95 < known_former_aurocs()["hotpotqa-test-k3.jsonl"]
    (tmp_path / "naacl").mkdir()
    assert len(check_inputs(tmp_path)) == len(_recipe()["inputs"])
    with pytest.raises(DataError, match="not there"):
        check_inputs(tmp_path / "naacl")


def test_the_papers_preset_on_two_hundred_pools_of_hotpotqa(data):
    pools = paper_groups.hotpotqa(paper_groups.POOLS)
    found = paper_groups.draw(pools)
    assert len(pools) == paper_groups.POOLS
    assert len({g.question.id for g in found.groups}) > 100
    assert all(map(paper_groups.is_worded, found.groups))
    ours = paper_groups.draw(pools, mix="training").groups
    consistent = [g.evidence for g in ours if g.kind is GroupKind.CONSISTENT]
    assert set(consistent) == {2}  # none has one, as the paper's have
