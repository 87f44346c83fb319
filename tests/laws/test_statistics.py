"""A quick look that intervals cover and the floor holds; `make prove NAME=intervals` looks longer."""

import numpy as np

from novarag.metrics import measure_table
from validation.floor_coverage import under
from validation.interval_coverage import simulate, truth

RUNS = 60


def test_intervals_of_brier_and_auroc_cover():
    known, hits = truth(0.15), {"brier": 0, "auroc": 0}
    for run in range(RUNS):
        table = simulate(np.random.default_rng([3, run]), 300, 1, 0.15)
        figures = measure_table(table, replicates=100, seed=run).overall.figures
        for name in hits:
            hits[name] += figures[name].low <= known[name] <= figures[name].high
    assert all(0.88 <= hit / RUNS <= 0.99 for hit in hits.values()), hits


def test_perfect_calibration_stays_under_the_floor():
    share = np.mean([under((run, 200)) for run in range(150)])
    assert 0.91 <= share <= 0.985
