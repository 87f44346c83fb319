"""The labelled benchmark: every count under "Reference facts"."""

from collections import Counter

import polars as pl
import pytest

from novarag import GroupKind, PassageKind, Provenance, load_benchmark
from novarag.datasets import DATASETS, POOLS, load_originals, load_pool, strict_kind

pytestmark = pytest.mark.data

FACTS = [
    ("hotpotqa", "test", 745, 432, (309, 269, 167), (309, 404, 32)),
    ("nq", "test", 799, 438, (289, 303, 207), (289, 470, 40)),
    ("strategyqa", "test", 717, 503, (347, 262, 108), (347, 349, 21)),
    ("bamboogle", "test", 150, 78, (49, 63, 38), (49, 91, 10)),
    ("hotpotqa", "train", 745, 432, (309, 287, 149), (309, 410, 26)),
]


@pytest.mark.parametrize(("name", "split", "rows", "questions", "k3", "k5"), FACTS)
def test_reference_counts(data, name, split, rows, questions, k3, k5):
    for k, mix in ((3, k3), (5, k5)):
        groups = load_benchmark(name, part=split, k=k)
        assert len(groups) == rows
        assert len({g.question.id for g in groups}) == questions
        assert {len(g.passages) for g in groups} == {k}
        kinds = Counter(g.kind for g in groups)
        assert tuple(kinds[kind] for kind in GroupKind) == mix


@pytest.mark.parametrize(("name", "split"), [(n, s) for n, ss in DATASETS.items() for s in ss])
@pytest.mark.parametrize("k", [3, 5])
def test_published_and_strict_kinds_are_the_sources(data, name, split, k):
    source = pl.read_parquet(data / "naacl" / f"{name}_{split}_k{k}.parquet")
    groups = load_benchmark(name, part=split, k=k)
    assert [g.kind for g in groups] == source["group"].to_list()
    assert [strict_kind(g) for g in groups] == source["group_strict"].to_list()
    assert [g.id for g in groups] == source["id"].to_list()
    assert [list(g.flags) for g in groups] == source["flags"].to_list()
    flags = [[list(p.flags) for p in g.passages] for g in groups]
    assert flags == [[p["flags"] for p in row] for row in source["passages"].to_list()]


def test_gold_stands_first_in_every_counterfactual_group_at_k3(data):
    first = [
        g.passages[0].provenance is Provenance.ORIGINAL
        for n, ss in DATASETS.items()
        for s in ss
        for g in load_benchmark(n, part=s)
        if g.kind is GroupKind.COUNTERFACTUAL
    ]
    assert len(first) == 1303
    assert all(first)


def test_originals_and_pools(data):
    sizes = {n: len(load_originals(n)) for n in DATASETS}
    assert sizes == {"hotpotqa": 752, "nq": 807, "strategyqa": 500, "bamboogle": 125}
    assert len(load_originals("hotpotqa", part="train")) == 2000
    assert all(g.kind is GroupKind.CONSISTENT for g in load_originals("nq"))
    assert any("in_prepared" in g.flags for g in load_originals("nq"))
    for name, size in zip(POOLS, (125, 724), strict=True):
        pool = load_pool(name)
        assert len(pool) == size
        for _, passages in pool:
            kinds = Counter(p.kind for p in passages)
            assert kinds == {PassageKind.GOLD: 4, PassageKind.COUNTERFACTUAL: 3, PassageKind.RELEVANT: 3, PassageKind.IRRELEVANT: 3}  # fmt: skip
