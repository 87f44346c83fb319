"""What needs no model is ranked by fold, in the proof's tables as in `measure`'s."""

import numpy as np
import polars as pl
import pytest

from experiments.nova.report import figure, ranked
from experiments.nova.tables import auroc_by_fold, floors
from novarag.metrics import METRICS, measure_table
from novarag.overlap import OVERLAPS


def answered(n=240):
    rng = np.random.default_rng(2)
    shared = rng.random((n, len(OVERLAPS)))
    names = [f"q{i}" for i in range(n)]
    table = pl.DataFrame(
        {
            "question": names,
            "group": [f"g{i}" for i in range(n)],
            "confidence": rng.random(n).round(1),
        }
        | {"correct": rng.random(n) < shared.mean(axis=1) ** 2}
    )
    return table, pl.DataFrame({"group": table["group"], "word_overlap": shared.tolist()})


def test_a_constant_ranks_nothing_and_both_floors_are_those_of_measure():
    table, overlaps = answered()
    made = floors(table, overlaps)
    pooled = METRICS["auroc"](
        *(made["a constant"][c].to_numpy() for c in ("confidence", "correct"))
    )
    assert pooled < 0.47  # what the proof's tables showed
    assert auroc_by_fold(made["a constant"]) == 0.5
    joined = table.join(overlaps, on="group")
    known = measure_table(joined, replicates=100).overall.baselines
    for ours, theirs in (("a constant", "constant"), ("word overlap", "word-overlap")):
        assert auroc_by_fold(made[ours]) == pytest.approx(known[theirs]["auroc"].value, abs=1e-12)


def test_the_report_gives_a_floor_its_figure_by_fold():
    table, overlaps = answered()
    named = floors(table, overlaps)["a constant"].with_columns(system=pl.lit("a constant for x"))
    row = {"system": "a constant for x", "auroc": figure(0.4, 0.3, 0.5)}
    assert ranked(row, named)["auroc"] == figure(0.5, None, None)
    assert ranked({"system": "x", "auroc": 1}, named) == {"system": "x", "auroc": 1}
