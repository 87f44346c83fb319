from dataclasses import replace

import polars as pl
import pytest

from novarag import UsageError
from novarag.examples import EXAMPLE_GROUP
from novarag.metrics.ablation import PARTS, SYSTEMS, evidence_set, swap
from novarag.records import Passage
from novarag.taxonomy import PassageKind

SETS = {"a": "A conflict", "b": "A agree", "c": "B", "d": "C"}


def group_of(kinds, claims=("1", "2", "3")):
    names = {"g": "gold", "c": "counterfactual", "r": "relevant", "i": "irrelevant"}
    passages = [
        Passage(
            text=str(i),
            kind=PassageKind(names[kind]) if kind != "?" else None,
            claim=claims[i] if kind == "c" else None,
        )
        for i, kind in enumerate(kinds)
    ]
    return replace(EXAMPLE_GROUP, passages=tuple(passages), id="x")


def table(confidence, groups="abcd", **more):
    n = len(groups)
    rows = {"question": list(groups), "group": list(groups), "confidence": [confidence] * n}
    return pl.DataFrame(rows | {"correct": [True] * n} | more)


@pytest.mark.parametrize(
    ("kinds", "claims", "expected"),
    [
        ("gcc", "111", "A conflict"),
        ("ggi", "111", "A agree"),
        ("ggg", "111", "A agree"),
        ("cci", "111", "A agree"),
        ("cci", "121", "A conflict"),
        ("cci", (None, None, None), "A conflict"),
        ("gri", "111", "B"),
        ("cri", "111", "B"),
        ("rii", "111", "C"),
        ("", "111", "C"),
    ],
)
def test_the_set_follows_from_what_the_passages_state(kinds, claims, expected):
    assert evidence_set(group_of(kinds, claims)) == expected


def test_a_group_without_kinds_has_no_set():
    with pytest.raises(UsageError, match=r"annotate"):
        evidence_set(group_of("g?"))


def test_each_system_has_the_tuned_rows_of_its_sets_and_the_rest_of_base():
    stacked = swap(table(0.9), table(0.1, "dcba", extra=[1] * 4), SETS)
    assert stacked["system"].unique(maintain_order=True).to_list() == list(SYSTEMS)
    assert "extra" not in stacked.columns
    for system, part in zip(SYSTEMS[1:-1], PARTS.values(), strict=True):
        rows = dict(
            stacked.filter(system=system).select("group", "confidence").sort("group").iter_rows()
        )
        assert rows == {g: 0.1 if SETS[g] in part else 0.9 for g in "abcd"}
    assert stacked.filter(system="base")["confidence"].unique().to_list() == [0.9]
    assert stacked.filter(system="tuned")["confidence"].unique().to_list() == [0.1]
    assert stacked.filter(system="A -> tuned")["confidence"].sum() == pytest.approx(2.0)


def test_samples_stay_together_and_null_confidences_stay_null():
    unread = table(0.9, "aabb").with_columns(confidence=pl.lit(None, dtype=pl.Float64))
    stacked = swap(unread, table(0.1, "abab"), SETS)
    assert stacked.filter(system="A conflict -> tuned")["confidence"].null_count() == 2
    assert stacked.height == 4 * len(SYSTEMS)


@pytest.mark.parametrize(
    ("base", "tuned", "why"),
    [
        (table(0.9), table(0.1, "abc"), "different groups"),
        (table(0.9, "ab"), table(0.1, "abb"), "as often"),
        (table(0.9, "abx"), table(0.1, "abx"), "'x' is not known"),
        (table(0.9).drop("group"), table(0.1), "base table"),
        (table(0.9), table(0.1).with_columns(group=pl.lit(None)), "tuned table"),
    ],
)
def test_tables_that_do_not_fit_are_refused(base, tuned, why):
    with pytest.raises(UsageError, match=why):
        swap(base, tuned, SETS)
